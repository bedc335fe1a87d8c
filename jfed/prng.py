"""Named streams of randomness: every draw is a function of (seed, stream, round), never of call order.

So two schemes on one seed meet the same world, and the draws do not depend on who selects, on chunks,
on blocks, or on which other runs share a program. No key is carried in a state.
"""

import enum
from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from jaxtyping import Int, PRNGKeyArray, UInt32

from jfed.errors import require


class Stream(enum.IntEnum):
    """What a key is for. The numbers are part of what makes a result reproducible: never renumber."""

    DATA = 0
    MODEL = 1
    ENVIRONMENT = 2
    TRAINING = 3
    SELECTOR = 4


class Seeds(NamedTuple):
    """Seeds of one run. Data, model and environment may be set apart; usually all are equal."""

    seed: UInt32[Array, ""]
    data: UInt32[Array, ""]
    model: UInt32[Array, ""]
    environment: UInt32[Array, ""]


class Keys(NamedTuple):
    """The streams of one run that are drawn from on the device."""

    model: PRNGKeyArray
    environment: PRNGKeyArray
    training: PRNGKeyArray
    selector: PRNGKeyArray


def seeds(seed: int, data: int | None = None, model: int | None = None, environment: int | None = None) -> Seeds:
    """Seeds of one run on the host; what is not set apart follows `seed`.

    Raises:
        ConfigError: not a whole number from 0 to 2^32 - 1.
    """

    def pick(other: int | None) -> np.uint32:
        chosen = seed if other is None else other
        whole = isinstance(chosen, int | np.integer) and not isinstance(chosen, bool)
        require(whole and 0 <= chosen < 2**32, f"A seed is a whole number from 0 to 2^32 - 1, found {chosen!r}.")
        return np.uint32(chosen)

    return Seeds(pick(None), pick(data), pick(model), pick(environment))  # type: ignore[arg-type]


def keys(seeds: Seeds) -> Keys:
    """The root key of each stream of one run."""

    def root(seed: UInt32[Array, ""], stream: Stream) -> PRNGKeyArray:
        return jax.random.fold_in(jax.random.key(seed), int(stream))

    return Keys(
        model=root(seeds.model, Stream.MODEL),
        environment=root(seeds.environment, Stream.ENVIRONMENT),
        training=root(seeds.seed, Stream.TRAINING),
        selector=root(seeds.seed, Stream.SELECTOR),
    )


def at(key: PRNGKeyArray, *path: Int[Array, ""] | int) -> PRNGKeyArray:
    """The key at a path, such as `at(keys.training, round, client)`. Round 0 is for initial states."""
    for step in path:
        key = jax.random.fold_in(key, step)
    return key


def host_generator(data_seed: int) -> np.random.Generator:
    """NumPy's generator for what is drawn on the host: the split of a data set over clients."""
    return np.random.default_rng([int(data_seed), int(Stream.DATA)])
