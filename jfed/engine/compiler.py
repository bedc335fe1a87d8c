"""Settings of XLA's compiler, by backend and by the products of a program."""

import functools
from typing import Any

import jax

# By default LLVM uses vectors of 256 bits; a core without wider ones ignores this option.
ALWAYS = {"cpu": {"xla_cpu_prefer_vector_width": 512}}

# XLA then multiplies matrices by Eigen instead of YNNPACK: measured faster where products are wide in all directions,
# and slower where one has ten columns.
EIGEN = {"xla_cpu_experimental_ynn_fusion_type": ""}


def options(wide_products: bool) -> dict[str, Any] | None:
    """Return the compiler's options for jax's default backend, None for its defaults.

    They take precedence over $XLA_FLAGS.

    Args:
        wide_products: whether the program's time goes into products that are wide in all directions.
    """
    backend = jax.default_backend()
    found = ALWAYS.get(backend)
    return {**(found or {}), **EIGEN} if wide_products and backend == "cpu" and _knows_eigen() else found


@functools.cache
def _knows_eigen() -> bool:
    """Return whether this version of XLA has the option: it is an experimental one."""
    try:
        jax.jit(lambda: 0, compiler_options=EIGEN).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
