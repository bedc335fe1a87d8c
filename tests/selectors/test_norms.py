"""Selection by norms of updates: beside the reference, and what it guarantees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from facts_steps import cohorts, is_unbiased, told, walk
from reference import sampling
from reference.selectors import largest
from stepping import drawn

from jfed.core import prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import norms

pytestmark = pytest.mark.check

K, ROUNDS = 8, 30
TOPK, IMPORTANCE = norms.Options(), norms.Options(form="importance")
SELECTORS = {options.form: options.make(Dims(K, K)) for options in (TOPK, IMPORTANCE)}
SIZES = np.array([20, 3, 0, 8, 1, 0, 40, 11])


def remembered(events, cohort):
    """Yield the norms known before each round; None for a client that has not returned."""
    last = [None] * K
    for t in range(ROUNDS):
        yield t, list(last)
        for i in np.flatnonzero(cohort.selected[t] & events.returns[t]):
            last[i] = float(events.norm[t, i]) if np.isfinite(events.norm[t, i]) else last[i]


@pytest.mark.parametrize(("seed", "k"), [(0, 3), (1, 5), (2, 1)])
def test_the_largest_norms_beside_the_reference(seed, k):
    events = told(seed, ROUNDS, K)
    with jax.enable_x64(True):
        _, cohort = walk(SELECTORS["topk"], TOPK.params(Problem(K, k, ROUNDS)), SIZES, events, seed)
        ties = drawn(lambda key: prng.uniform(key, K), seed, 1, ROUNDS)
    for t, last in remembered(events, cohort):
        scores = np.array([np.inf if x is None else x for x in last])
        scores[SIZES == 0] = -1
        there = events.available[t]
        np.testing.assert_array_equal(cohort.selected[t], largest(scores, there, min(k, there.sum()), ties[t]))
    assert cohort.importance is None and np.isnan(cohort.inclusion).all()


@pytest.mark.parametrize(
    ("seed", "k", "uniform", "sizes"), [(0, 3, 0.1, SIZES), (1, 5, 0.0, SIZES), (2, 2, 0.4, SIZES * 0)]
)
def test_importance_sampling_beside_the_reference(seed, k, uniform, sizes):
    events, options = told(seed, ROUNDS, K), norms.Options(form="importance", uniform=uniform)
    with jax.enable_x64(True):
        states, cohort = walk(SELECTORS["importance"], options.params(Problem(K, k, ROUNDS)), sizes, events, seed)
    words = drawn(lambda key: prng.words(key, K), seed, 1, ROUNDS)
    for t, last in remembered(events, cohort):
        np.testing.assert_allclose(states.norm[t], [-1 if x is None else x for x in last])
        own = sampling.own_images(sizes, events.available[t])
        who = [i for i in range(K) if own[i] > 0]
        if not who:
            assert not cohort.selected[t].any()
            continue
        norm = sampling.filled(last)
        q = np.zeros(K)
        q[who] = sampling.norm_importance([own[i] * norm[i] for i in who], uniform)
        row = [round(x * norms.UNIT) for x in q]
        times = np.array(sampling.draw([row] * k, sum(row), words[t]))
        np.testing.assert_array_equal(cohort.selected[t], times > 0)
        np.testing.assert_allclose(cohort.importance[t], times / np.where(q > 0, k * q, 1), rtol=1e-5)
        np.testing.assert_allclose(cohort.inclusion[t], 1 - (1 - q) ** k, atol=1e-8)


def test_updates_are_unbiased_though_norms_are_wrong():
    rng = np.random.default_rng(3)
    updates, old = rng.normal(size=(K, 4)), norms.State(jnp.asarray(rng.uniform(0, 2, K), jnp.float32).at[0].set(0.0))
    many = cohorts(SELECTORS["importance"], IMPORTANCE.params(Problem(K, 3, 1)), old, SIZES)
    assert many.selected[:, 0].any() and not many.selected[:, SIZES == 0].any()
    assert is_unbiased(many, SIZES, updates)


def test_q_in_proportion_to_norms_has_the_least_variance():
    rng = np.random.default_rng(4)
    own = np.maximum(SIZES, 1)
    p, size = own / own.sum(), rng.uniform(0.1, 3, K)
    q = np.asarray(norms.in_proportion(jnp.asarray(own * size), jnp.asarray(own), jnp.float32(0.0)))
    assert q.sum() == pytest.approx(1, abs=1e-6)
    least = ((p * size) ** 2 / q).sum()  # E||.||^2 of one draw
    assert least == pytest.approx((p * size).sum() ** 2, rel=1e-5)
    for other in rng.dirichlet(np.ones(K), 200):
        assert ((p * size) ** 2 / other).sum() >= least * (1 - 1e-6)


def test_draws_are_even_where_no_norm_is_known_or_all_draws_are_uniform():
    even = np.full(K, 5)
    for options, state in (
        (IMPORTANCE, norms.State.first(K)),
        (IMPORTANCE, norms.State(jnp.zeros(K))),
        (norms.Options(form="importance", uniform=1.0), norms.State(jnp.arange(8.0))),
    ):
        one = cohorts(SELECTORS["importance"], options.params(Problem(K, 3, 1)), state, even)
        np.testing.assert_allclose(one.inclusion, 1 - (7 / 8) ** 3, rtol=1e-5)


def test_an_unknown_norm_counts_like_the_largest():
    assert norms.State(jnp.array([2.0, -1.0, 4.0, 0.0])).relative().tolist() == [0.5, 1, 1, 0]
    assert norms.State(jnp.array([0.0, -1.0])).relative().tolist() == [0, 1]
    assert sampling.filled([2.0, None, 4.0, 0.0]) == [2, 4, 4, 0] and sampling.filled([0.0, None]) == [0, 1]


@pytest.mark.parametrize("uniform", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(uniform):
    with pytest.raises(ConfigError, match=r"uniform share of draws must lie in \[0, 1\], found"):
        norms.Options(uniform=uniform).params(Problem(K, 3, 1))
