"""A two-state Markov chain per client: Gilbert-Elliott, with bursts of presence and absence, or of success and failure.

E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal, 1960; E. O. Elliott, "Estimates of
error rates for codes on burst-noise channels", ibid., 1963.

*Notation.* pi: stationary share of the good state; lambda: memory, the correlation of the state with that of the round
before, so that the correlation at lag h is lambda^h. The chain leaves the bad state with p01 = (1 - lambda) pi and the
good one with p10 = (1 - lambda) (1 - pi); good and bad times are geometric with means 1 / p10 and 1 / p01.

*Departures.*
- The chain begins in its stationary law, so that every round has the rate pi.
- A negative lambda makes the state alternate; it must be at least -pi / (1 - pi) and -(1 - pi) / pi.
- A client is on with probability `good` in the good state and `bad` in the bad one; by default it is on in the good
  state only.
- Where pi changes in the course of a run, the probabilities follow it, cut off at 0 and 1. `good` and `bad` stay.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, checked_rates, in_turn


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        pi: of each client.
        memory: lambda of each client.
        good: probability to be on in the good state.
        bad: probability to be on in the bad state.
    """

    pi: Float[Array, " clients"]
    memory: Float[Array, " clients"]
    good: Float[Array, ""]
    bad: Float[Array, ""]


class State(NamedTuple):
    """The process's state.

    Attributes:
        good: whether a client is in the good state.
    """

    good: Bool[Array, " clients"]


@dataclass(frozen=True)
class Markov(OnOffOptions):
    """Settings of the Markov chains.

    Attributes:
        pi: stationary share of the good state, one value per class of clients, assigned in turn.
        memory: lambda, likewise.
        good: probability to be on in the good state.
        bad: probability to be on in the bad state.
    """

    names = (Name("markov"), Name("gilbert-elliott"))

    pi: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    memory: tuple[float, ...] = (0.8,)
    good: float = 1.0
    bad: float = 0.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        num_clients = problem.num_clients
        pi = checked_rates(self.pi, num_clients, "shares pi")
        require(0 < len(self.memory) <= num_clients, f"memory needs 1 to {num_clients} values, found {self.memory}.")
        memory = in_turn(self.memory, num_clients)
        with np.errstate(divide="ignore"):
            least = np.maximum(-pi / (1 - pi), -(1 - pi) / pi)
        for share, value, low in zip(pi, memory, least, strict=True):
            require(
                low - 1e-12 <= value <= 1,
                f"A memory must lie in [{low:.4g}, 1] where pi is {share:g}, found {value:g}.",
            )
        for name in ("good", "bad"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} must lie in [0, 1], found {value:g}.")
        return as_arrays(Params, pi=pi, memory=memory, good=float(self.good), bad=float(self.bad))

    def classes(self) -> int:
        """Return the number of classes with their own pi or memory."""
        return math.lcm(len(self.pi), len(self.memory))

    def expected(self) -> float:
        """Return the mean rate."""
        pi = float(np.mean(self.pi))
        return pi * self.good + (1 - pi) * self.bad

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: Params, about: About) -> Rate:
            return params.pi

        def init(key: PRNGKeyArray, params: Params, rate: Rate) -> State:
            return State(prng.uniform(key, dims.num_clients) < rate)

        def will_be_good(state: State, params: Params, rate: Rate) -> Rate:
            return jnp.clip(rate + params.memory * (state.good - rate), 0.0, 1.0)  # 1 - p10 if it is good, else p01

        def chance(state: State, params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
            good = will_be_good(state, params, rate)
            return good * params.good + (1 - good) * params.bad

        def step(
            key: PRNGKeyArray, state: State, params: Params, rate: Rate, t: Int[Array, ""]
        ) -> tuple[State, Bool[Array, " clients"]]:
            moves, shows = prng.uniform(key, 2 * dims.num_clients).reshape(2, -1)
            good = moves < will_be_good(state, params, rate)
            return State(good), shows < jnp.where(good, params.good, params.bad)

        return OnOff(rate, init, chance, step)
