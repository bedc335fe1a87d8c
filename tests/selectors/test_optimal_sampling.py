"""Optimal client sampling: beside the reference, optimality of its probabilities, and unbiased updates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from facts_steps import cohorts, is_unbiased, told, walk
from reference import sampling
from scipy.optimize import minimize
from stepping import drawn
from test_norms import remembered

from jfed.core import prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import optimal_sampling
from jfed.selectors.norms import State

pytestmark = pytest.mark.check

K, ROUNDS = 8, 30
FORMS = ("exact", "approximate")
SELECTORS = {form: optimal_sampling.Options(form=form).make(Dims(K, K)) for form in FORMS}
SIZES = np.array([20, 3, 0, 8, 1, 0, 40, 11])
EXACT, APPROXIMATE = jax.jit(optimal_sampling.exact), jax.jit(optimal_sampling.approximate)


def exact(u, m):
    u = jnp.asarray(u, jnp.result_type(float))
    return np.asarray(EXACT(u, jnp.ones(u.shape, bool), jnp.int32(m)))


def approximate(u, m, iterations):
    u = jnp.asarray(u, jnp.result_type(float))
    return np.asarray(APPROXIMATE(u, jnp.ones(u.shape, bool), jnp.int32(m), jnp.int32(iterations)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("seed", "k", "uniform", "none"), [(0, 3, 0.1, False), (1, 5, 0.0, False), (2, 2, 0.3, True)])
def test_a_run_beside_the_reference(form, seed, k, uniform, none):
    sizes = SIZES * (not none)
    events, options = told(seed, ROUNDS, K), optimal_sampling.Options(form=form, uniform=uniform)
    with jax.enable_x64(True):
        _, cohort = walk(SELECTORS[form], options.params(Problem(K, k, ROUNDS)), sizes, events, seed)
        coins = drawn(lambda key: prng.uniform(key, K), seed, 1, ROUNDS)
    for t, last in remembered(events, cohort):
        own = sampling.own_images(sizes, events.available[t])
        who = [i for i in range(K) if own[i] > 0]
        p, norm = np.zeros(K), sampling.filled(last)
        if who:
            m, u = min(k, len(who)), [own[i] * norm[i] for i in who]
            best = sampling.optimal(u, m) if form == "exact" else sampling.approximate(u, m, 4)
            p[who] = sampling.with_floor(best, m, uniform)
        np.testing.assert_allclose(cohort.inclusion[t], p, atol=1e-12)
        np.testing.assert_array_equal(cohort.selected[t], coins[t] < cohort.inclusion[t])
        expected = cohort.selected[t] / np.where(cohort.selected[t], p, 1)
        np.testing.assert_allclose(cohort.importance[t], expected, rtol=1e-9)


def test_probabilities_by_hand():
    # m = 2 of 3: l = 2, since 2 x 8 > 10; (2 + 2 - 3) / (1 + 1) = 1/2.
    np.testing.assert_allclose(exact([1.0, 8.0, 1.0], 2), [0.5, 1, 0.5])
    np.testing.assert_allclose(exact([2.0, 3.0, 5.0], 1), [0.2, 0.3, 0.5], rtol=1e-6)
    np.testing.assert_allclose(exact([0.0, 3.0, 0.0], 2), [0.5, 1, 0.5])  # what is left goes to the others
    np.testing.assert_allclose(exact([0.0, 0.0, 0.0, 0.0], 3), 0.75)
    np.testing.assert_allclose(exact([1.0, 0.0, 9.0], 3), 1)
    # m u / sum u = .2, 1 (1.6 cut), .2; the factor is (2 - 3 + 2) / .4.
    np.testing.assert_allclose(approximate([1.0, 8.0, 1.0], 2, 0), [0.2, 1, 0.2])
    np.testing.assert_allclose(approximate([1.0, 8.0, 1.0], 2, 1), [0.5, 1, 0.5])


def test_no_other_probabilities_of_the_same_sum_have_less_variance():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for m in (1, 2, 4, 6):
            u = rng.lognormal(0, 1.5, 7)
            p = exact(u, m)
            assert p.sum() == pytest.approx(m) and (p > 0).all() and (p <= 1).all()
            least = (u**2 / p).sum()
            found = minimize(
                lambda x, u=u: (u**2 / x).sum() / (u**2).sum(), np.full(7, m / 7), method="SLSQP",
                bounds=[(1e-4, 1)] * 7, constraints={"type": "eq", "fun": lambda x, m=m: x.sum() - m},
                options={"ftol": 1e-12, "maxiter": 500},
            )  # fmt: skip
            assert found.success and found.fun * (u**2).sum() == pytest.approx(least, rel=1e-4)
            np.testing.assert_allclose(found.x, p, atol=5e-3)


def test_the_approximation_reaches_the_optimum_from_below():
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        for m in (1, 3, 5):
            u = rng.lognormal(0, 2, K)
            sums = [approximate(u, m, j).sum() for j in range(9)]
            assert (np.diff(sums) >= -1e-12).all() and sums[-1] <= m + 1e-9
            np.testing.assert_allclose(approximate(u, m, K), exact(u, m), rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_updates_are_unbiased_though_norms_are_wrong(form):
    rng = np.random.default_rng(2)
    updates, old = rng.normal(size=(K, 4)), State(jnp.asarray(rng.uniform(0, 2, K), jnp.float32).at[0].set(0.0))
    options = optimal_sampling.Options(form=form)
    many = cohorts(SELECTORS[form], options.params(Problem(K, 3, 1)), old, SIZES)
    assert many.selected[:, 0].any() and not many.selected[:, SIZES == 0].any()
    assert is_unbiased(many, SIZES, updates)
    if form == "exact":
        assert many.selected.sum(1).mean() == pytest.approx(3, abs=0.1)


def test_equal_norms_and_sizes_are_a_fair_coin_and_large_cohorts_are_everybody():
    for k, p in ((3, 3 / 8), (K, 1.0)):
        params = optimal_sampling.Options().params(Problem(K, k, 1))
        one = cohorts(SELECTORS["exact"], params, State.first(K), [4] * K)
        np.testing.assert_allclose(one.inclusion, p, rtol=1e-6)
    assert one.selected.all()


def test_a_cohort_may_hold_everybody():
    problem = Problem(K, 3, 1)
    assert optimal_sampling.Options().slots(problem) == K and optimal_sampling.Options().first_cohort(problem) == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (optimal_sampling.Options(uniform=1.5), r"uniform share of m must lie in \[0, 1\], found 1.5"),
        (optimal_sampling.Options(iterations=-1), "number of iterations must not be negative, found -1"),
    ],
)
def test_impossible_settings_are_refused(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        options.params(Problem(K, 3, 1))
