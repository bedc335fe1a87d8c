"""Drift: each client's rate is a random walk, reflected at 0 and 1.

*Notation.* A client's rate in round t is its own rate plus t - 1 independent normal steps, folded into [0, 1]: a walk
between two mirrors. In the long run it is uniform, and its time mean 1/2. The variation of one client's rate over T
rounds is about 0.8 `step` T. Regret bounds for changing rates add up the largest change of any client in each round
(V of `rexp3`), which is more: about 2.7 `step` T for 100 clients.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import Change, ChangeOptions, Rate, normal


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        step: standard deviation of a step.
    """

    step: Float[Array, ""]


class State(NamedTuple):
    """The change's state.

    Attributes:
        walked: sum of each client's steps, modulo 2, after which the mirrors repeat.
    """

    walked: Float[Array, " clients"]


@dataclass(frozen=True)
class Drift(ChangeOptions):
    """Settings of drifting rates.

    Attributes:
        step: standard deviation of a step, one in each round.
    """

    names = (Name("drift"),)

    step: float = 0.02

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.step <= 1, f"step must lie in [0, 1], found {self.step:g}.")
        return as_arrays(Params, step=float(self.step))

    def make(self, dims: Dims) -> Change:
        """Return the change."""

        def init(params: Params) -> State:
            return State(jnp.zeros(dims.num_clients))

        def step(key: PRNGKeyArray, state: State, params: Params, t: Int[Array, ""]) -> State:
            move = params.step * normal(key, dims.num_clients)
            walked = state.walked + jnp.where(t > 1, move, 0.0)
            return State(walked - 2 * jnp.floor(walked / 2))

        def now(state: State, params: Params, rates: Rate, classes: Int[Array, ""], t: Int[Array, ""]) -> Rate:
            place = rates + state.walked  # in [0, 3)
            return jnp.clip(1 - jnp.abs(1 - (place - 2 * jnp.floor(place / 2))), 0.0, 1.0)

        return Change(init, step, now)
