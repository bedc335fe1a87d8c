"""Equal times: every round takes each client equally long, whatever it does."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import Pace, Speed, SpeedOptions


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        round_s: time of a round.
    """

    round_s: Float[Array, ""]


@dataclass(frozen=True)
class Unit(SpeedOptions):
    """Settings of equal times.

    Attributes:
        round_s: time of a client in a round; its local steps take none of it.
    """

    names = (Name("unit"),)

    round_s: float = 1.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.round_s < np.inf, f"round_s must be positive, found {self.round_s:g}.")
        return as_arrays(Params, round_s=float(self.round_s))

    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each client's mean times."""
        return np.zeros(num_clients), np.full(num_clients, float(self.round_s))

    def make(self, dims: Dims) -> Speed:
        """Return the times."""

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> Pace:
            nothing = jnp.zeros(dims.num_clients)
            return Pace(nothing, nothing + params.round_s)

        return Speed(init, None)
