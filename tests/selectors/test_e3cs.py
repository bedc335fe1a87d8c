"""Tests of E3CS's probabilities against the sorted reference, and of rounds computed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import e3cs as ref

from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import best_allocation, e3cs

PROBLEM = Problem(num_clients=4, cohort_size=2, num_rounds=3)


def cases(num_clients: int, count: int, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log-weights, k and quota shares, with gaps up to 1e3, ties, k = 1 and K, and quotas 0 and 1."""
    rng = np.random.default_rng(num_clients)
    spread = rng.choice([0.0, 0.1, 1.0, 10.0, 100.0, 1000.0], size=(count, 1))
    log_w = rng.uniform(-1, 0, (count, num_clients)) * spread
    log_w = np.where(rng.uniform(size=log_w.shape) < 0.2, 0.0, log_w)  # ties at the top
    log_w = (log_w - log_w.max(1, keepdims=True)).astype(dtype)
    k = rng.integers(1, num_clients + 1, count)
    share = np.where(rng.uniform(size=count) < 0.4, rng.choice([0.0, 1.0], count), rng.uniform(size=count))
    return log_w, k.astype(np.int32), share.astype(dtype)


@pytest.mark.parametrize(("bits", "tolerance"), [(64, 1e-10), (32, 1e-4)])
def test_prob_alloc_is_that_of_the_reference(bits, tolerance):
    dtype = {64: np.float64, 32: np.float32}[bits]

    @jax.jit
    @jax.vmap
    def engine(log_w, k, share, guess):
        return e3cs.prob_alloc(log_w, k, share * k / log_w.shape[0], guess, jnp.ones(log_w.shape, bool))

    with jax.enable_x64(bits == 64):
        capped = 0
        for num_clients, count in ((12, 300), (3, 60)):
            log_w, k, share = cases(num_clients, count, dtype)
            guess = np.random.default_rng(1).uniform(size=log_w.shape) < np.linspace(0, 1, count)[:, None]
            found, over, _ = (np.asarray(x) for x in engine(log_w, k, share, guess))
            assert found.dtype == dtype
            for i in range(count):
                sigma = float(share[i]) * int(k[i]) / num_clients
                p, overflow = ref.prob_alloc(log_w[i].astype(np.float64), int(k[i]), sigma)
                np.testing.assert_allclose(found[i], p, rtol=0, atol=tolerance, err_msg=str((i, k[i], share[i])))
                below = p < 1 - tolerance  # an entry exactly at the cap may be in either set, with p = 1
                np.testing.assert_array_equal(over[i][below], overflow[below])
                assert (found[i][over[i]] == 1).all()
                capped += int(over[i].any() and not over[i].all())
        assert capped > 50  # the cases do exercise the cap


def test_where_the_search_starts_changes_nothing():
    log_w, k, share = cases(12, 60, np.float32)

    @jax.jit
    @jax.vmap
    def engine(log_w, k, share, guess):
        return e3cs.prob_alloc(log_w, k, share * k / 12, guess, jnp.ones(12, bool))

    none = engine(log_w, k, share, np.zeros(log_w.shape, bool))
    rng = np.random.default_rng(2)
    for density in (0.1, 0.5, 1.0):
        found = engine(log_w, k, share, rng.uniform(size=log_w.shape) < density)
        np.testing.assert_allclose(found.p, none.p, rtol=1e-5, atol=1e-6)
        below = np.asarray(none.p) < 1 - 1e-5
        np.testing.assert_array_equal(np.asarray(found.over)[below], np.asarray(none.over)[below])


def test_probabilities_are_right_down_to_the_smallest_number():
    # p is w times a common factor, here 1 / (1 + 1/e); below 1e-38 it is 0, and the client is never drawn.
    log_w = jnp.array([0.0, -1.0, -80.0, -200.0, -1000.0])
    p, over, _ = e3cs.prob_alloc(log_w, jnp.int32(1), jnp.float32(0.0), jnp.zeros(5, bool), jnp.ones(5, bool))
    np.testing.assert_allclose(p[:3], np.exp([0.0, -1.0, -80.0]) / (1 + np.exp(-1)), rtol=1e-5)
    assert p[3:].tolist() == [0, 0] and not over.any()
    options = e3cs.Options(quota=0.0)
    params = jax.tree.map(jnp.asarray, options.params(Problem(5, 2, 3)))
    state = e3cs.State(log_w, jnp.ones(5), jnp.zeros(5, bool))
    here = view(1)._replace(available=jnp.ones(5, bool), num_samples=jnp.ones(5, jnp.int32))
    select = jax.jit(jax.vmap(lambda key: options.make(Dims(5, 2)).select(key, state, params, here)[1].selected))
    assert np.asarray(select(jax.random.split(jax.random.key(0), 200)))[:, :2].all()


def view(t: int) -> View:
    return View(
        round=jnp.int32(t),
        horizon=jnp.int32(PROBLEM.num_rounds),
        available=jnp.ones(4, bool),
        num_samples=jnp.ones(4, jnp.int32),
        context=jnp.ones((4, 1)),
        probed=jnp.full(4, jnp.nan),
        probed_accuracy=jnp.full(4, jnp.nan),
        oracle=None,
    )


def test_a_round_by_hand():
    # K = 4, k = 2, sigma = 0, so R = 2. Weights 1, 1, 1, 7: 2 x 7/10 > 1, so client 3 is capped (p = 1, S = {3})
    # and the others share 2 - 1 = 1 in equal parts: p = 1/3.
    # eta = 1, clients 0, 1 and 3 return (as if three had been selected):
    #   0, 1: exponent R eta (1/p) / K = 2 x 3 / 4 = 1.5, or 1 if clipped; 2 failed and 3 overflowed: no change.
    # log w = 1.5, 1.5, 0, log 7 = 1.946, up to a common constant.
    log7 = float(np.log(7))
    for clip, exponent in ((False, 1.5), (True, 1.0)):
        options = e3cs.Options(quota=0.0, eta=1.0, clip_exponent=clip)
        selector = options.make(Dims(4, 2))
        params = jax.tree.map(jnp.asarray, options.params(PROBLEM))
        state = e3cs.State(jnp.log(jnp.array([1.0, 1.0, 1.0, 7.0])), jnp.ones(4), jnp.zeros(4, bool))
        state, cohort = selector.select(jax.random.key(0), state, params, view(1))
        np.testing.assert_allclose(cohort.inclusion, [1 / 3, 1 / 3, 1 / 3, 1], rtol=1e-6)
        assert state.overflow.tolist() == [False, False, False, True]
        assert int(cohort.selected.sum()) == 2
        back = jnp.array([True, True, False, True])
        fed = Feedback(selected=back, succeeded=back, latency_s=jnp.zeros(4), loss=jnp.full(4, jnp.nan))
        after = selector.update(state, params, view(1), Cohort(back, cohort.inclusion), fed)
        wanted = np.array([exponent, exponent, 0, log7]) - log7
        np.testing.assert_allclose(after.log_w - after.log_w[3], wanted, rtol=1e-5, atol=1e-6)


def test_a_round_by_hand_under_a_quota():
    # K = 4, k = 2, share 1/2 of k/K: sigma = 1/4, R = 1. Weights 1, 1, 2, 4: p = 1/4 + w/8 = 3/8, 3/8, 1/2, 3/4.
    # eta = 1/2, client 2 returns: exponent R eta (1/p) / K = 1/2 x 2 / 4 = 1/4. Relative to log 4.
    options = e3cs.Options(quota=0.5, eta=0.5)
    selector = options.make(Dims(4, 2))
    params = jax.tree.map(jnp.asarray, options.params(PROBLEM))
    start = jnp.log(jnp.array([1.0, 1.0, 2.0, 4.0]))
    state, cohort = selector.select(
        jax.random.key(0), e3cs.State(start, jnp.ones(4), jnp.zeros(4, bool)), params, view(2)
    )
    np.testing.assert_allclose(cohort.inclusion, [0.375, 0.375, 0.5, 0.75], rtol=1e-6)
    fed = Feedback(
        selected=cohort.selected,
        succeeded=jnp.array([False, False, True, False]),
        latency_s=jnp.zeros(4),
        loss=jnp.full(4, jnp.nan),
    )
    after = selector.update(state, params, view(2), cohort, fed)
    expected = np.array([0, 0, np.log(2) + 0.25, np.log(4)]) - np.log(4)
    np.testing.assert_allclose(after.log_w - after.log_w[3], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rounds", [1, 3, 4, 2500])
def test_quota_schedules(rounds):
    inc = e3cs.quota_schedule("inc", rounds)
    expected = [ref.quota("inc", t, rounds, 20, 100) / 0.2 for t in range(1, rounds + 1)]
    np.testing.assert_allclose(inc, expected)
    assert e3cs.quota_schedule(0.8, rounds).tolist() == [0.8] * rounds
    given = np.linspace(0, 1, rounds)
    np.testing.assert_array_equal(e3cs.quota_schedule(tuple(given), rounds), given)


def test_an_exponent_beyond_all_measure_stays_finite():
    options = e3cs.Options(quota=0.0)
    selector = options.make(Dims(4, 2))
    params = jax.tree.map(jnp.asarray, options.params(PROBLEM))
    state = e3cs.State(jnp.zeros(4), jnp.array([0.0, 0.6, 0.6, 0.6]), jnp.zeros(4, bool))
    back = jnp.array([True, False, False, False])
    after = selector.update(
        state,
        params,
        view(1),
        Cohort(back, jnp.ones(4)),
        Feedback(selected=back, succeeded=back, latency_s=jnp.zeros(4), loss=jnp.zeros(4)),
    )
    assert np.isfinite(after.log_w).all()


@pytest.mark.parametrize("gap", [1e3, 1e4, 1e5, 1e7, 1e30])
def test_probabilities_sum_to_k_however_far_one_client_is_ahead(gap):
    # A client with p = 1e-6 that is drawn and returns gains R eta / (K p): 1e5 at the paper's setting.
    log_w = np.full(100, -gap, np.float32)
    log_w[0] = 0
    p, over, _ = e3cs.prob_alloc(
        jnp.asarray(log_w), jnp.int32(20), jnp.float32(0.0), jnp.zeros(100, bool), jnp.ones(100, bool)
    )
    assert over.tolist() == [True] + [False] * 99
    assert float(p.sum()) == pytest.approx(20, rel=1e-3)


def test_the_best_allocation_is_that_of_the_reference():
    rng = np.random.default_rng(0)

    @jax.jit
    @jax.vmap
    def engine(rates, tie_break, k, sigma):
        return best_allocation.allocation(rates, tie_break, k, sigma, jnp.ones(rates.shape, bool))

    rates = rng.choice([0.1, 0.3, 0.6, 0.9], (100, 12)).astype(np.float32)
    k = rng.integers(1, 13, 100).astype(np.int32)
    sigma = (rng.choice([0, 0.3, 0.5, 1], 100) * k / 12).astype(np.float32)
    by_index = np.broadcast_to(np.arange(12, dtype=np.float32), (100, 12))
    got = np.asarray(engine(rates, by_index, k, sigma))
    for i in range(100):
        wanted = ref.optimal_allocation(rates[i].astype(np.float64), int(k[i]), min(float(sigma[i]), int(k[i]) / 12))
        np.testing.assert_allclose(got[i], wanted, atol=2e-5)
