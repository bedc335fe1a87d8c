"""Named streams of randomness: every draw is a function of (seed, stream, round), never of call order.

So two schemes with one seed get the same world, and the draws do not depend on the scheme, on chunks, on blocks,
or on which other runs share a program. No key is carried in a state.
"""

import enum
import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray, UInt32

from jfed.core.errors import require
from jfed.core.once import once


class Stream(enum.IntEnum):
    """The purpose of a key. Reproducible results depend on the numbers: never renumber."""

    DATA = 0
    MODEL = 1
    ENVIRONMENT = 2
    TRAINING = 3
    SELECTOR = 4


class Seeds(NamedTuple):
    """The seeds of one run. Those of data, model and environment may be set separately; usually all are equal."""

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
    """Return the seeds of one run, as NumPy numbers; those that are not given equal `seed`.

    Raises:
        ConfigError: a seed is not a whole number from 0 to 2^32 - 1.
    """

    def pick(other: int | None) -> np.uint32:
        chosen = seed if other is None else other
        whole = isinstance(chosen, int | np.integer) and not isinstance(chosen, bool)
        require(whole and 0 <= chosen < 2**32, f"A seed is a whole number from 0 to 2^32 - 1, found {chosen!r}.")
        return np.uint32(chosen)

    return Seeds(pick(None), pick(data), pick(model), pick(environment))  # type: ignore[arg-type]


def crossed_seeds(data: int = 1, model: int = 1, environment: int = 1) -> list[Seeds]:
    """Return all combinations of the given numbers of data, model and environment seeds, for `jfed variance`.

    Runs that share one of them are not independent: they show where the spread comes from, not which scheme is better.
    """
    cells = itertools.product(range(data), range(model), range(environment))
    return [seeds(i, *cell) for i, cell in enumerate(cells)]


def keys(seeds: Seeds) -> Keys:
    """Return the root key of each stream of one run."""

    def root(seed: UInt32[Array, ""], stream: Stream) -> PRNGKeyArray:
        return jax.random.fold_in(jax.random.key(seed), int(stream))

    return Keys(
        model=root(seeds.model, Stream.MODEL),
        environment=root(seeds.environment, Stream.ENVIRONMENT),
        training=root(seeds.seed, Stream.TRAINING),
        selector=root(seeds.seed, Stream.SELECTOR),
    )


def at(key: PRNGKeyArray, *path: Int[Array, ""] | int) -> PRNGKeyArray:
    """Return the key at a path, such as `at(keys.training, round, client)`. Round 0 is for initial states.

    It is `jax.random.fold_in` of each step, bit for bit; see `words` for why it is written out.
    """
    for step in path:
        data = jax.random.key_data(key)
        x, y = _threefry(data[0], data[1], jnp.uint32(0), jnp.asarray(step).astype(jnp.uint32))
        key = jax.random.wrap_key_data(jnp.stack([x, y]), impl=jax.random.key_impl(key))
    return key


@functools.partial(jax.jit, static_argnames="n")
def words(key: PRNGKeyArray, n: int) -> UInt32[Array, " n"]:
    """Return n random words: `jax.random.bits(key, (n,), uint32)` bit for bit, several times as fast on a CPU.

    Threefry 2x32 with 20 rounds (J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011). On a CPU
    jax lowers it to a loop over groups of rounds, which saves compile time but not passes over memory. Here the
    rounds are written out.
    """
    a, b = jax.random.key_data(key)
    x, y = _threefry(a, b, jnp.zeros(n, jnp.uint32), jnp.arange(n, dtype=jnp.uint32))
    return once(x ^ y)


@functools.partial(jax.jit, inline=True)  # a program has dozens of them: jit traces it once for each shape
def _threefry(a: Array, b: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Return the block cipher's two words for the key (a, b) and the counter (x, y)."""
    parts = (b, a ^ b ^ jnp.uint32(0x1BD11BDA), a)  # the key's words, in the order in which they are added
    x, y = x + a, y + b
    for i in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x = x + y
            y = x ^ ((y << rotation) | (y >> (32 - rotation)))
        x, y = x + parts[i % 3], y + parts[(i + 1) % 3] + jnp.uint32(i + 1)
    return x, y


def uniform(key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
    """Return n numbers of [0, 1), multiples of 2^-23: `jax.random.uniform` in float32, from `words`."""
    return (words(key, n) >> 9).astype(jnp.result_type(float)) * 2.0**-23


def host_generator(data_seed: int) -> np.random.Generator:
    """Return NumPy's generator for draws on the host: the split of a data set over clients."""
    return np.random.default_rng([int(data_seed), int(Stream.DATA)])
