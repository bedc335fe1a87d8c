"""A wireless cell: clients on a disc around an access point, with path loss, Rayleigh fading and varying processors.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu, "Multi-Armed Bandit Based Client Scheduling for Federated
Learning", IEEE Transactions on Wireless Communications, 2020. Secs. II and V.

*Notation.* tau = min(tau^D + tau^U + tau^LU, tau_max) (Eq. 4); tau^D = m_0 / (B R) (Eq. 32), R = log2(1 + p |h|^2 /
sigma^2) (Eq. 33), the uplink alike (Eqs. 34, 35); tau^LU = rho / phi (Eq. 36), phi in samples per second.

*Departures.*
- One draw of the fading per round and link. The paper averages over coherence slots, without their number; with many
  nobody would ever fail, and Fig. 1(c) counts failed clients.
- Positions are uniform over the disc and drawn once per run; `distances_m` fixes them.
- The printed bounds of phi_k are both called lower; phi_k is uniform in [10 k + 10, 10 k + 30], k = 1..K.
- A client fails if it reaches tau_max: the server stops waiting and its model is lost. A round without a cohort takes
  tau_max, since the server waits for somebody.
- The printed m_0 = 5e3 bits cannot hold the 7850 parameters of the paper's model, and latencies of 0.05 to 0.3 s
  against tau_max = 5 s leave a bandit nothing to learn; the pictures of Figs. 1, 4 and 5 appear at 5e4 bits
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

QUANTILES = 96  # of each link's fading, in the sums that stand for expectations
SPEEDS = 8  # nodes over the uniform range of a processor's speed


class Params(NamedTuple):
    """Dynamic half.

    Attributes:
        distance_km: of each client; 0 where it is drawn.
        radius_km: of the disc.
        bits_per_hz: m_0 / B, seconds times bits per second and hertz.
        snr_db: at 1 km, without fading.
        decay_db: loss per decade of distance.
        samples: rho.
        slowest, fastest: speed of each client.
        tau_max_s: when the server stops waiting.
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
    """Attributes: snr: of each client on average over fading; latency_s, success_rate: what is to be expected of it."""

    snr: Float[Array, " clients"]
    latency_s: Float[Array, " clients"]
    success_rate: Float[Array, " clients"]


def _link_s(params: Params, snr: Array, gain: Array) -> Array:
    return params.bits_per_hz / jnp.log2(1 + snr * gain)  # Eqs. (32) to (35)


def _expected(params: Params, snr: Array) -> tuple[Array, Array]:
    """Return the mean of min(tau, tau_max) and the chance of staying below it, of each client, by sums over the draws.

    Deep fades are rare and decide the mean, so the quantiles u = v^3 lie densely near 0.
    """
    v = (jnp.arange(QUANTILES) + 0.5) / QUANTILES
    gain, weight = -jnp.log1p(-(v**3)), v**2 / jnp.sum(v**2)
    share = (jnp.arange(SPEEDS) + 0.5) / SPEEDS

    def one(client: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        snr, slowest, fastest = client
        link = _link_s(params, snr, gain)
        compute = params.samples / (slowest + (fastest - slowest) * share)
        total = link[:, None, None] + link[:, None] + compute

        def mean(x: Array) -> Array:
            return weight @ x.mean(-1) @ weight

        return mean(jnp.minimum(total, params.tau_max_s)), mean((total < params.tau_max_s).astype(total.dtype))

    return lax.map(one, (snr, params.slowest, params.fastest))


@dataclass(frozen=True)
class Options(EnvironmentOptions):
    """Settings of the wireless cell. The defaults are the ideal scenario's (Sec. V-A)."""

    names = (Name("wireless"),)

    model_bits: float = 5e3
    """m_0, sent down and up."""
    radius_m: float = 500.0
    distances_m: tuple[float, ...] = ()
    """Distance of each client from the access point; none: drawn for each run, uniformly over the disc."""
    bandwidth_hz: float = 15e3
    power_dbm: float = 23.0
    """Of the access point and of every client."""
    noise_dbm: float = -107.0
    path_loss_db: tuple[float, float] = (128.1, 37.6)
    """At one kilometre, and per decade of distance."""
    samples_per_round: float = 2.0
    """rho: what a client computes in a round; the minibatch, where each makes one step."""
    speed: tuple[float, float, float] = (10.0, 10.0, 30.0)
    """a, b, c: client k = 1..K computes a k + b to a k + c samples per second, drawn uniformly each round."""
    tau_max_s: float = 5.0
    availability: float = 1.0
    """Chance that a client can be asked, each round; 0.9 in the non-ideal scenario."""

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
        """Return the chance that a client can be asked in a round."""
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
