"""What every member of a room offers: user-facing options, their static half, and how they become a program.

Options are frozen dataclasses. A static field shapes the compiled program (a mode, a width); every other
field is dynamic: it becomes an array in the member's `Params`, and a sweep over it compiles once.
"""

import dataclasses
from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np

from jfed.types import Costs, Problem

Named = TypeVar("Named")


def static(default: Any) -> Any:
    """A dataclass field that is part of what is compiled."""
    return dataclasses.field(default=default, metadata={"static": True})


def is_static(field: dataclasses.Field[Any]) -> bool:
    """Whether a field was declared with `static`."""
    return bool(field.metadata.get("static", False))


def as_arrays(kind: Callable[..., Named], **values: Any) -> Named:
    """The dynamic half from host numbers: whole numbers become int32, others float64.

    On the device a float64 becomes float32, unless jax's x64 mode is on.
    """
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return kind(**{n: a.astype(np.int32 if a.dtype.kind in "iu" else np.float64) for n, a in arrays.items()})


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what a field's annotation asks for; a whole number will do as a float."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in args
    if origin in (Union, UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = args[:1] * len(value) if args[1:] == (...,) else args
        return len(each) == len(value) and all(map(fits, value, each))
    if hint in (int, float):
        return isinstance(value, (int, float) if hint is float else int) and not isinstance(value, bool)
    return isinstance(value, hint)


def cohort_size(options: Any, problem: Problem) -> int:
    """The cohort's largest size where a scheme selects k clients."""
    return problem.cohort_size


def all_clients(options: Any, problem: Problem) -> int:
    """The cohort's largest size where a scheme may select everybody."""
    return problem.num_clients


def one_class(options: Any, problem: Problem) -> np.ndarray:
    """All clients in class 0."""
    return np.zeros(problem.num_clients, np.int32)


def always(options: Any) -> float:
    """Everybody can be asked in every round."""
    return 1.0


def alike(options: Any) -> tuple[float, float]:
    """All clients demand the same."""
    return 1.0, 1.0


def unknown_costs(options: Any, num_clients: int) -> None:
    """Nothing is said of costs."""


class Member(NamedTuple):
    """An entry of a room's table.

    Attributes:
        options: the frozen dataclass of what a user may set, with defaults.
        params: (options, problem) -> the dynamic half as NumPy arrays; raises `ConfigError` on a bad value.
        make: (dims, options) -> the member's interface; reads static options only.
        slots: (options, problem) -> static upper bound on the cohort (selectors only).
        client_class: (options, problem) -> which class each client belongs to, (K,) (environments only).
        features: names of what a client reports of itself (environments only).
        availability: options -> chance that a client can be asked in a round (environments only).
        demand: options -> see `Problem` (environments only).
        costs: (options, number of clients) -> see `Problem` (environments only).
        first_cohort: (options, problem) -> how many clients the first round has (selectors only).
    """

    options: type[Any]
    params: Callable[[Any, Problem], Any]
    make: Callable[..., Any]
    slots: Callable[[Any, Problem], int] = cohort_size
    client_class: Callable[[Any, Problem], np.ndarray] = one_class
    features: tuple[str, ...] = ("one",)
    availability: Callable[[Any], float] = always
    demand: Callable[[Any], tuple[float, float]] = alike
    costs: Callable[[Any, int], Costs | None] = unknown_costs
    first_cohort: Callable[[Any, Problem], int] = cohort_size
