"""Frequencies of many draws against what they were said to be."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

DRAWS = 4096
ERRORS = 4.5  # standard errors: a rule that holds is called broken once in 150 000 times a client


def many(one: Callable[..., Any], *arguments: Any, number: int = DRAWS) -> Any:
    """Return what a function of a key and more gives for many keys, on the host; leading axis draws."""
    keys = jax.random.split(jax.random.key(20), number)
    return jax.device_get(jax.jit(jax.vmap(one, in_axes=(0, *[None] * len(arguments))))(keys, *arguments))


def cohorts(one: Callable[..., Any], situations: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return who is selected and with which probability in each situation: (draws, K) each."""
    stacked = jax.tree.map(lambda *xs: jnp.stack([jnp.asarray(x) for x in xs]), *situations.values())
    cohort = many(lambda key, all_: jax.vmap(lambda where: one(key, where))(all_), stacked)
    return {name: (cohort.selected[:, i], cohort.inclusion[:, i]) for i, name in enumerate(situations)}


def apart(differences: np.ndarray, variance: np.ndarray | None = None, slack: float = 1e-6) -> tuple[int, float] | None:
    """Return the entry whose mean difference over draws is too far from 0, and how many standard errors.

    Args:
        differences: (draws, entries), of mean 0 if all is well.
        variance: of each draw, where it is known; otherwise it is estimated.
        slack: a difference that does not count.
    """
    spread = differences.var(0) if variance is None else np.clip(variance, 0.0, None).mean(0)
    error = np.sqrt(spread / len(differences))
    away = np.abs(differences.mean(0))
    bad = away > ERRORS * error + slack
    if not bad.any():
        return None
    entry = int(np.argmax(np.where(bad, away, 0.0)))
    return entry, float(away[entry] / max(error[entry], 1e-12))
