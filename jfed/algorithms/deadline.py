"""Deadline aggregation: the shares of returned models in the average, in three readings of E3CS and one of Eiffel.

Eq. (6) and Algorithm 1, lines 9 and 10 of E3CS (Huang et al. 2022): the global model stands in for missing clients, and
the average is over all K clients (`all`). Averages over the cohort (`selected`) or over the clients that returned
(`returned`) are other readings of it; they move several times faster per round. `unscaled` is Eiffel's as printed
(Sultana et al. 2022, Algorithm 1, line 13): images times importance, over all images; such shares need not add up to 1.

*Departures.* None from Eq. (6). The caption of Fig. 2 contradicts it: where three of four clients are selected, it
averages three models with shares of 1/3, as `selected` or `returned` do; Eq. (6) has shares of 1/4. Clients are weighed
by q_i / q, as in Eq. (6) and the paper's FedAvg, though Eq. (1) has 1/K; both are the same for clients of equal size,
the paper's case.
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
    """Return n_i over the sum of n of the clients that the reading counts; 0 if that sum is 0.

    With importance, n_i is multiplied by it, except in the sum of `unscaled`.
    """
    everybody = jnp.ones_like(selected)
    counted = {"all": everybody, "unscaled": everybody, "selected": selected, "returned": returned}[reading]
    if importance is not None:
        weight = num_samples * importance
        total = jnp.sum(jnp.where(counted, num_samples if reading == "unscaled" else weight, 0.0))
        return weight / jnp.where(total > 0, total, 1.0)
    total = jnp.sum(jnp.where(counted, num_samples, 0))
    return num_samples / jnp.maximum(total, 1).astype(jnp.result_type(float))  # q_i / q
