"""The streams of randomness are distinct and keep their numbers: a renumbered stream would change every result."""

import jax
import jax.numpy as jnp
import numpy as np

from jfed.core import prng

SEEDS = prng.seeds(7, data=8, model=9, environment=10)


def keys_of(seeds):
    return prng.keys(jax.tree.map(jnp.asarray, seeds))


def words(key):
    return tuple(np.asarray(jax.random.key_data(key)).tolist())


def test_the_roots_of_one_seed_differ():
    """They also differ from the keys that a round, a client or an epoch derives from another root."""
    keys = keys_of(prng.seeds(3))
    roots = {name: words(key) for name, key in keys._asdict().items()}
    assert set(roots) == {"model", "environment", "training", "selector"}
    assert len(set(roots.values())) == 4
    near = [words(prng.at(key, *path)) for key in keys for path in [(t,) for t in range(6)] + [(1, 0), (1, 1), (1, 2)]]
    assert len({*roots.values(), *near}) == 4 + len(near)


def test_the_streams_are_these():
    assert {stream.name: int(stream) for stream in prng.Stream} == {
        "DATA": 0, "MODEL": 1, "ENVIRONMENT": 2, "TRAINING": 3, "SELECTOR": 4,
    }  # fmt: skip
    keys = keys_of(SEEDS)
    assert {name: words(key) for name, key in keys._asdict().items()} == {
        "model": (143080583, 4281670255),
        "environment": (3912842007, 1231749211),
        "training": (276534068, 1641862660),
        "selector": (51277378, 3088387524),
    }
    assert prng.host_generator(8).integers(0, 2**32, 2).tolist() == [3090441204, 1404335234]
    assert np.asarray(prng.words(prng.at(keys.training, 5, 2), 3)).tolist() == [3479839582, 3144407198, 3816579808]


def test_each_stream_follows_its_own_seed():
    apart = keys_of(SEEDS)
    for name, seed in (("model", 9), ("environment", 10), ("training", 7), ("selector", 7)):
        assert words(getattr(apart, name)) == words(getattr(keys_of(prng.seeds(seed)), name))


def test_a_key_is_a_place_and_not_a_history():
    key = keys_of(SEEDS).selector
    assert words(prng.at(key, 4, 1)) == words(prng.at(prng.at(key, 4), 1)) != words(prng.at(key, 1, 4))
    traced = jax.jit(lambda t: prng.at(key, t, 1))(jnp.int32(4))
    assert words(traced) == words(prng.at(key, 4, 1))
