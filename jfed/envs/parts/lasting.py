"""Tied to time: a client drops out at a constant hazard while it works, so that slow clients fail more often.

A client whose expected time in a round is s returns with probability exp(-s / life_s). As `availability`, before the
round's local steps are planned, s is that of the numbers of steps of the round before.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, independent


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        life_s: mean time to a drop-out.
    """

    life_s: Float[Array, ""]


@dataclass(frozen=True)
class Lasting(OnOffOptions):
    """Settings of rates tied to time.

    Attributes:
        life_s: mean time after which a working client drops out.
    """

    names = (Name("lasting"),)

    life_s: float = 10.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.life_s < np.inf, f"life_s must be positive, found {self.life_s:g}.")
        return as_arrays(Params, life_s=float(self.life_s))

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: Params, about: About) -> Rate:
            return jnp.exp(-about.seconds / params.life_s)

        return independent(rate)
