"""The limits of a round: steps that fit into it, its first clients, and what can be expected of each client."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from jfed.core import ops
from jfed.core.total import fold
from jfed.core.types import Oracle
from jfed.envs.parts.base import Pace


def expected_s(pace: Pace, steps: Int[Array, " clients"]) -> Float[Array, " clients"]:
    """Return the expected time of each client with its number of steps, without any limit."""
    return pace.exchange_s + steps * pace.step_s


def fitting(
    step_s: Float[Array, " clients"], left_s: Float[Array, " clients"], steps: Int[Array, " clients"]
) -> Int[Array, " clients"]:
    """Return how many of the planned steps fit into the time that is left."""
    free = jnp.where(left_s >= 0, steps, 0)  # of steps that take no time, all fit
    many = jnp.floor(left_s / jnp.where(step_s > 0, step_s, 1.0))
    return jnp.clip(jnp.where(step_s > 0, many, free), 0, steps).astype(jnp.int32)


def of_the_first(
    m: Int[Array, ""],
    returned: Bool[Array, " clients"],
    latency_s: Float[Array, " clients"],
    tie_break: Float[Array, " clients"],
) -> tuple[Bool[Array, " clients"], Float[Array, " clients"]]:
    """Return the first m of the clients that return, and the times for which the server waits if it waits for them.

    Args:
        m: number of clients for which the server waits.
        returned: clients of the cohort that return.
        latency_s: times that they take.
        tie_break: order of clients that take equally long.
    """
    used = ops.smallest(latency_s, m, returned, tie_break)
    last = fold(jnp.maximum, jnp.where(used, latency_s, 0.0))
    return used, jnp.where(ops.count(returned) >= m, jnp.minimum(latency_s, last), latency_s)


def foreseen(
    chance: Float[Array, " clients"],
    pace: Pace,
    steps: Int[Array, " clients"],
    spread: Float[Array, ""] | None,
    deadline_s: Float[Array, ""] | None,
    partial: bool,
) -> Oracle:
    """Return the probability that each client returns, and its expected latency.

    With mean time s, factor J and deadline D, a client is in time with probability P(J <= D / s), and the time in which
    it is has the partial expectation s P(J' <= D / s), where log J' has the mean of log J plus its variance.
    """
    mean = expected_s(pace, steps)
    if deadline_s is None:
        return Oracle(chance, mean)
    least = jnp.where(partial, expected_s(pace, jnp.minimum(steps, 1)), mean)
    sigma = jnp.zeros_like(deadline_s) if spread is None else spread

    def below(x: Float[Array, " clients"], shift: float) -> Float[Array, " clients"]:
        """Return P(J <= x), with the mean of log J moved by half its variance, up (-1) or down (1)."""
        z = (jnp.log(x) + shift * sigma**2 / 2) / jnp.maximum(sigma, jnp.finfo(x.dtype).tiny)
        return jnp.where(sigma > 0, jax.scipy.special.ndtr(z), (x >= 1).astype(x.dtype))

    rate = chance * below(deadline_s / least, 1.0)
    whole = mean * below(deadline_s / mean, -1.0)  # of those that have time for all their steps
    if partial:
        whole += deadline_s * (below(deadline_s / least, 1.0) - below(deadline_s / mean, 1.0))
    return Oracle(rate, jnp.clip(chance * whole + (1 - rate) * deadline_s, 0.0, deadline_s))
