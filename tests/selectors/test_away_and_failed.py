"""Schemes against the NumPy references in rounds where some clients are not available, fail or have no data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import cs_ucb as ref_ucb
from reference import e3cs as ref_e3cs
from reference import eiffel as ref_eiffel
from reference import selectors as ref_selectors
from stepping import Rounds, drawn, on_device, view, walk

from jfed.core import ops, prng
from jfed.core.types import Cohort, Dims, Feedback, Problem
from jfed.selectors import best_allocation, cs_ucb, cs_ucb_q, e3cs, eiffel, pow_d

pytestmark = pytest.mark.check

K, ROUNDS = 8, 40
QUOTAS = tuple(np.tile([0.0, 0.3, 1.0, 0.8], ROUNDS // 4))


def away_and_failed(seed):
    """Return the masks of available and of returning clients; one round each has all, no and one available client."""
    rng = np.random.default_rng(seed)
    there, back = rng.uniform(size=(ROUNDS, K)) < 0.6, rng.uniform(size=(ROUNDS, K)) < 0.6
    there[5], there[9], there[13] = True, False, np.arange(K) == 3
    return there, back


def one_each(key):
    """Return a random number for each client."""
    return prng.uniform(key, K)


def race_and_ties(key):
    draw, tie = jax.random.split(key)
    return ops.log_exponential(draw, K), one_each(tie)


def fill_and_ties(key):
    return jax.vmap(one_each)(jax.random.split(key))


FORMS = {
    "faithful": {"sampler": "sequential", "clip_exponent": False},
    "corrected": {"sampler": "exact", "clip_exponent": True},
}


@pytest.mark.parametrize("form", FORMS)
def test_e3cs_promises_and_learns_among_those_who_are_there(form):
    options = e3cs.Options(quota=QUOTAS, **FORMS[form])
    selector = options.make(Dims(K, K))
    for seed, k in ((0, 3), (1, 2), (2, 5)):
        there, back = away_and_failed(seed)
        states, cohort = walk(selector, options.params(Problem(K, k, ROUNDS)), Rounds(there, returns=back), seed)
        for t in range(ROUNDS):
            here, many = there[t].sum(), min(k, there[t].sum())
            p = cohort.inclusion[t]
            least = QUOTAS[t] * many / max(here, 1)
            assert cohort.selected[t].sum() == many and not p[~there[t]].any()
            assert p.sum() == pytest.approx(many, abs=1e-4) and (p[there[t]] >= least - 1e-5).all()
            if QUOTAS[t] == 1:
                np.testing.assert_allclose(p[there[t]], least, rtol=1e-5)
            log_w = states.log_w[t].astype(float)
            expected, _, _, sigma = ref_e3cs.allocate(log_w, k, QUOTAS[t], there[t])
            np.testing.assert_allclose(p, expected, rtol=1e-4, atol=1e-6)
            if t + 1 < ROUNDS:
                after = ref_e3cs.update(
                    log_w, expected, states.overflow[t], cohort.selected[t], back[t], k, sigma, options.eta,
                    options.clip_exponent, there[t],
                )  # fmt: skip
                got = states.log_w[t + 1]
                np.testing.assert_allclose(got - got.max(), after - after.max(), rtol=2e-4, atol=1e-4)


def test_an_update_of_e3cs_by_hand_where_half_are_away():
    # K = 6, k = 2; clients 0, 1 and 2 are available: sigma = 1/2 x 2/3 = 1/3 and R = 2 - 3 x 1/3 = 1. The available
    # clients have weights 1, 1 and 2, the others 4: p = 7/12, 7/12, 5/6. eta = 1/2; client 0 returns. Its exponent is
    # R eta / (K p) = 1/2 x 12/7 / 6 = 1/7 with K = 6; with the three available clients as K it would be 2/7.
    options = e3cs.Options(quota=0.5, eta=0.5)
    selector = options.make(Dims(6, 2))
    params = on_device(options.params(Problem(6, 2, 1)))
    log_w = jnp.log(jnp.array([1.0, 1.0, 2.0, 4.0, 4.0, 4.0]) / 4)
    back = jnp.arange(6) == 0
    fed = Feedback(selected=back, succeeded=back, latency_s=jnp.zeros(6), loss=jnp.full(6, jnp.nan))

    @jax.jit
    def one_round(log_w):
        seen = view(jnp.int32(1), 1, Rounds(jnp.arange(6) < 3))
        start = selector.init(jax.random.key(0), params)._replace(log_w=log_w)
        state, cohort = selector.select(jax.random.key(0), start, params, seen)
        cohort = Cohort(selected=back, inclusion=cohort.inclusion)
        return cohort.inclusion, selector.update(state, params, seen, cohort, fed).log_w

    inclusion, after = one_round(log_w)
    np.testing.assert_allclose(inclusion, [7 / 12, 7 / 12, 5 / 6, 0, 0, 0], rtol=1e-6)
    gained = after - log_w  # up to a common constant
    np.testing.assert_allclose(gained - gained[1], [1 / 7, 0, 0, 0, 0, 0], atol=1e-6)


def test_the_best_allocation_of_those_who_are_there():
    options = best_allocation.Options(quota=QUOTAS)
    selector = options.make(Dims(K, K))
    for seed, k in ((0, 3), (1, 2), (2, 5)):
        there, _ = away_and_failed(seed)
        rates = np.random.default_rng(seed).choice([0.1, 0.3, 0.6, 0.9], (ROUNDS, K))
        params = options.params(Problem(K, k, ROUNDS))
        states, cohort = walk(selector, params, Rounds(there, success_rate=rates, latency_s=rates), seed)
        for t in range(ROUNDS):
            here, many = there[t].sum(), min(k, there[t].sum())
            least = QUOTAS[t] * many / max(here, 1)
            assert cohort.selected[t].sum() == many
            assert cohort.inclusion[t].sum() == pytest.approx(many, abs=1e-4)
            expected = ref_e3cs.optimal_allocation(rates[t], k, least, there[t], states.tie_break[t])
            np.testing.assert_allclose(cohort.inclusion[t], expected, atol=2e-5)


EIFFELS = [
    eiffel.Options(weights=(2.0, 0.5, 1.0, 0.25)),
    eiffel.Options(scaling="raw", weights=(0.1, 0.001, 2.0, 0.5)),
    eiffel.Options(loss="high", pools="work_conserving", kappa=0.7, budget=4.3),
]


@pytest.mark.parametrize("options", EIFFELS, ids=str)
def test_eiffel_remembers_who_was_selected_and_hears_only_who_returned(options):
    selector = options.make(Dims(K, K, features=("power", "demand")))
    k = 4
    for seed in range(2):
        there, back = away_and_failed(seed)
        back[:, 6] = False  # never returns
        rng = np.random.default_rng(seed)
        loss, d = rng.uniform(0.01, 2, (ROUNDS, K)), rng.integers(5, 300, K)
        d[2], loss[:, 2] = 0, np.nan  # no data, so no loss
        c, r = rng.choice([1.0, 1.5, 2.0], K), rng.uniform(0.5, 1.5, K)
        c, r = c / c.mean(), r / r.mean()
        with jax.enable_x64(True):
            same = [np.broadcast_to(x, (ROUNDS, *x.shape)) for x in (np.stack([c, r], -1), d.astype(np.int32))]
            rounds = Rounds(there, context=same[0], num_samples=same[1], returns=back, loss=loss)
            states, cohort = walk(selector, options.params(Problem(K, k, ROUNDS)), rounds, seed)
            ties = drawn(one_each, seed, 2, ROUNDS)  # row t decides the choice after it
        expected = ref_eiffel.run(
            loss, d.astype(float), c, r, options.budget or k, options.kappa, ties, index_weights=options.weights,
            normalise=options.scaling == "min_max", high_loss=options.loss == "high",
            work_conserving=options.pools == "work_conserving", available=there, returns=back,
        )  # fmt: skip
        np.testing.assert_array_equal(cohort.selected, expected["selected"])
        np.testing.assert_allclose(cohort.importance, expected["alpha"], rtol=1e-12)
        np.testing.assert_array_equal(states.age[1:], expected["age"][:-1])
        np.testing.assert_array_equal(states.previous[1:], expected["selected"][:-1])
        known = np.where(np.isnan(expected["loss"]), -np.inf, expected["loss"])
        np.testing.assert_allclose(states.last_loss[1:], known[:-1], rtol=1e-12)
        assert (cohort.selected & ~back)[:, [0, 1, 3, 4, 5, 7]].any()


def test_rpow_d_draws_among_those_who_are_there_and_remembers_who_returned():
    options = pow_d.Options(d=5, form="rpow-d")
    selector, n = options.make(Dims(K, K)), np.array([20, 3, 0, 8, 1, 0, 40, 11], np.int32)
    for seed, k in ((0, 3), (1, 5)):
        there, back = away_and_failed(seed)
        loss = np.random.default_rng(seed).uniform(0, 2, (ROUNDS, K)).astype(np.float32)
        loss[:, n == 0] = np.nan
        rounds = Rounds(there, num_samples=np.broadcast_to(n, (ROUNDS, K)), returns=back, loss=loss)
        states, cohort = walk(selector, options.params(Problem(K, k, ROUNDS)), rounds, seed)
        race, ties = drawn(race_and_ties, seed, 1, ROUNDS)
        last = np.full(K, np.inf)
        for t in range(ROUNDS):
            np.testing.assert_array_equal(states.last_loss[t], last)
            candidates = ref_selectors.pow_d_candidates(n, np.exp(race[t].astype(float)), 5, there[t])
            expected = ref_selectors.rpow_d(last, candidates, min(k, candidates.sum()), ties[t])
            np.testing.assert_array_equal(cohort.selected[t], expected)
            told = expected & back[t] & (n > 0)
            last[told] = loss[t][told]
        assert np.isfinite(last[n > 0]).all()


@pytest.mark.parametrize("bonus", ["plain", "truncated"])
def test_cs_ucb_where_k_does_not_divide_the_clients_and_times_pass_the_limit(bonus):
    """With 8 clients in groups of 3, 5 and 7 the last group of the first rounds is filled up at random."""
    options = cs_ucb.Options(tau_max_s=2.0, bonus=bonus)
    selector = options.make(Dims(K, K))
    with jax.enable_x64(True):
        for seed, k, some_away in ((0, 3, False), (1, 5, False), (2, 7, False), (3, 3, True)):
            there, back = away_and_failed(seed)
            there |= not some_away
            waited = np.random.default_rng(seed).uniform(0.1, 4, (ROUNDS, K))  # half of them above tau_max
            rounds = Rounds(there, returns=back, waited_s=waited)
            states, cohort = walk(selector, options.params(Problem(K, k, ROUNDS)), rounds, seed)
            fill, ties = drawn(fill_and_ties, seed, 1, ROUNDS).swapaxes(0, 1)
            run = ref_ucb.run_cs_ucb(waited, k, 2.0, fill, ties, there, bonus)
            np.testing.assert_array_equal(cohort.selected, run["selected"])
            np.testing.assert_allclose(states.mean[1:], run["y"][:-1], rtol=1e-10)
            np.testing.assert_array_equal(states.times[1:], run["z"][:-1])
            assert states.mean.min() >= 0


def test_a_client_is_promised_half_of_its_share_unless_said_otherwise():
    params = cs_ucb_q.Options().params(Problem(num_clients=6, cohort_size=3, num_rounds=10))
    np.testing.assert_allclose(params.quota, np.full(6, 3 / (2 * 6)), rtol=1e-6)
