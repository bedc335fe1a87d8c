"""The costs of rounds and the steps that a budget still allows: the accounting behind `adaptive`.

*Notation.* c_i, b_i: costs of a local step and of an exchange of client i, for each resource; c, b: the same for a
cohort; how: a word for each resource that says how clients' costs are combined: mean or sum over the cohort, or max,
the costs of the client that spends most.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float

from jfed.core import ops
from jfed.core.types import Costs

How = Literal["mean", "sum", "max"]
ENOUGH = 0.999


def unknown(resources: int, num_clients: int, dtype: jnp.dtype) -> Costs:
    """Return the costs that are known before any client reports: NaN."""
    nothing = jnp.full((resources, num_clients), jnp.nan, dtype)
    return Costs(nothing, nothing)


def together(costs: Costs, took: Bool[Array, " clients"], steps: Array, how: tuple[How, ...]) -> Costs:
    """Return c and b of the cohort, (resources,); under max, of the client that spends most on `steps` steps."""

    def one(c: Float[Array, " clients"], b: Float[Array, " clients"], word: How) -> Costs:
        if word == "max":
            most = jnp.argmax(jnp.where(took, c * steps + b, -1.0))
            return Costs(c[most], b[most])
        total = Costs(ops.total(jnp.where(took, c, 0.0)), ops.total(jnp.where(took, b, 0.0)))
        return total if word == "sum" else jax.tree.map(lambda x: x / jnp.maximum(ops.count(took), 1), total)

    each = [one(costs.step[r], costs.exchange[r], word) for r, word in enumerate(how)]
    return Costs(*map(jnp.stack, zip(*each, strict=True)))


def steps_within(c: Array, b: Array, room: Array) -> Array:
    """Return the most steps, as a float, that fit into the room with an exchange; infinite where steps are free.

    Steps are free where a world counts time alone. A thousandth of the exchange may then be missing, so that rounding
    does not forbid the last of many equal rounds.
    """
    free = jnp.where(room >= ENOUGH * b, jnp.inf, -1.0)
    return jnp.where(c > 0, jnp.floor((room - b) / jnp.where(c > 0, c, 1.0)), free)


def most_steps(
    costs: Costs, took: Bool[Array, " clients"], room: Float[Array, " resources"], how: tuple[How, ...]
) -> Array:
    """Return the most steps of this cohort that fit into the room of every resource; negative if no exchange fits."""
    c, b = together(costs, took, jnp.ones(()), how)
    most = []
    for r, word in enumerate(how):
        alone = steps_within(costs.step[r], costs.exchange[r], room[r])
        most.append(jnp.min(jnp.where(took, alone, jnp.inf)) if word == "max" else steps_within(c[r], b[r], room[r]))
    return jnp.min(jnp.stack(most))


def foreseen(known: Costs, steps: Array) -> Costs:
    """Return the expected costs of clients: their last ones, or the costliest client's where a client never reported.

    All are NaN before the first report.
    """
    each = known.step * steps + known.exchange
    dearest = jnp.argmax(jnp.where(jnp.isnan(each), -1.0, each), 1)[:, None]
    return jax.tree.map(lambda x: jnp.where(jnp.isnan(x), jnp.take_along_axis(x, dearest, 1), x), known)


def least(costs: Costs, clients: int, steps: int, how: How, resource: int) -> float:
    """Return the mean cost of a first round of the `clients` cheapest clients (host numbers)."""
    each = np.sort(np.asarray(costs.step)[resource] * steps + np.asarray(costs.exchange)[resource])[:clients]
    return float({"mean": np.mean, "sum": np.sum, "max": np.max}[how](each))
