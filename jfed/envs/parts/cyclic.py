"""Cyclic: a client is on for a fixed share of a period, in one piece, and then off.

Block-cyclic data of H. Eichner, T. Koren, B. McMahan, N. Srebro, K. Talwar, "Semi-Cyclic Stochastic Gradient Descent",
ICML 2019, and cyclic participation of Y. J. Cho, P. Sharma, G. Joshi, Z. Xu, S. Kale, T. Zhang, "On the Convergence of
Federated Averaging with Cyclic Client Participation", ICML 2023: M groups take turns (`groups` M, `rates` 1 / M).

*Departures.*
- The round of the period in which a run begins is drawn for each run. With `groups` 0 each client draws its own.
- A client is on for round(rate * period) rounds of each period.
"""

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
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, checked_rates


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        rate: share of the period in which a client is on.
        period: in rounds.
        groups: number of groups that take turns; 0: none.
    """

    rate: Float[Array, " clients"]
    period: Int[Array, ""]
    groups: Int[Array, ""]


class State(NamedTuple):
    """The process's state.

    Attributes:
        start: round of its period in which each client begins, from 0.
    """

    start: Int[Array, " clients"]


@dataclass(frozen=True)
class Cyclic(OnOffOptions):
    """Settings of cyclic clients. By default four groups take turns of five rounds.

    Attributes:
        rates: share of the period in which a client is on, one value per class of clients, assigned in turn.
        period: in rounds.
        groups: number of groups, client i in group i mod `groups`, whose turns begin evenly over the period; 1: all
            clients are on together; 0: each client begins at a time of its own.
    """

    names = (Name("cyclic"), Name("blocks"))

    rates: tuple[float, ...] = (0.25,)
    period: int = 20
    groups: int = 4

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        rate = checked_rates(self.rates, problem.num_clients, "rates")
        require(self.period >= 1, f"period must be at least 1, found {self.period}.")
        require(self.groups >= 0, f"groups must not be negative, found {self.groups}.")
        return as_arrays(Params, rate=rate, period=int(self.period), groups=int(self.groups))

    def classes(self) -> int:
        """Return the number of rates."""
        return len(self.rates)

    def expected(self) -> float:
        """Return the mean share of whole rounds."""
        return float(np.mean(np.round(np.asarray(self.rates, np.float32) * np.float32(self.period)) / self.period))

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""
        client = jnp.arange(dims.num_clients)

        def rate(params: Params, about: About) -> Rate:
            return params.rate

        def init(key: PRNGKeyArray, params: Params, rate: Rate) -> State:
            common, own = (prng.uniform(prng.at(key, i), n) for i, n in ((0, 1), (1, dims.num_clients)))
            groups = jnp.maximum(params.groups, 1)
            turn = (client % groups) * params.period // groups
            drawn = jnp.where(params.groups == 0, own, common)
            start = jnp.floor(drawn * params.period).astype(jnp.int32) - jnp.where(params.groups == 0, 0, turn)
            return State(start % params.period)

        def chance(state: State, params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
            on = (state.start + t - 1) % params.period < jnp.round(rate * params.period)
            return on.astype(rate.dtype)

        def step(
            key: PRNGKeyArray, state: State, params: Params, rate: Rate, t: Int[Array, ""]
        ) -> tuple[State, Bool[Array, " clients"]]:
            return state, chance(state, params, rate, t) > 0

        return OnOff(rate, init, chance, step)
