"""Linear exchange time: a client's time is a linear function of the context that it reports, plus noise.

T. Huang, W. Lin, W. Wu, L. He, K. Li, A. Y. Zomaya, "An Efficiency-Boosting Client Selection Scheme for Federated
Learning With Fairness Guarantee", IEEE Transactions on Parallel and Distributed Systems, 2021. Secs. 4.4 and 6.1.

*Notation.* theta_n = (tau^b_n, tau^s_n, 1 / eta_n), context c_{t,n} = (1 / mu_{t,n}, s_{t,n}, M / B_{t,n}), tau_{t,n} =
c . theta + epsilon (Eq. 14). The features' units are 1, 1 and bits per hertz; base_time_s and cold_start_s are in
seconds, eta in bits per second and hertz.

*Departures.*
- `reading="corrected"`: s = 1 for a client that did NOT take part in the last round, since such clients have a cold
  start (in round 1 all do), and eta = log2(1 + SNR). `"faithful"`: s = 1 for a client that did, as printed, and the
  natural logarithm. Table 1 prints "log" without a base; the text calls it a Shannon formula, which has base 2.
- Noise is uniform within (-c . theta, c . theta), so that times lie in (0, 2 c . theta).
- A client's class is its number modulo the number of classes (interleaved).
- All selected clients return. A round without a cohort takes no time.
"""

import functools
import math
import operator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.interfaces import Environment
from jfed.core.members import EnvironmentOptions, Name
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Oracle, Outcome, Plan, Problem, View

FEATURES = ("inverse_capacity", "cold_start", "bits_per_hz")


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        theta: coefficients of each client.
        capacity: lowest and highest.
        bandwidth_hz: lowest and highest.
        model_bits: M.
        availability: of every client.
        cold: whether s marks the clients that did not take part (1) or those that did (0).
    """

    theta: Float[Array, "clients features"]
    capacity: Float[Array, "2"]
    bandwidth_hz: Float[Array, "2"]
    model_bits: Float[Array, ""]
    availability: Float[Array, ""]
    cold: Int[Array, ""]


class State(NamedTuple):
    """The world's state.

    Attributes:
        took_part: in the last round.
    """

    took_part: Bool[Array, " clients"]


def _expected_s(context: Float[Array, "clients features"], params: Params) -> Float[Array, " clients"]:
    """Return c . theta of each client, written out over the few features: a sum over the last axis is slow."""
    return functools.reduce(operator.add, (context[:, i] * params.theta[:, i] for i in range(len(FEATURES))))


@dataclass(frozen=True)
class Options(EnvironmentOptions):
    """Settings of the exchange-time world. The defaults are those of Tables 1 and 2 of RBCS-F.

    Attributes:
        base_time_s: training time at full capacity, one value per class of clients.
        cold_start_s: time of a cold start, one value per class.
        snr: signal-to-noise ratio (not in decibels), one value per class.
        capacity: range of the share of its processor that a client has free, drawn uniformly each round.
        bandwidth_hz: range of the bandwidth, drawn uniformly each round.
        model_bits: M.
        availability: probability that a client is available, each round.
        reading: corrected, or faithful as printed.
    """

    names = (Name("exchange"),)
    features = FEATURES

    base_time_s: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)
    cold_start_s: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    snr: tuple[float, ...] = (1000.0, 100.0, 10.0, 1.0)
    capacity: tuple[float, float] = (0.5, 2.0)
    bandwidth_hz: tuple[float, float] = (2e6, 4e6)
    model_bits: float = 20e6
    availability: float = 0.8
    reading: Literal["faithful", "corrected"] = "corrected"

    def client_class(self, problem: Problem) -> np.ndarray:
        """Return the class of each client, (K,)."""
        return np.arange(problem.num_clients) % len(self.base_time_s)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        classes = {len(x) for x in (self.base_time_s, self.cold_start_s, self.snr)}
        require(
            len(classes) == 1 and classes != {0}, "base_time_s, cold_start_s and snr need one value for each class."
        )
        require(
            len(self.snr) <= problem.num_clients,
            f"There are {len(self.snr)} classes of clients for only {problem.num_clients} clients.",
        )
        for name in ("base_time_s", "cold_start_s"):
            values = getattr(self, name)
            require(all(0 <= x < math.inf for x in values), f"{name} must be finite and not negative, found {values}.")
        require(all(0 < x < math.inf for x in self.snr), f"snr must be positive and finite, found {self.snr}.")
        for name in ("capacity", "bandwidth_hz"):
            low, high = getattr(self, name)
            require(
                0 < low <= high < math.inf, f"{name} must be a positive range (low, high), found ({low:g}, {high:g})."
            )
        require(0 < self.model_bits < math.inf, f"model_bits must be positive, found {self.model_bits:g}.")
        require(0 <= self.availability <= 1, f"availability must lie in [0, 1], found {self.availability:g}.")
        eta = np.log1p(self.snr) / (np.log(2) if self.reading == "corrected" else 1.0)  # below Eq. (14)
        theta = np.stack([self.base_time_s, self.cold_start_s, 1 / eta], -1)
        return as_arrays(
            Params,
            theta=theta[self.client_class(problem)],
            capacity=np.asarray(self.capacity, float),
            bandwidth_hz=np.asarray(self.bandwidth_hz, float),
            model_bits=float(self.model_bits),
            availability=float(self.availability),
            cold=int(self.reading == "corrected"),
        )

    def expected_availability(self) -> float:
        """Return the probability that a client is available in a round."""
        return self.availability

    def make(self, dims: Dims) -> Environment:
        """Return the environment."""

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> State:
            return State(took_part=jnp.zeros(dims.num_clients, bool))

        def observe(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, View]:
            here, capacity, bandwidth = prng.uniform(key, 3 * dims.num_clients).reshape(3, -1)
            mu = params.capacity[0] + (params.capacity[1] - params.capacity[0]) * capacity
            hertz = params.bandwidth_hz[0] + (params.bandwidth_hz[1] - params.bandwidth_hz[0]) * bandwidth
            flag = jnp.where(params.cold > 0, ~state.took_part, state.took_part).astype(mu.dtype)
            context = jnp.stack([1 / mu, flag, params.model_bits / hertz], -1)
            expected = _expected_s(context, params)
            oracle = Oracle(success_rate=jnp.ones_like(mu), latency_s=expected)
            return state, view._replace(available=here < params.availability, context=context, oracle=oracle)

        def respond(
            key: PRNGKeyArray, state: State, params: Params, view: View, cohort: Cohort, plan: Plan
        ) -> tuple[State, Outcome]:
            expected = _expected_s(view.context, params)
            noise = 2 * prng.uniform(key, dims.num_clients) - 1
            latency_s = expected + expected * noise  # Eq. (14)
            outcome = Outcome(
                succeeded=jnp.ones(dims.num_clients, bool), latency_s=latency_s, idle_s=jnp.zeros((), latency_s.dtype)
            )
            return State(took_part=cohort.selected), outcome

        return Environment(init, observe, respond)
