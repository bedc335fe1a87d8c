"""Times drawn once per run: log-normal, or with the heavy tail of a Pareto law.

*Notation.* A client's expected time of a local step is median * exp(sigma z) in a log-normal law, and
median * (2 (1 - Phi(z)))^(-1/tail) in a Pareto law of index `tail`, with a standard normal z; so is its time of the
exchange, with another z. The z of the steps may be correlated with the clients' numbers of images, by a Gaussian
copula: `correlation` is that of z with the normal score of a client's rank by images. It is 1 where clients with more
images always have slower steps, and negative where they have faster ones. Ties, as in runs without training, are ranked
at random. In each round all times of a client have a common log-normal factor of mean 1.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import Pace, Speed, SpeedOptions, normal, scores
from jfed.envs.parts.tempo import require_jitter


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        step_s: median time of a local step.
        exchange_s: median time of the exchange.
        spreads: of the two laws: standard deviations of logarithms, or inverses of indices.
        correlation: with the number of images.
        jitter: standard deviation of the logarithm of a round's factor.
    """

    step_s: Float[Array, ""]
    exchange_s: Float[Array, ""]
    spreads: Float[Array, "2"]
    correlation: Float[Array, ""]
    jitter: Float[Array, ""]


def _checked(options: "LogNormal | Pareto", spreads: tuple[float, float]) -> Params:
    for name in ("step_s", "exchange_s"):
        value = getattr(options, name)
        require(0 < value < np.inf, f"{name} must be positive, found {value:g}.")
    require(-1 <= options.correlation <= 1, f"correlation must lie in [-1, 1], found {options.correlation:g}.")
    require_jitter(options.jitter)
    return as_arrays(
        Params,
        step_s=float(options.step_s),
        exchange_s=float(options.exchange_s),
        spreads=np.asarray(spreads, float),
        correlation=float(options.correlation),
        jitter=float(options.jitter),
    )


def _speed(dims: Dims, heavy: bool) -> Speed:
    def factor(z: Float[Array, " clients"], spread: Float[Array, ""]) -> Float[Array, " clients"]:
        exponent = -jnp.log(2 * jax.scipy.special.ndtr(-z)) if heavy else z
        return jnp.exp(spread * exponent)

    def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> Pace:
        steps = scores(prng.at(key, 0), params.correlation, num_samples)
        exchanges = normal(prng.at(key, 1), dims.num_clients)
        return Pace(
            params.step_s * factor(steps, params.spreads[0]),
            params.exchange_s * factor(exchanges, params.spreads[1]),
        )

    def spread(params: Params) -> Float[Array, ""]:
        return params.jitter

    return Speed(init, spread)


@dataclass(frozen=True)
class LogNormal(SpeedOptions):
    """Settings of log-normal times.

    Attributes:
        step_s: median time of a local step.
        exchange_s: median time of the exchange.
        step_spread: standard deviation of the logarithm of the former, over clients.
        exchange_spread: the same for the exchange.
        correlation: of the times of steps with the clients' numbers of images, in [-1, 1].
        jitter: standard deviation of the logarithm of the factor of mean 1 that each client has in each round.
    """

    names = (Name("log-normal"),)

    step_s: float = 0.02
    exchange_s: float = 0.5
    step_spread: float = 0.8
    exchange_spread: float = 0.5
    correlation: float = 0.0
    jitter: float = 0.2

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        for name in ("step_spread", "exchange_spread"):
            value = getattr(self, name)
            require(0 <= value <= 4, f"{name} must lie in [0, 4], found {value:g}.")
        return _checked(self, (self.step_spread, self.exchange_spread))

    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each client's mean times."""
        step = self.step_s * math.exp(self.step_spread**2 / 2)
        exchange = self.exchange_s * math.exp(self.exchange_spread**2 / 2)
        return np.full(num_clients, step), np.full(num_clients, exchange)

    def make(self, dims: Dims) -> Speed:
        """Return the times."""
        return _speed(dims, heavy=False)


@dataclass(frozen=True)
class Pareto(SpeedOptions):
    """Settings of times with a heavy tail.

    Attributes:
        step_s: median time of a local step.
        exchange_s: median time of the exchange.
        tail: index of the tail of both: the variance is infinite up to 2, the mean up to 1, which is refused.
        correlation: of the times of steps with the clients' numbers of images, in [-1, 1].
        jitter: standard deviation of the logarithm of the factor of mean 1 that each client has in each round.
    """

    names = (Name("pareto"), Name("heavy-tails"))

    step_s: float = 0.02
    exchange_s: float = 0.5
    tail: float = 1.5
    correlation: float = 0.0
    jitter: float = 0.2

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(1 < self.tail < np.inf, f"tail must be above 1, so that times have a mean, found {self.tail:g}.")
        return _checked(self, (1 / self.tail, 1 / self.tail))

    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each client's mean times."""
        factor = self.tail / (self.tail - 1) * 0.5 ** (1 / self.tail)
        return np.full(num_clients, self.step_s * factor), np.full(num_clients, self.exchange_s * factor)

    def make(self, dims: Dims) -> Speed:
        """Return the times."""
        return _speed(dims, heavy=True)
