"""Volatile clients: each returns its model with the probability of its class, independently in each round.

Sec. VI-A of E3CS (Huang et al. 2022): K clients in equal classes with success rates 0.1, 0.3, 0.6 and 0.9.

*Departures.* A client's class is its number modulo the number of classes (interleaved), and classes are numbered by
their place in `success_rates`: the paper's Class 1, the most reliable one, is the last. Training data and local epochs
are drawn independently of it, as in the paper. A round lasts until its deadline, even if all return earlier: the paper
gives no times, so the unit is one round (`deadline_s`). In the paper all clients are always available; `availability`
is an addition.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.interfaces import Environment
from jfed.core.members import EnvironmentOptions, Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Oracle, Outcome, Plan, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        success_rate: of each client.
        deadline_s: length of a round.
    """

    success_rate: Float[Array, " clients"]
    deadline_s: Float[Array, ""]


@dataclass(frozen=True)
class Options(EnvironmentOptions):
    """Settings of volatile clients.

    Attributes:
        success_rates: one rate per class of clients, each in [0, 1].
        deadline_s: how long the server waits in a round.
        availability: probability that a client is available, each round; static, so that a world in which all are
            available spares the draw.
    """

    names = (Name("volatility"),)

    success_rates: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    deadline_s: float = 1.0
    availability: float = static(1.0)

    def client_class(self, problem: Problem) -> np.ndarray:
        """Return the class of each client, (K,): its place in `success_rates`."""
        return np.arange(problem.num_clients) % len(self.success_rates)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        rates = np.asarray(self.success_rates, np.float64)
        require(rates.ndim == 1 and rates.size > 0, "At least one success rate is needed.")
        bad = rates[~((rates >= 0) & (rates <= 1))]
        require(bad.size == 0, f"Success rates must lie in [0, 1], found {', '.join(f'{r:g}' for r in bad)}.")
        require(
            rates.size <= problem.num_clients,
            f"There are {rates.size} classes of success rates for only {problem.num_clients} clients.",
        )
        deadline_s, availability = float(self.deadline_s), self.availability
        require(0 < deadline_s < np.inf, f"deadline_s must be positive, found {deadline_s:g}.")
        require(0 <= availability <= 1, f"availability must lie in [0, 1], found {availability:g}.")
        return as_arrays(Params, success_rate=rates[self.client_class(problem)], deadline_s=deadline_s)

    def expected_availability(self) -> float:
        """Return the probability that a client is available in a round."""
        return self.availability

    def make(self, dims: Dims) -> Environment:
        """Return the environment."""

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> tuple[()]:
            return ()

        def observe(key: PRNGKeyArray, state: tuple[()], params: Params, view: View) -> tuple[tuple[()], View]:
            if self.availability < 1:
                view = view._replace(available=prng.uniform(key, dims.num_clients) < self.availability)
            wait = jnp.broadcast_to(params.deadline_s, (dims.num_clients,))
            return (), view._replace(oracle=Oracle(params.success_rate, wait))

        def respond(
            key: PRNGKeyArray, state: tuple[()], params: Params, view: View, cohort: Cohort, plan: Plan
        ) -> tuple[tuple[()], Outcome]:
            rate = params.success_rate
            draw = prng.uniform(key, rate.shape[0])
            succeeded = draw < rate  # uniform is in [0, 1): rates 0 and 1 are exact
            return (), Outcome(succeeded, jnp.broadcast_to(params.deadline_s, rate.shape), params.deadline_s)

        return Environment(init, observe, respond)
