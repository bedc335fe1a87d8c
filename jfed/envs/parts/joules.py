"""Energy: joules of a local step and of each bit of the model that goes down and up, as a second resource."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import EnergyOptions, in_turn
from jfed.envs.parts.base import Joules as Energy


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        step_j: joules of a local step of each client.
        exchange_j: joules of its exchange.
    """

    step_j: Float[Array, " clients"]
    exchange_j: Float[Array, " clients"]


@dataclass(frozen=True)
class Joules(EnergyOptions):
    """Settings of energy.

    Attributes:
        step_j: joules of a local step, one value per class of clients, assigned in turn.
        bit_j: joules of a bit, likewise, the mean of sending and receiving.
        model_bits: size of the model, sent down and up: 32 bits for each parameter.
    """

    names = (Name("joules"),)

    step_j: tuple[float, ...] = (0.05,)
    bit_j: tuple[float, ...] = (1e-7,)
    model_bits: float = 251200.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        for name in ("step_j", "bit_j"):
            values = getattr(self, name)
            require(
                0 < len(values) <= problem.num_clients,
                f"{name} needs 1 to {problem.num_clients} values, found {len(values)}.",
            )
            require(all(0 <= x < np.inf for x in values), f"{name} must be finite and not negative, found {values}.")
        require(0 <= self.model_bits < np.inf, f"model_bits must not be negative, found {self.model_bits:g}.")
        step, exchange = self.means(problem.num_clients)
        return as_arrays(Params, step_j=step, exchange_j=exchange)

    def classes(self) -> int:
        """Return the number of classes with their own energy."""
        return math.lcm(len(self.step_j), len(self.bit_j))

    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each client's joules of a local step and of the exchange."""
        return in_turn(self.step_j, num_clients), 2 * self.model_bits * in_turn(self.bit_j, num_clients)

    def make(self, dims: Dims) -> Energy:
        """Return the energy."""

        def energy(params: Params) -> tuple[Float[Array, " clients"], Float[Array, " clients"]]:
            return params.step_j, params.exchange_j

        return energy
