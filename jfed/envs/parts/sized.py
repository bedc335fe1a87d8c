"""Tied to data: a client's rate depends on its number of images.

The modes "more data first" and "less data first" of FLGo's simulator: rates n^b / max and n^-b / max.

*Departures.* A client without images counts as one of a single image. `most` scales all rates. Without training all
clients have one image, and the same rate. The mean over clients depends on the data, so that promises to clients are
checked as if all were on with the rate `most`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.total import fold
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, independent


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        exponent: b.
        most: largest rate.
    """

    exponent: Float[Array, ""]
    most: Float[Array, ""]


@dataclass(frozen=True)
class Sized(OnOffOptions):
    """Settings of rates tied to data.

    Attributes:
        exponent: b; positive: clients with more images have higher rates; negative: with fewer.
        most: rate of the client with the highest one.
    """

    names = (Name("sized"),)

    exponent: float = -0.5
    most: float = 1.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(-20 <= self.exponent <= 20, f"exponent must lie in [-20, 20], found {self.exponent:g}.")
        require(0 <= self.most <= 1, f"most must lie in [0, 1], found {self.most:g}.")
        return as_arrays(Params, exponent=float(self.exponent), most=float(self.most))

    def expected(self) -> float:
        """Return the largest rate."""
        return self.most

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: Params, about: About) -> Rate:
            size = params.exponent * jnp.log(jnp.maximum(about.num_samples, 1).astype(params.most.dtype))
            return params.most * jnp.exp(size - fold(jnp.maximum, size))

        return independent(rate)
