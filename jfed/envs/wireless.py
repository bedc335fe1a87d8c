"""A wireless cell: clients on a disc around an access point, with path loss, Rayleigh fading and varying processors.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu, "Multi-Armed Bandit Based Client Scheduling for Federated
Learning", IEEE Transactions on Wireless Communications, 2020. Secs. II and V.

*Notation.* tau = min(tau^D + tau^U + tau^LU, tau_max) (Eq. 4); tau^D = m_0 / (B R) (Eq. 32), R = log2(1 + p |h|^2 /
sigma^2) (Eq. 33), the uplink alike (Eqs. 34, 35); tau^LU = rho / phi (Eq. 36), phi in samples per second.

*Departures.*
- The fading of each link is drawn once per round. The paper averages over coherence slots and does not give their
  number; with many of them no client would ever fail, but Fig. 1(c) counts failed clients.
- Positions are uniform over the disc and drawn once per run; `distances_m` fixes them.
- The paper calls both bounds of phi_k lower bounds; here phi_k is uniform in [10 k + 10, 10 k + 30], k = 1..K.
- A client that reaches tau_max fails: the server stops waiting, and the model is lost. A round without a cohort takes
  tau_max, the longest that the server waits.
- The printed m_0 = 5e3 bits cannot hold the 7850 parameters of the paper's model, and latencies of 0.05 to 0.3 s
  against tau_max = 5 s leave a bandit hardly anything to learn; what Figs. 1, 4 and 5 show appears at 5e4 bits
  (`model_bits`).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.interfaces import Environment
from jfed.core.members import EnvironmentOptions, Name
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Oracle, Outcome, Plan, Problem, View

QUANTILES = 96  # of each link's fading, in the sums that approximate expectations
SPEEDS = 8  # nodes over the uniform range of a processor's speed


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        distance_km: of each client; 0 where it is drawn.
        radius_km: of the disc.
        bits_per_hz: m_0 / B.
        snr_db: at 1 km, without fading.
        decay_db: loss per decade of distance.
        samples: rho.
        slowest: lowest speed of each client.
        fastest: highest speed of each client.
        tau_max_s: time after which the server stops waiting.
        availability: of every client.
    """

    distance_km: Float[Array, " clients"]
    radius_km: Float[Array, ""]
    bits_per_hz: Float[Array, ""]
    snr_db: Float[Array, ""]
    decay_db: Float[Array, ""]
    samples: Float[Array, ""]
    slowest: Float[Array, " clients"]
    fastest: Float[Array, " clients"]
    tau_max_s: Float[Array, ""]
    availability: Float[Array, ""]


class State(NamedTuple):
    """The world's state.

    Attributes:
        snr: of each client, averaged over the fading.
        latency_s: expected latency of each client.
        success_rate: probability that each client returns.
    """

    snr: Float[Array, " clients"]
    latency_s: Float[Array, " clients"]
    success_rate: Float[Array, " clients"]


def _link_s(params: Params, snr: Array, gain: Array) -> Array:
    return params.bits_per_hz / jnp.log2(1 + snr * gain)  # Eqs. (32) to (35)


def _expected(params: Params, snr: Array) -> tuple[Array, Array]:
    """Return each client's mean of min(tau, tau_max) and its probability of tau < tau_max, by sums over quantiles.

    Deep fades are rare but dominate the mean, so the quantiles u = v^3 are dense near 0. They are in order, so that the
    second link's sum is a partial one: up to where tau reaches tau_max.
    """
    v = (jnp.arange(QUANTILES)[::-1] + 0.5) / QUANTILES  # from the best gain to the worst: times ascend
    gain, weight = -jnp.log1p(-(v**3)), v**2 / jnp.sum(v**2)
    share = (jnp.arange(SPEEDS) + 0.5) / SPEEDS

    def up_to(x: Array) -> Array:
        return jnp.pad(jnp.cumsum(x), (1, 0))

    in_time, late = up_to(weight), up_to(weight[::-1])[::-1]

    def one(client: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        snr, slowest, fastest = client
        link = jnp.minimum(_link_s(params, snr, gain), params.tau_max_s)  # infinite where 1 + snr * gain rounds to 1
        compute = params.samples / (slowest + (fastest - slowest) * share)
        before = jnp.minimum(link[:, None] + compute, params.tau_max_s)
        n = jnp.searchsorted(link, params.tau_max_s - before)
        mean = up_to(weight * link)[n] + before * in_time[n] + params.tau_max_s * late[n]
        return weight @ mean.mean(-1), weight @ in_time[n].mean(-1)

    return lax.map(one, (snr, params.slowest, params.fastest))


@dataclass(frozen=True)
class Options(EnvironmentOptions):
    """Settings of the wireless cell. The defaults are those of the ideal scenario (Sec. V-A).

    Attributes:
        model_bits: m_0, sent down and up.
        radius_m: radius of the disc.
        distances_m: distance of each client from the access point; empty: drawn once per run, uniformly over the disc.
        bandwidth_hz: B.
        power_dbm: of the access point and of every client.
        noise_dbm: at every receiver.
        path_loss_db: at one kilometre, and per decade of distance.
        samples_per_round: rho, samples that a client processes in a round; the minibatch size where each makes one
            step.
        speed: a, b, c: client k = 1..K processes a k + b to a k + c samples per second, drawn uniformly each round.
        tau_max_s: time after which the server stops waiting.
        availability: probability that a client is available, each round; 0.9 in the non-ideal scenario.
    """

    names = (Name("wireless"),)

    model_bits: float = 5e3
    radius_m: float = 500.0
    distances_m: tuple[float, ...] = ()
    bandwidth_hz: float = 15e3
    power_dbm: float = 23.0
    noise_dbm: float = -107.0
    path_loss_db: tuple[float, float] = (128.1, 37.6)
    samples_per_round: float = 2.0
    speed: tuple[float, float, float] = (10.0, 10.0, 30.0)
    tau_max_s: float = 5.0
    availability: float = 1.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        num_clients = problem.num_clients
        for name in ("model_bits", "radius_m", "bandwidth_hz", "samples_per_round", "tau_max_s"):
            value = getattr(self, name)
            require(0 < value < math.inf, f"{name} must be positive, found {value:g}.")
        distances = self.distances_m
        require(
            len(distances) in (0, num_clients),
            f"There are {len(distances)} distances_m for {num_clients} clients.",
        )
        require(all(0 < d < math.inf for d in distances), "distances_m must be positive.")
        require(0 <= self.availability <= 1, f"availability must lie in [0, 1], found {self.availability:g}.")
        for name in ("power_dbm", "noise_dbm", "path_loss_db", "speed"):
            values = np.atleast_1d(getattr(self, name))
            require(bool(np.isfinite(values).all()), f"{name} must be finite, found {getattr(self, name)}.")
        step, low, high = self.speed
        number = np.arange(1, num_clients + 1)
        slowest, fastest = step * number + low, step * number + high
        require(bool(slowest.min() > 0) and low <= high, "speed must give every client a positive range of speeds.")
        at_1_km, decay = self.path_loss_db
        return as_arrays(
            Params,
            distance_km=np.asarray(distances, float) / 1e3 if distances else np.zeros(num_clients),
            radius_km=self.radius_m / 1e3,
            bits_per_hz=self.model_bits / self.bandwidth_hz,
            snr_db=float(self.power_dbm - self.noise_dbm - at_1_km),
            decay_db=float(decay),
            samples=float(self.samples_per_round),
            slowest=slowest.astype(float),
            fastest=fastest.astype(float),
            tau_max_s=float(self.tau_max_s),
            availability=float(self.availability),
        )

    def expected_availability(self) -> float:
        """Return the probability that a client is available in a round."""
        return self.availability

    def make(self, dims: Dims) -> Environment:
        """Return the environment."""
        num_clients = dims.num_clients

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> State:
            drawn = params.radius_km * jnp.sqrt(prng.uniform(key, num_clients) + 2.0**-24)  # uniform over the area
            distance_km = jnp.where(params.distance_km > 0, params.distance_km, drawn)
            snr = 10 ** ((params.snr_db - params.decay_db * jnp.log10(distance_km)) / 10)
            latency_s, success_rate = _expected(params, snr)
            return State(snr, latency_s, success_rate)

        def observe(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, View]:
            here = prng.uniform(key, num_clients) < params.availability
            oracle = Oracle(success_rate=state.success_rate, latency_s=state.latency_s)
            return state, view._replace(available=here, oracle=oracle)

        def respond(
            key: PRNGKeyArray, state: State, params: Params, view: View, cohort: Cohort, plan: Plan
        ) -> tuple[State, Outcome]:
            down, up, speed = prng.uniform(key, 3 * num_clients).reshape(3, -1)
            compute = params.samples / (params.slowest + (params.fastest - params.slowest) * speed)  # Eq. (36)
            links = sum(_link_s(params, state.snr, -jnp.log1p(-(u + 2.0**-24))) for u in (down, up))
            latency_s = jnp.minimum(links + compute, params.tau_max_s)  # Eq. (4)
            return state, Outcome(latency_s < params.tau_max_s, latency_s, params.tau_max_s)

        return Environment(init, observe, respond)
