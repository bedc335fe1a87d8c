"""Times by class: each class of clients has its time of a local step and its time of the exchange.

With K values, this is a table of all clients; `Tempo.from_file` reads one from a file with the columns client, step_s
and exchange_s (csv with a header, or npz).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core.errors import DataError, require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts import files
from jfed.envs.parts.base import Pace, Speed, SpeedOptions, in_turn


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        step_s: of each client.
        exchange_s: of each client.
        jitter: standard deviation of the logarithm of a round's factor.
    """

    step_s: Float[Array, " clients"]
    exchange_s: Float[Array, " clients"]
    jitter: Float[Array, ""]


def require_jitter(jitter: float) -> None:
    """Check the standard deviation of the logarithm of a round's factor.

    Raises:
        ConfigError: it is negative or very large.
    """
    require(0 <= jitter <= 4, f"jitter must lie in [0, 4], found {jitter:g}.")


@dataclass(frozen=True)
class Tempo(SpeedOptions):
    """Settings of times by class.

    Attributes:
        step_s: expected time of a local step, one value per class of clients, assigned in turn.
        exchange_s: expected time of the exchange, likewise.
        jitter: standard deviation of the logarithm of the factor, of mean 1, by which all times of a client are
            multiplied in a round.
    """

    names = (Name("tempo"),)

    step_s: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08)
    exchange_s: tuple[float, ...] = (0.5,)
    jitter: float = 0.2

    @classmethod
    def from_file(cls, path: str | Path, jitter: float = 0.0) -> "Tempo":
        """Return the times of a file that names every client once.

        Raises:
            DataError: the file cannot be read, a time is negative, or a client is missing or there twice.
        """
        rows = files.read(path, ("client", "step_s", "exchange_s"))
        client = rows.values["client"].astype(int)
        for row in np.flatnonzero((rows.values["step_s"] < 0) | (rows.values["exchange_s"] < 0))[:1]:
            raise DataError(f"{rows.at(row)}: times must not be negative.")
        for row in range(len(client)):
            if client[row] in client[:row]:
                raise DataError(f"{rows.at(row)}: client {client[row]} is there twice.")
        missing = sorted({*range(client.max() + 1)} - {*client.tolist()})
        if missing:
            raise DataError(f"{rows.path} lacks client {missing[0]}, though it has client {client.max()}.")
        step, exchange = (tuple(rows.values[name][np.argsort(client)].tolist()) for name in ("step_s", "exchange_s"))
        return cls(step, exchange, jitter)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        for name in ("step_s", "exchange_s"):
            values = getattr(self, name)
            require(
                0 < len(values) <= problem.num_clients,
                f"{name} needs 1 to {problem.num_clients} values, found {len(values)}.",
            )
            require(all(0 <= x < np.inf for x in values), f"{name} must be finite and not negative, found {values}.")
        require_jitter(self.jitter)
        step, exchange = self.means(problem.num_clients)
        require(bool((step + exchange > 0).all()), "A client must take some time: step_s or exchange_s.")
        return as_arrays(Params, step_s=step, exchange_s=exchange, jitter=float(self.jitter))

    def classes(self) -> int:
        """Return the number of classes with their own times."""
        return math.lcm(len(self.step_s), len(self.exchange_s))

    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each client's mean times."""
        return in_turn(self.step_s, num_clients), in_turn(self.exchange_s, num_clients)

    def make(self, dims: Dims) -> Speed:
        """Return the times."""

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> Pace:
            return Pace(jnp.asarray(params.step_s), jnp.asarray(params.exchange_s))

        def spread(params: Params) -> Float[Array, ""]:
            return params.jitter

        return Speed(init, spread)
