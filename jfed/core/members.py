"""The base classes of options, one for each room: the interface that a member of the room implements.

A member is one frozen dataclass derived from the base of its room, in one file. It defines its settings, its names, how
its settings become arrays (`params`) and how they become functions (`make`). Everything else has a default.
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
    """A user's name for some options, perhaps with a number: `rbcs-f-50` is RBCS-F at V = 50.

    Attributes:
        name: the name, in lower case with hyphens.
        fields: values of fields that the name sets.
        number: the field that the number after the name sets; "" for a name without one.
        meaning: description of the number.
        words: words allowed in place of the number.
        examples: sensible numbers (or words), for lists and tests.
        aliases: other names for the same options.
    """

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    number: str = ""
    meaning: str = ""
    words: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class Modes(NamedTuple):
    """The fields that each mode of a scheme sets.

    Attributes:
        faithful: fields of the scheme as published.
        corrected: fields of its corrected form.
    """

    faithful: Mapping[str, Any]
    corrected: Mapping[str, Any]


@dataclass(frozen=True)
class MemberOptions(abc.ABC):  # noqa: B024 (each room's base has the abstract methods)
    """The base of all members' options.

    Attributes:
        names: users' names for the options; if there are none, the class's name in lower case.
        modes: fields that each mode sets, for a scheme whose published and corrected forms differ.
        version: to be changed with each change of a formula, for a class whose source cannot be read.
    """

    names: ClassVar[tuple[Name, ...]] = ()
    modes: ClassVar[Modes | None] = None
    version: ClassVar[str | None] = None

    def __init_subclass__(cls, **further: Any) -> None:
        """Keep the source of the class, which is part of the identity of its results."""
        super().__init_subclass__(**further)
        code.remember(cls)

    def params(self, problem: Problem) -> Any:
        """Return the dynamic half as NumPy arrays, by default a NamedTuple of the dynamic fields, after checking it.

        Raises:
            ConfigError: a value is out of range.
        """
        return own_fields(self)

    @classmethod
    def called(cls) -> tuple[Name, ...]:
        """Return the users' names for these options."""
        return cls.names or (Name(default_name(cls)),)


def default_name(kind: type[Any]) -> str:
    """Return the default name of an options class: epsilon-greedy for `EpsilonGreedy`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__.removesuffix("Options") or kind.__name__)
    return words.lower().replace("_", "-")


def own_fields(options: MemberOptions, **more: Any) -> Any:
    """Return the dynamic fields of options, and more numbers, as a NamedTuple of arrays.

    Raises:
        ConfigError: a field is neither a number nor a tuple of numbers.
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
    """Return the NamedTuple class of a member's dynamic half; the same class for the same names."""
    if (kind, names) not in _PARAMS:
        _PARAMS[kind, names] = collections.namedtuple("Params", names)
    return _PARAMS[kind, names]


_PARAMS: dict[tuple[type[Any], tuple[str, ...]], Any] = {}


@dataclass(frozen=True)
class SelectorOptions(MemberOptions):
    """The base of the options of client selection schemes."""

    def params(self, problem: Problem) -> Any:
        """Return the dynamic half; by default the dynamic fields, and the cohort's size as `k`."""
        return own_fields(self, k=problem.cohort_size)

    @abc.abstractmethod
    def make(self, dims: Dims) -> Selector:
        """Return the selector; only static fields can be read here."""

    def slots(self, problem: Problem) -> int:
        """Return a static upper bound on the cohort's size."""
        return problem.cohort_size

    def first_cohort(self, problem: Problem) -> int:
        """Return the size of the first round's cohort."""
        return problem.cohort_size

    def average_over(self) -> str | None:
        """Return the `Training.average_over` for which `Cohort.importance` is meant; None if any of them will do."""
        return None

    def keeps_inclusion(self) -> bool:
        """Return whether clients are drawn with exactly the inclusion probabilities that the cohort states."""
        return True


@dataclass(frozen=True)
class EveryoneOptions(SelectorOptions):
    """The base of the options of schemes that may select all clients."""

    def slots(self, problem: Problem) -> int:
        """Return K."""
        return problem.num_clients

    def first_cohort(self, problem: Problem) -> int:
        """Return K."""
        return problem.num_clients


@dataclass(frozen=True)
class EnvironmentOptions(MemberOptions):
    """The base of the options of worlds.

    Attributes:
        features: names of the features in `View.context`.
    """

    features: ClassVar[tuple[str, ...]] = ("one",)

    @abc.abstractmethod
    def make(self, dims: Dims) -> Environment:
        """Return the environment; only static fields can be read here."""

    def client_class(self, problem: Problem) -> np.ndarray:
        """Return the class of each client, (K,) whole numbers from 0."""
        return np.zeros(problem.num_clients, np.int32)

    def expected_availability(self) -> float:
        """Return the probability that a client is available in a round, which bounds the quotas of schemes."""
        return 1.0

    def demand_range(self) -> tuple[float, float]:
        """Return the least and the largest demand of a client, in units of the mean demand."""
        return 1.0, 1.0

    def costs(self, num_clients: int) -> Costs | None:
        """Return the mean costs of a local step and an exchange of each client; None for a world that states none."""
        return None

    def spends(self) -> tuple[str, ...]:
        """Return the names of the resources in `costs` beside time, such as energy_j: results have world_energy_j."""
        return ()

    def needs_labels(self) -> bool:
        """Return whether `params` reads the labels of the clients' images (`Problem.labels`): needs training then."""
        return False


@dataclass(frozen=True)
class ControllerOptions(MemberOptions):
    """The base of the options of controllers."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Controller:
        """Return the controller; only static fields can be read here."""

    def needs_estimates(self) -> bool:
        """Return whether the controller needs the clients' estimates of losses (`Report.estimates`)."""
        return False


@dataclass(frozen=True)
class AlgorithmOptions(MemberOptions):
    """The base of the options of federated algorithms.

    Attributes:
        learning_rate: step size of the clients' local steps.
    """

    learning_rate: float = 0.01

    @abc.abstractmethod
    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm for a loss; only static fields can be read here."""
