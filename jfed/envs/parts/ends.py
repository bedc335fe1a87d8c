"""Ends of a round: when the server has waited for all, at a deadline, or when the first clients have returned.

K. Bonawitz et al., "Towards Federated Learning at Scale: System Design", MLSys 2019, for the last: the server asks more
clients than it needs (130 %), and drops those that come late. T. Li et al., "Federated Optimization in Heterogeneous
Networks", MLSys 2020, for partial work.

*Departures.*
- `First`: of a cohort of k, the first m = ceil(k / over) that return count, so that k is int(over m) for the usual
  numbers, and the round ends with the m-th return. If fewer return, the server waits for all, up to the deadline.
  Clients that come too late do not count as returned; the time waited for them ends with the round. Of clients that
  take equally long, some are drawn at random.
- A client that fails keeps the server waiting until the deadline; without one, for as long as it would have taken.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float, Int

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import Waiting, WaitingOptions


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        idle_s: duration of a round without a cohort.
        deadline_s: longest duration of a round.
        first: number of clients after whose return a round ends.
    """

    idle_s: Float[Array, ""]
    deadline_s: Float[Array, ""]
    first: Int[Array, ""]


def _idle_s(params: Params) -> Float[Array, ""]:
    return params.idle_s


def _deadline_s(params: Params) -> Float[Array, ""]:
    return params.deadline_s


def _first(params: Params) -> Int[Array, ""]:
    return params.first


def _checked(idle_s: float, deadline_s: float, first: int) -> Params:
    require(0 <= idle_s < np.inf, f"idle_s must be finite and not negative, found {idle_s:g}.")
    require(0 < deadline_s < np.inf, f"deadline_s must be positive, found {deadline_s:g}.")
    return as_arrays(Params, idle_s=float(idle_s), deadline_s=float(deadline_s), first=first)


@dataclass(frozen=True)
class All(WaitingOptions):
    """Settings of a server that waits for all.

    Attributes:
        idle_s: duration of a round without a cohort.
    """

    names = (Name("all"),)

    idle_s: float = 1.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        return _checked(self.idle_s, 1.0, 0)

    def make(self, dims: Dims) -> Waiting:
        """Return the end of a round."""
        return Waiting(_idle_s)


@dataclass(frozen=True)
class Deadline(WaitingOptions):
    """Settings of a deadline, which is also the duration of a round without a cohort.

    Attributes:
        deadline_s: longest duration of a round.
        partial: whether a client stops in time and returns what it has; one that has no time for a step fails. If not,
            a client that is late fails.
    """

    names = (Name("deadline"), Name("partial", {"partial": True}))

    deadline_s: float = 2.0
    partial: bool = static(False)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        return _checked(0.0, self.deadline_s, 0)

    def make(self, dims: Dims) -> Waiting:
        """Return the end of a round."""
        return Waiting(_deadline_s, _deadline_s, partial=self.partial)


@dataclass(frozen=True)
class First(WaitingOptions):
    """Settings of over-selection.

    Attributes:
        over: number of clients asked for each one that counts.
        deadline_s: longest duration of a round, and that of one without a cohort; late clients fail.
    """

    names = (Name("first"), Name("over-selection"))

    over: float = 1.3
    deadline_s: float = 60.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(1 <= self.over < np.inf, f"over must be at least 1, found {self.over:g}.")
        return _checked(0.0, self.deadline_s, max(1, math.ceil(problem.cohort_size / self.over - 1e-9)))

    def make(self, dims: Dims) -> Waiting:
        """Return the end of a round."""
        return Waiting(_deadline_s, _deadline_s, _first)
