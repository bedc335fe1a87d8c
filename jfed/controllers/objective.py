"""The objective G of adaptive tau, and h, the distance of local steps from centralised descent.

See `adaptive` for notation, source and departures.
"""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def drift(x: Array, beta: Array, delta: Array, eta: Array, alpha: Array | float = 1.0) -> Array:
    """Return h(x)."""
    grown = jnp.expm1(x * jnp.log1p(eta * beta))  # (eta beta + 1)^x - 1
    h = jnp.where(delta == 0, 0.0, alpha * delta / beta * grown - eta * delta * x)
    return jnp.maximum(h, 0.0)  # NaN stays NaN


def objective(
    x: Float[Array, " candidates"],
    rho: Array, beta: Array, delta: Array, alpha: Array, eta: Array, phi: Array,
    step: Float[Array, " resources"], exchange: Float[Array, " resources"], left: Float[Array, " resources"],
) -> Float[Array, " candidates"]:  # fmt: skip
    """Return G(x) of each candidate; infinite where it cannot be computed."""
    h = drift(x, beta, delta, eta, alpha)
    inverse = jnp.max((step[:, None] * x + exchange[:, None]) / (left[:, None] * x), 0)  # 1 / T'
    apart = jnp.where(rho == 0, 0.0, rho * h)
    root = jnp.sqrt(jnp.maximum(0.0, inverse**2 + 4 * phi * eta * apart / x))  # sqrt(1 + 4 T'^2 ...) / T'
    g = (inverse + root) / (2 * eta * phi) + apart
    return jnp.where(jnp.isnan(g), jnp.inf, g)
