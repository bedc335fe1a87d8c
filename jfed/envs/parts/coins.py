"""Coins: each client is on with its own rate, independently in each round."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float

from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, checked_rates, independent


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        rate: of each client.
    """

    rate: Float[Array, " clients"]


@dataclass(frozen=True)
class Coins(OnOffOptions):
    """Settings of coins.

    Attributes:
        rates: one rate per class of clients, assigned to the clients in turn; K rates: one for each client.
    """

    names = (Name("coins"),)

    rates: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        return as_arrays(Params, rate=checked_rates(self.rates, problem.num_clients, "rates"))

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

        return independent(rate)
