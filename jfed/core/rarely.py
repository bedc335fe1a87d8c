"""A branch that a batch takes only if one of its entries does."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import custom_vmap
from jaxtyping import Bool


def rarely(needed: Bool[Array, ""], f: Callable[..., Any], otherwise: Any, *args: Any) -> Any:
    """Return f(*args) where it is needed, and else `otherwise`, which has the same shapes.

    It is a `lax.cond`. Under `jax.vmap` that would compute f for every entry at all times; here nothing is computed
    while no entry needs it.

    Args:
        needed: whether f is needed.
        f: function that uses no traced values but its arguments.
        otherwise: the value where it is not needed.
        *args: arguments of f.
    """

    @custom_vmap
    def choose(needed: Array, otherwise: Any, args: tuple[Any, ...]) -> Any:
        return lax.cond(needed, lambda: f(*args), lambda: otherwise)

    @choose.def_vmap
    def _(size: int, batched: Any, needed: Array, otherwise: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
        def wide(tree: Any, known: Any) -> Any:
            def one(x: Array, known: bool) -> Array:
                return x if known else jnp.broadcast_to(x, (size, *jnp.shape(x)))

            return jax.tree.map(one, tree, known)

        mask, old, own = (wide(*pair) for pair in zip((needed, otherwise, args), batched, strict=True))

        def some() -> Any:
            new = jax.vmap(f)(*own)
            return jax.tree.map(lambda x, y: jnp.where(mask.reshape(-1, *[1] * (y.ndim - 1)), x, y), new, old)

        found = lax.cond(jnp.any(mask), some, lambda: old)
        return found, jax.tree.map(lambda _: True, found)

    return choose(needed, otherwise, args)
