"""Comparison of the frequencies of many draws with their declared probabilities."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

DRAWS = 4096
ERRORS = 4.5  # standard errors: a rule that holds is reported as broken once in 150 000 tests of a client


def many(one: Callable[..., Any], *arguments: Any, number: int = DRAWS) -> Any:
    """Return what a function of a key and other arguments gives for many keys, on the host; leading axis draws."""
    keys = jax.random.split(jax.random.key(20), number)
    return jax.device_get(jax.jit(jax.vmap(one, in_axes=(0, *[None] * len(arguments))))(keys, *arguments))


def cohorts(one: Callable[..., Any], situations: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the selected clients and their inclusion probabilities in each situation: (draws, K) each."""
    stacked = jax.tree.map(lambda *xs: jnp.stack([jnp.asarray(x) for x in xs]), *situations.values())
    cohort = many(lambda key, all_: jax.vmap(lambda where: one(key, where))(all_), stacked)
    return {name: (cohort.selected[:, i], cohort.inclusion[:, i]) for i, name in enumerate(situations)}


def apart(differences: np.ndarray, variance: np.ndarray | None = None, slack: float = 1e-6) -> tuple[int, float] | None:
    """Return the entry whose mean over the draws is too far from 0, and how many standard errors; None if all are fine.

    Args:
        differences: (draws, entries), with expectation 0 if all is well.
        variance: variance of each entry in each draw; None: it is estimated.
        slack: what is added to the tolerance of `ERRORS` standard errors.
    """
    spread = differences.var(0) if variance is None else np.clip(variance, 0.0, None).mean(0)
    error = np.sqrt(spread / len(differences))
    away = np.abs(differences.mean(0))
    bad = away > ERRORS * error + slack
    if not bad.any():
        return None
    entry = int(np.argmax(np.where(bad, away, 0.0)))
    return entry, float(away[entry] / max(error[entry], 1e-12))
