"""Jumps: clients take the rates, or the times, of another class, all at once.

What adversarial bandits such as E3CS are made for, and what schemes that average over all rounds follow late.

*Notation.* Client i is of class c = i mod C, where C is the number of rates that the changing part lists; for a part
without classes, C = K. In each round a client has the rate of a client of another class with its own place in it, and
where times change, the times of its steps and of its exchange:

- `Jump`: from each round of `at` on, class c has the rates of class C - 1 - c, and back again at the next one;
- `Rotate`: every `every` rounds, class c takes the rates of the next class, and the last those of the first;
- `Swap`: from `at` on, two classes have each other's rates.

*Departures.* `at` is a share of the run: 0.5 is the first round of its second half. Where K is no multiple of C, a
class can have one client less than another; the client without a counterpart takes the rate of the one before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import Change, ChangeOptions, Rate

Takes = Callable[[Any, Array, Array, Array], Array]


def _taken(rates: Rate, classes: Int[Array, ""], other: Int[Array, " clients"]) -> Rate:
    """Return the rates of the clients of another class in the same place."""
    client = jnp.arange(rates.shape[0])
    place = client - client % classes + other
    return rates[jnp.where(place < rates.shape[0], place, place - classes)]


def _by_class(new: Takes, dims: Dims) -> Change:
    """Return the change by which class c has, in round t, the rates of class new(params, c, classes, t)."""

    def init(params: Any) -> tuple[()]:
        return ()

    def step(key: PRNGKeyArray, state: tuple[()], params: Any, t: Int[Array, ""]) -> tuple[()]:
        return ()

    def now(state: tuple[()], params: Any, rates: Rate, classes: Int[Array, ""], t: Int[Array, ""]) -> Rate:
        return _taken(rates, classes, new(params, jnp.arange(dims.num_clients) % classes, classes, t))

    return Change(init, step, now, now)


def _rounds(at: tuple[float, ...], problem: Problem) -> np.ndarray:
    """Return the rounds from which changes hold.

    Raises:
        ConfigError: a share is not in (0, 1).
    """
    bad = [share for share in at if not 0 < share < 1]
    require(not bad, f"at must lie in (0, 1), as a share of the run, found {', '.join(f'{x:g}' for x in bad)}.")
    return np.floor(np.asarray(at) * problem.num_rounds + 1e-9) + 1


class JumpParams(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        at: rounds from which rates are reversed, or back again.
    """

    at: Int[Array, " jumps"]


@dataclass(frozen=True)
class Jump(ChangeOptions):
    """Settings of jumps.

    Attributes:
        at: times of jumps, as shares of the run.
    """

    names = (Name("jump"),)

    at: tuple[float, ...] = (0.5,)

    def params(self, problem: Problem) -> JumpParams:
        """Return the options as arrays, after checking them."""
        return as_arrays(JumpParams, at=_rounds(self.at, problem).astype(int))

    def make(self, dims: Dims) -> Change:
        """Return the change."""

        def new(params: JumpParams, own: Array, classes: Array, t: Array) -> Array:
            return jnp.where(jnp.sum(t >= params.at) % 2 == 1, classes - 1 - own, own)

        return _by_class(new, dims)


class RotateParams(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        every: number of rounds between two rotations.
    """

    every: Int[Array, ""]


@dataclass(frozen=True)
class Rotate(ChangeOptions):
    """Settings of rotations.

    Attributes:
        every: number of rounds between two rotations.
    """

    names = (Name("rotate"),)

    every: int = 500

    def params(self, problem: Problem) -> RotateParams:
        """Return the options as arrays, after checking them."""
        require(self.every >= 1, f"every must be at least 1, found {self.every}.")
        return as_arrays(RotateParams, every=int(self.every))

    def make(self, dims: Dims) -> Change:
        """Return the change."""

        def new(params: RotateParams, own: Array, classes: Array, t: Array) -> Array:
            return (own + (t - 1) // params.every) % classes

        return _by_class(new, dims)


class SwapParams(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        at: round from which the swap holds.
        classes: the two classes.
    """

    at: Int[Array, ""]
    classes: Int[Array, "2"]


@dataclass(frozen=True)
class Swap(ChangeOptions):
    """Settings of a swap.

    Attributes:
        at: time of the swap, as a share of the run.
        first: one of the classes, counted from 0.
        second: the other.
    """

    names = (Name("swap"),)

    at: float = 0.5
    first: int = 0
    second: int = 3

    def params(self, problem: Problem) -> SwapParams:
        """Return the options as arrays, after checking them."""
        pair = (self.first, self.second)
        require(min(pair) >= 0, f"Classes count from 0, found {pair}.")
        (at,) = _rounds((self.at,), problem)
        return as_arrays(SwapParams, at=int(at), classes=np.asarray(pair))

    def make(self, dims: Dims) -> Change:
        """Return the change."""

        def new(params: SwapParams, own: Array, classes: Array, t: Array) -> Array:
            first, second = params.classes % classes
            swapped = jnp.where(own == first, second, jnp.where(own == second, first, own))
            return jnp.where(t >= params.at, swapped, own)

        return _by_class(new, dims)
