"""Deadline aggregation: what a returned model weighs, in the three readings of E3CS (Huang et al. 2022).

Eq. (6) and Algorithm 1, lines 9 and 10: the global model stands in for whoever is missing, and the average is over
all K clients (`all`). Averages over the cohort (`selected`) or over those who returned (`returned`) are
what other readers made of it; they move several times faster per round. `unscaled` is Eiffel's as printed (Sultana et
al. 2022, Algorithm 1, line 13): images times importance, over all images; such shares need not add up to 1.

*Departures.* The paper averages with 1/K, and weighs clients by q_i / q in Eq. (6); here it is q_i / q. The two are the
same for clients of equal size, the paper's case.
"""

from typing import Literal

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

Reading = Literal["all", "selected", "returned", "unscaled"]


def share(
    reading: Reading,
    num_samples: Int[Array, " clients"],
    selected: Bool[Array, " clients"],
    returned: Bool[Array, " clients"],
    importance: Float[Array, " clients"] | None = None,
) -> Float[Array, " clients"]:
    """n_i / sum of n over those whom the reading counts; 0 if that sum is 0.

    With importance, of n_i times it.
    """
    everybody = jnp.ones_like(selected)
    counted = {"all": everybody, "unscaled": everybody, "selected": selected, "returned": returned}[reading]
    if importance is not None:
        weight = num_samples * importance
        total = jnp.sum(jnp.where(counted, num_samples if reading == "unscaled" else weight, 0.0))
        return weight / jnp.where(total > 0, total, 1.0)
    total = jnp.sum(jnp.where(counted, num_samples, 0))
    return num_samples / jnp.maximum(total, 1).astype(jnp.result_type(float))  # q_i / q
