"""The operations that selectors share: exact counts, exact orders, and the laws of the draws."""

import functools

import chex
import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import e3cs as ref
from scipy import stats

from jfed.core import ops, prng

Z = 4.5  # standard errors; the seeds are fixed, so a test that passes keeps passing
N = 9


def order(values, tie_break):
    """Return the positions from the smallest value, -0.0 before 0.0, then by tie_break and index."""
    return sorted(range(len(values)), key=lambda i: (values[i], not np.signbit(values[i]), tie_break[i], i))


def floats(width):
    special = st.sampled_from([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 5e-324 if width == 64 else 1e-45])
    return st.one_of(special, st.floats(width=width, allow_nan=False))


@functools.cache
def smallest_jit(tied: bool):
    def smallest(v, m, among, ties):
        return ops.smallest(v, m, among, ties if tied else None)

    return jax.jit(chex.assert_max_traces(smallest, n=4))  # tied or not, two precisions; m is a value


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("width", [32, 64])
@hypothesis.given(data=st.data())
def test_smallest_is_a_sort(width, tied, data):
    values = data.draw(st.lists(floats(width), min_size=N, max_size=N))
    among = data.draw(st.lists(st.booleans(), min_size=N, max_size=N))
    ties = data.draw(st.lists(st.integers(-2, 2), min_size=N, max_size=N))
    m = data.draw(st.integers(0, N))
    dtype = {32: np.float32, 64: np.float64}[width]
    with jax.enable_x64(width == 64):
        got = smallest_jit(tied)(np.array(values, dtype), np.int32(m), np.array(among), np.array(ties, dtype))
    ranked = [i for i in order(values, ties if tied else [0] * N) if among[i]]
    assert sorted(np.flatnonzero(got)) == sorted(ranked[:m])


MANY = 150  # more than are ranked by all pairs


@functools.cache
def search_jit(near: tuple, tied: bool):
    return jax.jit(lambda v, m, among, ties: ops.smallest(v, m, among, ties if tied else None, near))


@pytest.mark.parametrize("near", [(), (0.0,), (1.0, 1.3, 2.0, 4.0)])
@pytest.mark.parametrize("width", [32, 64])
@hypothesis.given(data=st.data())
def test_the_search_among_many_is_a_sort(width, near, data):
    """Values are few and tie, or lie at all scales, so that they are as unevenly dense as can be."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    dtype = {32: np.float32, 64: np.float64}[width]
    few = data.draw(st.lists(floats(width), min_size=1, max_size=6))
    scale = data.draw(st.sampled_from([0.0, 1e-30, 1.0, 1e30]))
    values = np.where(
        rng.random(MANY) < 0.5, rng.choice(np.array(few, dtype), MANY), scale * rng.exponential(size=MANY)
    )
    values, ties = values.astype(dtype), rng.integers(-2, 2, MANY).astype(dtype)
    among = rng.random(MANY) < data.draw(st.sampled_from([0.0, 0.1, 0.9, 1.0]))
    m, tied = data.draw(st.integers(0, MANY)), data.draw(st.booleans())
    with jax.enable_x64(width == 64):
        got = search_jit(near, tied)(values, np.int32(m), among, ties)
    ranked = [i for i in order(values, ties if tied else [0] * MANY) if among[i]]
    assert sorted(np.flatnonzero(got)) == sorted(ranked[:m])


def test_smallest_by_hand():
    inf = jnp.inf
    values = jnp.array([2.0, inf, -0.0, 2.0, 0.0, -inf])
    assert np.flatnonzero(ops.smallest(values, jnp.int32(0))).tolist() == []
    assert np.flatnonzero(ops.smallest(values, jnp.int32(2))).tolist() == [2, 5]
    assert np.flatnonzero(ops.smallest(values, jnp.int32(4))).tolist() == [0, 2, 4, 5]  # 2.0 ties: the lowest index
    later = jnp.array([1.0, 0, 0, 0, 0, 0])
    assert np.flatnonzero(ops.smallest(values, jnp.int32(4), tie_break=later)).tolist() == [2, 3, 4, 5]
    assert bool(ops.smallest(values, jnp.int32(6)).all())
    two = jnp.array([1, 1, 0, 0, 0, 0], bool)
    assert np.flatnonzero(ops.smallest(values, jnp.int32(5), among=two)).tolist() == [0, 1]
    assert np.flatnonzero(ops.smallest(values, jnp.int32(1), among=two)).tolist() == [0]


@pytest.mark.parametrize("n", [1, 2, 65, 1000])
def test_smallest_counts_exactly_where_everything_ties(n):
    equal = jax.jit(lambda m: ops.smallest(jnp.zeros(n), m))
    for m in {0, 1, n // 2, n}:
        got = equal(jnp.int32(m))
        assert np.flatnonzero(got).tolist() == list(range(m))


# --------------------------------------------------------------------------------------------------- draws


def keys(seed, count):
    return jax.random.split(jax.random.key(seed), count)


def assert_frequencies(hits, draws, p):
    """Check that each observed count is within `Z` standard errors, and exact where the event is certain."""
    hits, p = np.asarray(hits, float), np.asarray(p, float)
    assert (hits[p == 0] == 0).all()
    assert (hits[p == 1] == draws).all()
    some = (p > 0) & (p < 1)
    z = (hits - draws * p)[some] / np.sqrt(draws * p * (1 - p))[some]
    assert np.abs(z).max(initial=0) < Z, z


@pytest.mark.parametrize("bits", [32, 64])
def test_the_race_has_the_successive_law(bits):
    p, draws = np.array([0.5, 0.0, 0.3, 1.4, 0.05, 0.75]), 100_000
    with jax.enable_x64(bits == 64):
        run = jax.jit(lambda keys, m: jax.vmap(lambda k: ops.race(k, jnp.log(p), m))(keys))
        for m in (1, 3, 5):
            got = np.asarray(run(keys(m, draws), jnp.int32(m)))
            assert (got.sum(1) == m).all()
            assert_frequencies(got.sum(0), draws, ref.successive_inclusion(p / p.sum(), m))


def test_the_race_respects_its_field_and_probability_zero():
    log_p = jnp.log(jnp.array([0.0, 1.0, 0.0, 1e-9, 1.0, 5.0]))
    run = jax.jit(lambda keys, m, among: jax.vmap(lambda k: ops.race(k, log_p, m, among))(keys))
    everybody = jnp.ones(6, bool)
    got = np.asarray(run(keys(0, 2000), jnp.int32(4), everybody))
    assert got[:, [0, 2]].sum() == 0 and (got.sum(1) == 4).all()  # the four with p > 0, never those with p = 0
    got = np.asarray(run(keys(1, 2000), jnp.int32(2), everybody.at[5].set(False)))
    assert got[:, 5].sum() == 0 and got[:, 3].sum() == 0 and (got.sum(1) == 2).all()


@pytest.mark.parametrize("bits", [32, 64])
def test_log_exponential_has_the_right_moments(bits):
    n = 1 << 20
    with jax.enable_x64(bits == 64):
        x = np.asarray(jax.jit(lambda key: ops.log_exponential(key, n))(jax.random.key(2)), np.float64)
        assert ops.log_exponential(jax.random.key(2), 3).dtype == {32: np.float32, 64: np.float64}[bits]
    assert np.isfinite(x).all()
    # -log Exp(1) is Gumbel: mean 0.57722, variance pi^2 / 6; the fourth central moment is 14.6.
    variance = np.pi**2 / 6
    assert abs(x.mean() + np.euler_gamma) < Z * np.sqrt(variance / n)
    assert abs(x.var() - variance) < Z * np.sqrt((14.6 - variance**2) / n)
    assert stats.kstest(np.exp(x[:100_000]), "expon").pvalue > 1e-4
    # Small values, which decide races of tiny probabilities, are as frequent as they should be.
    few = (x < np.log(1e-4)).sum()
    assert abs(few - n * 1e-4) < Z * np.sqrt(n * 1e-4)


@pytest.mark.parametrize("bits", [32, 64])
def test_log_exponential_at_the_ends_of_its_words(bits, monkeypatch):
    words = jnp.array([0, 1, 2**31, 2**32 - 2, 2**32 - 1], jnp.uint32)
    monkeypatch.setattr(prng, "words", lambda key, n: words)
    with jax.enable_x64(bits == 64):
        x = np.asarray(ops.log_exponential(jax.random.key(0), 5), np.float64)
    assert np.isfinite(x).all() and (np.diff(x) >= 0).all()
    np.testing.assert_allclose(np.exp(x[:3]), [2.0**-33, 3 * 2.0**-33, np.log(2)], rtol=1e-5)


@jax.jit
def many_exact(keys, p, m):
    return jax.vmap(lambda key: ops.exact_inclusion(key, p, m))(keys)


def draw_exact(p, m, seed, draws):
    return np.asarray(many_exact(keys(seed, draws), jnp.asarray(p), jnp.int32(m))).astype(int)


PROBABILITIES = {
    "even": [0.5] * 8,
    "mixed": [1.0, 0.0, 0.9, 0.6, 0.3, 0.1, 0.1, 1.0],
    "capped but for one": [1.0, 1.0, 1.0, 0.5, 0.25, 0.125, 0.125, 0.0],
    "thirds": [1 / 3] * 6 + [1.0, 1.0],
    "tiny": [1e-3, 1e-4, 0.0, 0.9989, 1.0, 1.0, 0.5, 0.5],
    "everybody": [1.0] * 8,
    "nobody": [0.0] * 8,
}


@pytest.mark.parametrize("bits", [32, 64])
def test_exact_inclusion_has_its_probabilities(bits):
    draws = 20_000
    with jax.enable_x64(bits == 64):
        for seed, (name, p) in enumerate(PROBABILITIES.items()):
            m = round(sum(p))
            got = draw_exact(p, m, seed, draws)
            assert (got.sum(1) == m).all(), name
            assert_frequencies(got.sum(0), draws, p)


@pytest.mark.check
def test_exact_inclusion_of_a_thousand():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=1000) ** 3
    p = np.where(p > 0.9, 1.0, np.where(p < 1e-3, 0.0, p))
    m = int(p.sum())
    free = (p > 0) & (p < 1)
    p[free] *= (m - (p == 1).sum()) / p[free].sum()
    draws = 4000
    got = draw_exact(p, m, 7, draws)
    assert (got.sum(1) == m).all()
    assert_frequencies(got.sum(0), draws, p)
    # Counts of pairs: in a random order no pair of even chances is shut out.
    a, b = np.flatnonzero((p > 0.3) & (p < 0.6))[:2]
    both = int((got[:, a] & got[:, b]).sum())
    assert 0.5 < both / (draws * p[a] * p[b]) < 1.5


@hypothesis.given(st.lists(st.floats(-30, 0), min_size=N, max_size=N), st.integers(1, N), st.integers(0, 10**6))
def test_exact_inclusion_counts_exactly_whatever_e3cs_asks_for(log_w, m, seed):
    p, _ = ref.prob_alloc(np.array(log_w), m, 0.0)
    got = exact_jit()(jax.random.key(seed), np.asarray(p, np.float32), np.int32(m))
    assert int(got.sum()) == m
    assert not (np.asarray(got) & (p == 0)).any()
    assert np.asarray(got)[p == 1].all()


@functools.cache
def exact_jit():
    return jax.jit(ops.exact_inclusion)


def test_exact_inclusion_survives_sums_that_rounding_has_moved():
    p = np.full(9, 4 / 9, np.float32)
    for drift in (-1e-5, 1e-5):
        got = exact_jit()(jax.random.key(0), p * np.float32(1 + drift), np.int32(4))
        assert int(got.sum()) == 4


# ------------------------------------------------------------------------------------- slots and shuffles


def test_first_slots():
    mask = jnp.array([0, 1, 0, 1, 1, 0], bool)
    assert ops.first_slots(mask, 4).tolist() == [1, 3, 4, 6]
    assert ops.first_slots(mask, 2).tolist() == [1, 3]
    assert ops.first_slots(jnp.zeros(6, bool), 2).tolist() == [6, 6]
    assert ops.first_slots(mask, 4).dtype == jnp.int32


def test_shuffled_permutes_what_is_real_and_leaves_the_padding_behind():
    values, count = jnp.array([10, 20, 30, 0, 0]), jnp.int32(3)
    run = jax.jit(lambda keys, count: jax.vmap(lambda k: ops.shuffled(k, values, count))(keys))
    got = np.asarray(run(keys(3, 6000), count))
    assert (np.sort(got[:, :3], axis=1) == [10, 20, 30]).all()
    assert (got[:, 3:] == 0).all()
    _, orders = np.unique(got[:, :3], axis=0, return_counts=True)
    assert len(orders) == 6
    assert stats.chisquare(orders).pvalue > 1e-4
    nothing = np.asarray(run(keys(4, 3), jnp.int32(0)))
    assert (nothing == np.asarray(values)).all()
    everything = np.asarray(run(keys(5, 100), jnp.int32(5)))
    assert (np.sort(everything, axis=1) == [0, 0, 10, 20, 30]).all()
