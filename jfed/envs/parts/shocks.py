"""Common shocks: now and then a whole region is off, while each client keeps its rate.

The common-shock model of reliability (A. W. Marshall, I. Olkin, "A Multivariate Exponential Distribution", JASA, 1967)
for coins. A region is off with probability c in each round; a client is on if its region is and its own coin, of
probability p / (1 - c), says so. So its rate is p, and two clients of one region have the covariance p p' c / (1 - c);
across regions they are independent.

*Departures.*
- Regions are of neighbouring numbers, so that each has clients of all classes.
- A rate above 1 - c is impossible and refused; where rates change in the course of a run, they are cut off there.
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
        rate: p of each client.
        shock: c.
        region: of each client.
    """

    rate: Float[Array, " clients"]
    shock: Float[Array, ""]
    region: Int[Array, " clients"]


@dataclass(frozen=True)
class Shocks(OnOffOptions):
    """Settings of common shocks.

    Attributes:
        rates: p, one value per class of clients, assigned in turn.
        shock: c, probability that a region is off in a round.
        regions: number of regions.
    """

    names = (Name("shocks"),)

    rates: tuple[float, ...] = (0.1, 0.3, 0.6, 0.8)
    shock: float = 0.2
    regions: int = 4

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        num_clients = problem.num_clients
        rate = checked_rates(self.rates, num_clients, "rates")
        require(0 <= self.shock < 1, f"shock must lie in [0, 1), found {self.shock:g}.")
        require(
            rate.max() <= 1 - self.shock + 1e-12,
            f"A rate of {rate.max():g} is impossible, since a shock comes in {self.shock:g} of the rounds.",
        )
        require(self.regions >= 1, f"There must be at least one region, found {self.regions}.")
        region = np.arange(num_clients) * min(self.regions, num_clients) // num_clients
        return as_arrays(Params, rate=rate, shock=float(self.shock), region=region)

    def classes(self) -> int:
        """Return the number of rates."""
        return len(self.rates)

    def expected(self) -> float:
        """Return the mean rate."""
        return float(np.mean(self.rates))

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: Params, about: About) -> Rate:
            return params.rate

        def init(key: PRNGKeyArray, params: Params, rate: Rate) -> tuple[()]:
            return ()

        def chance(state: tuple[()], params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
            return jnp.minimum(rate, 1 - params.shock)

        def step(
            key: PRNGKeyArray, state: tuple[()], params: Params, rate: Rate, t: Int[Array, ""]
        ) -> tuple[tuple[()], Bool[Array, " clients"]]:
            own, common = prng.uniform(key, 2 * dims.num_clients).reshape(2, -1)
            return (), (own < rate / (1 - params.shock)) & (common[params.region] >= params.shock)

        return OnOff(rate, init, chance, step)
