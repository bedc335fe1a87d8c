"""F3AST beside the NumPy reference, and what its weights are for."""

import jax
import numpy as np
import pytest
from reference import away as ref
from stepping import Rounds, drawn, walk

import jfed
from jfed import catalog
from jfed.core import prng
from jfed.core.types import Dims, Problem
from jfed.selectors import f3ast

K, ROUNDS = 8, 40
N = np.array([20, 3, 0, 8, 1, 0, 40, 8], np.int32)


def one_each(key):
    return prng.uniform(key, K)


def constant(n, rounds):
    return np.broadcast_to(n.astype(np.int32), (rounds, len(n)))


@pytest.mark.parametrize("form", ["published", "corrected"])
def test_cohorts_weights_and_rates_are_those_of_the_reference(form):
    options = f3ast.Options(beta=0.05, cap=1.5, form=form)
    p, cap = N / N.sum(), 1.5 if form == "corrected" else None
    with jax.enable_x64(True):
        selector = options.make(Dims(K, K))
        capped = 0
        for seed, k in ((0, 3), (1, 2), (2, 5)):
            rng = np.random.default_rng(seed)
            there, back = rng.uniform(size=(ROUNDS, K)) < 0.5, rng.uniform(size=(ROUNDS, K)) < 0.6
            there[5], there[9], there[13] = True, False, np.arange(K) == 2
            rounds = Rounds(there, num_samples=constant(N, ROUNDS), returns=back)
            states, cohort = walk(selector, options.params(Problem(K, k, ROUNDS)), rounds, seed)
            ties = drawn(one_each, seed, 1, ROUNDS)
            cohorts, weights, rates = ref.f3ast(N, there, back, ties, k, 0.05, cap)
            np.testing.assert_array_equal(cohort.selected, cohorts)
            np.testing.assert_allclose(np.where(cohorts, p * cohort.importance, 0), weights, rtol=1e-10)
            np.testing.assert_allclose(states.chosen * p, np.where(N > 0, rates, 0), rtol=1e-10)
            assert np.isfinite(cohort.importance).all()
            capped += np.isclose(cohort.importance[cohorts], 1.5 * K / k).sum()
        assert (capped > 0) == (form == "corrected")


def test_two_rounds_by_hand():
    # Three clients of shares 1/2, 1/4 and 1/4, k = 1, beta = 1/2; only client 0 is there in round 1, all in round 2.
    n, there = np.array([2, 1, 1]), np.array([[1, 0, 0], [1, 1, 1]], bool)
    found = {}
    for form in ("published", "corrected"):
        options = f3ast.Options(beta=0.5, form=form)
        rounds = Rounds(there, num_samples=constant(n, 2))
        states, cohort = walk(options.make(Dims(3, 3)), options.params(Problem(3, 1, 2)), rounds)
        assert cohort.selected[0].tolist() == [True, False, False]
        assert not cohort.selected[1][0] and cohort.selected[1].sum() == 1  # one of those of smaller rates
        found[form] = cohort.importance[0][0], cohort.importance[1][1:][cohort.selected[1][1:]][0]
        np.testing.assert_allclose(states.chosen[0] * n / 4, [3 / 4, 1 / 8, 1 / 8], rtol=1e-6)
    # r_0 = 1/2 of 1/2 and 1/2 of 1: 3/4. The other: 1/4, then 1/8, then 1/16 + 1/2 = 9/16.
    for form in found:
        np.testing.assert_allclose(found[form], [4 / 3, 16 / 9], rtol=1e-6)


def test_updates_are_unbiased_whatever_the_availability_and_who_fails():
    """Over many rounds the weights of the returned clients' updates add up to their shares times the rounds."""
    rounds, rng = 6000, np.random.default_rng(0)
    n = np.array([5, 5, 10, 10, 20, 20, 5, 25])
    there = rng.uniform(size=(rounds, K)) < np.array([0.9, 0.3, 0.9, 0.3, 0.9, 0.3, 0.5, 0.5])
    back = rng.uniform(size=(rounds, K)) < np.array([1, 1, 0.5, 0.5, 1, 0.5, 1, 0.5])
    total = {}
    for form in ("published", "corrected"):
        options = f3ast.Options(beta=0.01, form=form)
        seen = Rounds(there, num_samples=constant(n, rounds), returns=back)
        _, cohort = walk(options.make(Dims(K, K)), options.params(Problem(K, 3, rounds)), seen)
        weight = np.where(cohort.selected & back, cohort.importance, 0)[rounds // 4 :]
        total[form] = weight.mean(0)
    np.testing.assert_allclose(total["corrected"], 1, atol=0.07)
    # As published, an update is 3 times too small, and half as large again where half fail.
    np.testing.assert_allclose(total["published"], np.array([1, 1, 0.5, 0.5, 1, 0.5, 1, 0.5]) / 3, atol=0.03)


def test_with_everybody_it_is_fedavg():
    n, there = np.full(K, 7), np.ones((30, K), bool)
    importance = {}
    for form in ("published", "corrected"):
        options = f3ast.Options(beta=0.2, form=form)
        rounds = Rounds(there, num_samples=constant(n, 30))
        _, cohort = walk(options.make(Dims(K, K)), options.params(Problem(K, K, 30)), rounds)
        assert cohort.selected.all()
        importance[form] = cohort.importance
    np.testing.assert_allclose(importance["corrected"], 1, rtol=1e-6)
    # The published steps shrink towards 1 / k as the rates drift from 1 / K to 1.
    np.testing.assert_allclose(importance["published"][0], 1 / (K * (0.8 / K + 0.2)), rtol=1e-5)
    np.testing.assert_allclose(importance["published"][-1], 1 / K, rtol=0.01)


def test_who_was_away_for_long_comes_first_and_is_capped():
    there = np.ones((400, K), bool)
    there[:399, 0] = False
    options = f3ast.Options(beta=0.02, cap=3.0, form="corrected")
    rounds = Rounds(there, num_samples=constant(np.ones(K), 400))
    _, cohort = walk(options.make(Dims(K, K)), options.params(Problem(K, 2, 400)), rounds)
    assert cohort.selected[399, 0] and not cohort.selected[:399, 0].any()
    np.testing.assert_allclose(cohort.importance[399, 0], 3.0 * K / 2)  # without the cap about 1 / 0.02


def test_modes_and_refused_numbers():
    assert catalog.scheme("f3ast", "corrected").form == "corrected" and catalog.scheme("f3ast").form == "published"
    for options, sentence in (
        (f3ast.Options(beta=1.0), r"F3AST's beta must lie in \(0, 1\), found 1"),
        (f3ast.Options(cap=0.0), "F3AST's cap must be positive and finite, found 0"),
    ):
        with pytest.raises(jfed.ConfigError, match=sentence):
            options.params(Problem(K, 3, 5))
