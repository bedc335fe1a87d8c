"""The base classes of options, one for each room: what a member of the room offers.

A member is one frozen dataclass on the base of its room, in one file. It says what a user may set, by which names it is
called, how its settings become arrays (`params`) and how they become functions (`make`). Everything else has a default.
"""

import abc
import collections
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from jfed.core import code
from jfed.core.errors import ConfigError
from jfed.core.interfaces import Algorithm, Controller, Environment, Loss, Selector
from jfed.core.options import as_arrays, dynamic_names
from jfed.core.types import Costs, Dims, Problem

Mode = Literal["faithful", "corrected"]
MODES: tuple[Mode, ...] = ("faithful", "corrected")


@dataclass(frozen=True)
class Name:
    """A name by which users call some options, perhaps with a number: `rbcs-f-50` is RBCS-F at V = 50.

    Attributes:
        name: in small letters, with hyphens.
        fields: what it sets.
        number: the field that the number after the name sets; "" for a name without one.
        meaning: what the number is, in words.
        words: what may be written in place of the number.
        examples: numbers (or words) that make sense, for lists and tests.
        aliases: other names for the same.
    """

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    number: str = ""
    meaning: str = ""
    words: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class Modes(NamedTuple):
    """What two modes set in the options of a scheme: as published, and corrected."""

    faithful: Mapping[str, Any]
    corrected: Mapping[str, Any]


@dataclass(frozen=True)
class MemberOptions(abc.ABC):  # noqa: B024 (each room's base says what must be there)
    """What the options of every member offer.

    Attributes:
        names: by which users call them; without any, the class's own name in small letters.
        modes: what a mode sets, where a scheme as published and its corrected form differ.
        version: raise it with each change of a formula, where the source of the class cannot be read.
    """

    names: ClassVar[tuple[Name, ...]] = ()
    modes: ClassVar[Modes | None] = None
    version: ClassVar[str | None] = None

    def __init_subclass__(cls, **further: Any) -> None:
        """Keep the source from which the class is made, by which its results are known."""
        super().__init_subclass__(**further)
        code.remember(cls)

    def params(self, problem: Problem) -> Any:
        """Return the dynamic half as NumPy arrays, after checking it; raise `ConfigError` on a bad value.

        By default a NamedTuple of the dynamic fields by name.
        """
        return own_fields(self)

    @classmethod
    def called(cls) -> tuple[Name, ...]:
        """Return the names by which users call these options."""
        return cls.names or (Name(default_name(cls)),)


def default_name(kind: type[Any]) -> str:
    """Return the name of a class that gives none: `EpsilonGreedy` is called epsilon-greedy."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__.removesuffix("Options") or kind.__name__)
    return words.lower().replace("_", "-")


def own_fields(options: MemberOptions, **more: Any) -> Any:
    """Return the dynamic fields of options, and more numbers, as a NamedTuple of arrays.

    Raises:
        ConfigError: a field is no number, nor a tuple of numbers.
    """
    values = {name: getattr(options, name) for name in dynamic_names(type(options))} | more
    for name, value in values.items():
        try:
            number = np.asarray(value)
        except ValueError:
            number = np.asarray(None)
        if number.dtype.kind not in "biuf":
            raise ConfigError(
                f"{type(options).__qualname__}.{name} is dynamic and must be a number or a tuple of numbers, found"
                f" {value!r}; declare it with jfed.static(...) if it shapes the program."
            )
    return as_arrays(params_type(type(options), tuple(values)), **values)


def params_type(kind: type[Any], names: tuple[str, ...]) -> Any:
    """Return the NamedTuple class of a member's dynamic half; the same for the same names."""
    if (kind, names) not in _PARAMS:
        _PARAMS[kind, names] = collections.namedtuple("Params", names)
    return _PARAMS[kind, names]


_PARAMS: dict[tuple[type[Any], tuple[str, ...]], Any] = {}


@dataclass(frozen=True)
class SelectorOptions(MemberOptions):
    """What the options of a client selection scheme offer."""

    def params(self, problem: Problem) -> Any:
        """Return the dynamic half; by default the dynamic fields by name, and the cohort's size as `k`."""
        return own_fields(self, k=problem.cohort_size)

    @abc.abstractmethod
    def make(self, dims: Dims) -> Selector:
        """Return the selector; only static fields can be read here."""

    def slots(self, problem: Problem) -> int:
        """Return a static upper bound on the cohort's size."""
        return problem.cohort_size

    def first_cohort(self, problem: Problem) -> int:
        """Return how many clients the first round has."""
        return problem.cohort_size

    def keeps_inclusion(self) -> bool:
        """Return whether clients are drawn with the probabilities that a cohort gives, as they should be."""
        return True


@dataclass(frozen=True)
class EveryoneOptions(SelectorOptions):
    """What the options of a scheme offer that may select everybody."""

    def slots(self, problem: Problem) -> int:
        """Return K."""
        return problem.num_clients

    def first_cohort(self, problem: Problem) -> int:
        """Return K."""
        return problem.num_clients


@dataclass(frozen=True)
class EnvironmentOptions(MemberOptions):
    """What the options of a world offer.

    Attributes:
        features: names of what a client reports of itself.
    """

    features: ClassVar[tuple[str, ...]] = ("one",)

    @abc.abstractmethod
    def make(self, dims: Dims) -> Environment:
        """Return the environment; only static fields can be read here."""

    def client_class(self, problem: Problem) -> np.ndarray:
        """Return which class each client belongs to, (K,) whole numbers from 0."""
        return np.zeros(problem.num_clients, np.int32)

    def expected_availability(self) -> float:
        """Return the chance that a client can be asked in a round, by which promises are checked."""
        return 1.0

    def demand_range(self) -> tuple[float, float]:
        """Return the least and the largest that a client may demand, in demands of an average one."""
        return 1.0, 1.0

    def costs(self, num_clients: int) -> Costs | None:
        """Return what a local step and an exchange of each client cost on average; None: this world does not say."""
        return None


@dataclass(frozen=True)
class ControllerOptions(MemberOptions):
    """What the options of a controller offer."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Controller:
        """Return the controller; only static fields can be read here."""

    def needs_estimates(self) -> bool:
        """Return whether clients must estimate their losses (`Report.estimates`) for it."""
        return False


@dataclass(frozen=True)
class AlgorithmOptions(MemberOptions):
    """What the options of a federated algorithm offer."""

    learning_rate: float = 0.01
    """Of the clients' local steps."""

    @abc.abstractmethod
    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm for a loss; only static fields can be read here."""
