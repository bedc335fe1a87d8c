"""Day and night: a client's rate is a wave of a day's length, by its own clock or by that of its time zone.

As in the periodic worlds of M. Ribero, H. Vikalo, G. de Veciana, "Federated Learning Under Intermittent Client
Availability and Time-Varying Communication Constraints", IEEE JSTSP, 2022 (rates 0.5 + 0.4 sin).

*Departures.*
- The hour at which a run begins is drawn for each run, so that no round is another hour for all seeds.
- `zones` time zones lie evenly over the day, client i in zone i mod `zones`; 1: all clients have the same day; 0: each
  client draws its own hour.
- `wave`: sine, or square: day (the upper rate) for half of the period, then night.
- Where mean rates change in the course of a run, the wave is cut off at 0 and 1.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, checked_rates


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        mean: mean rate of each client.
        swing: largest difference from the mean.
        period: length of a day.
        zones: number of time zones.
    """

    mean: Float[Array, " clients"]
    swing: Float[Array, ""]
    period: Float[Array, ""]
    zones: Int[Array, ""]


class State(NamedTuple):
    """The process's state.

    Attributes:
        hour: hour of each client's day in which the run begins, in days, in [0, 1).
    """

    hour: Float[Array, " clients"]


@dataclass(frozen=True)
class Diurnal(OnOffOptions):
    """Settings of days and nights.

    Attributes:
        means: mean rate, one value per class of clients, assigned in turn.
        swing: largest difference from the mean.
        period: rounds of a day.
        zones: number of time zones; 0: each client has its own hour.
        wave: sine or square.
    """

    names = (Name("diurnal"),)

    means: tuple[float, ...] = (0.5,)
    swing: float = 0.4
    period: float = 24.0
    zones: int = 0
    wave: Literal["sine", "square"] = static("sine")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        mean = checked_rates(self.means, problem.num_clients, "mean rates")
        require(self.wave in ("sine", "square"), f"wave must be sine or square, found {self.wave!r}.")
        most = min(mean.min(), (1 - mean).min())
        require(0 <= self.swing <= most, f"swing must lie in [0, {most:g}], so that rates do, found {self.swing:g}.")
        require(0 < self.period < np.inf, f"period must be positive, found {self.period:g}.")
        require(self.zones >= 0, f"zones must not be negative, found {self.zones}.")
        return as_arrays(Params, mean=mean, swing=float(self.swing), period=float(self.period), zones=int(self.zones))

    def classes(self) -> int:
        """Return the number of mean rates."""
        return len(self.means)

    def expected(self) -> float:
        """Return the mean rate."""
        return float(np.mean(self.means))

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""
        client = jnp.arange(dims.num_clients)

        def rate(params: Params, about: About) -> Rate:
            return params.mean

        def init(key: PRNGKeyArray, params: Params, rate: Rate) -> State:
            start = prng.uniform(prng.at(key, 0), 1)
            zones = jnp.maximum(params.zones, 1)
            own = prng.uniform(prng.at(key, 1), dims.num_clients)
            hour = start + jnp.where(params.zones == 0, own, client % zones / zones)
            return State(hour - jnp.floor(hour))

        def chance(state: State, params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
            day = (t - 1) / params.period + state.hour
            day = day - jnp.floor(day)
            wave = jnp.where(day < 0.5, 1.0, -1.0) if self.wave == "square" else jnp.sin(2 * jnp.pi * day)
            return jnp.clip(rate + params.swing * wave, 0.0, 1.0)

        def step(
            key: PRNGKeyArray, state: State, params: Params, rate: Rate, t: Int[Array, ""]
        ) -> tuple[State, Bool[Array, " clients"]]:
            return state, prng.uniform(key, dims.num_clients) < chance(state, params, rate, t)

        return OnOff(rate, init, chance, step)
