"""Exp3.S, Rexp3 and the forms of E3CS for change against the NumPy references, and their limits."""

import math

import jax
import numpy as np
import pytest
from reference import bandits as ref
from test_bandits import CASES, ROUNDS, K, events, stepped

from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import e3cs, e3cs_restart, e3cs_share, exp3s, rexp3

QUOTA = tuple(np.tile([0.0, 0.3, 1.0, 0.8], ROUNDS // 4))
FORMS = {
    "exp3s": exp3s.Options(gamma=0.3, alpha=0.02),
    "rexp3": rexp3.Options(batch=13, gamma=0.3),
    "restart": e3cs_restart.Options(quota=QUOTA, eta=0.7, restart=13, sampler="exact"),
    "share": e3cs_share.Options(quota=QUOTA, eta=0.7, share=0.05, sampler="exact", clip_exponent=True),
}


def reference(form, there, back, selected, overflow, k):
    if form in ("exp3s", "rexp3"):
        more = {"alpha": 0.02} if form == "exp3s" else {"batch": 13}
        p, w = ref.exp3_changing(there, back, selected, k, 0.3, **more)
        return p, np.log(w)
    more, clip = ({"restart": 13}, False) if form == "restart" else ({"share": 0.05}, True)
    return ref.e3cs_changing(there, back, selected, overflow, k, np.array(QUOTA), 0.7, clip, **more)


def centred(log_w):
    return log_w - log_w.max(-1, keepdims=True)


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_and_weights_are_those_of_the_reference(form):
    options = FORMS[form]
    selector = options.make(Dims(K, K))
    with jax.enable_x64(True):
        for seed, k in CASES:
            there, back = events(seed)
            states, cohort = stepped(selector, options, seed, k, there, back)
            np.testing.assert_array_equal(cohort.selected.sum(1), np.minimum(k, there.sum(1)))
            p, log_w = reference(form, there, back, cohort.selected, states.overflow, k)
            np.testing.assert_allclose(cohort.inclusion, p, rtol=1e-8, atol=1e-10)
            kept = np.ones(ROUNDS - 1, bool)
            if form in ("rexp3", "restart"):  # the engine restarts before its choice
                kept = np.arange(1, ROUNDS) % 13 != 0
                assert not centred(states.log_w[13]).any() and centred(states.log_w[12]).any()
            np.testing.assert_allclose(centred(states.log_w[1:])[kept], centred(log_w[:-1])[kept], rtol=1e-8, atol=1e-9)


def cohorts(options, everybody=False):
    there, back = events(4)
    with jax.enable_x64(True):
        return stepped(options.make(Dims(K, K)), options, 4, 3, there | everybody, back)[1]


@pytest.mark.check
def test_limits_are_other_schemes():
    plain = {"quota": QUOTA, "eta": 0.7, "sampler": "exact"}
    base = cohorts(e3cs.Options(**plain))
    never, nothing = e3cs_restart.Options(restart=ROUNDS, **plain), e3cs_share.Options(share=0.0, **plain)
    for options in (never, nothing):
        found = cohorts(options)
        np.testing.assert_array_equal(found.selected, base.selected)
        np.testing.assert_allclose(found.inclusion, base.inclusion, rtol=1e-9)
    always, all_of_it = e3cs_restart.Options(restart=1, **plain), e3cs_share.Options(share=1.0, **plain)
    one, other = cohorts(always), cohorts(all_of_it)
    np.testing.assert_array_equal(one.selected, other.selected)
    there = events(4)[0]
    even = np.where(there, np.minimum(3, there.sum(1, keepdims=True)) / np.maximum(there.sum(1, keepdims=True), 1), 0)
    np.testing.assert_allclose(one.inclusion, even, rtol=1e-5)
    assert (base.selected != one.selected).any()


@pytest.mark.check
def test_exp3_m_is_e3cs_with_a_quota_for_exploration():
    """Rexp3 with one batch and Exp3.S without a share are Exp3.M: E3CS of quota gamma, eta = gamma / (1 - gamma)."""
    base = cohorts(e3cs.Options(quota=0.3, eta=0.3 / 0.7, sampler="exact"), everybody=True)
    for options in (exp3s.Options(gamma=0.3, alpha=0.0), rexp3.Options(batch=ROUNDS, gamma=0.3)):
        found = cohorts(options, everybody=True)
        np.testing.assert_allclose(found.inclusion, base.inclusion, rtol=1e-9)
        np.testing.assert_array_equal(found.selected, base.selected)


def test_default_tunings_by_hand():
    # One play: the papers' numbers. K = 10, T = 1000, one change: alpha = 1/1000 and
    # gamma = sqrt(10 (2 ln 10^4 + e) / ((e - 1) 1000)) = 0.3507; V = 2: L = (10 ln 10)^(1/3) 500^(2/3) = 179.2.
    problem = Problem(10, 1, 1000)
    params = exp3s.Options().params(problem)
    assert params.alpha == 0.001 and params.gamma == pytest.approx(0.350748, rel=1e-5)
    again = rexp3.Options(variation=2.0).params(problem)
    assert again.batch == math.ceil((10 * math.log(10)) ** (1 / 3) * 500 ** (2 / 3)) == 180
    assert again.gamma == pytest.approx(math.sqrt(10 * math.log(10) / ((math.e - 1) * 180)))
    # Twenty plays of 100 clients count as one of 5.
    many, one = rexp3.Options().params(Problem(100, 20, 2500)), rexp3.Options().params(Problem(5, 1, 2500))
    assert many.batch == one.batch and many.gamma == pytest.approx(float(one.gamma))
    # If all are selected there is nothing to learn, and if T is short one batch is the whole run.
    assert rexp3.Options().params(Problem(6, 6, 50)).gamma == 1
    assert rexp3.Options(variation=1e-9).params(Problem(6, 2, 50)).batch == 50
    assert exp3s.Options(changes=9).params(Problem(100, 1, 20)).gamma == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (exp3s.Options(gamma=0.0), "gamma must lie in"),
        (exp3s.Options(alpha=1.5), "alpha must lie in"),
        (exp3s.Options(changes=-1), "changes must not be negative"),
        (rexp3.Options(variation=0.0), "variation must be positive"),
        (rexp3.Options(batch=0), "must have at least one round"),
        (rexp3.Options(gamma=1.5), "gamma must lie in"),
        (e3cs_restart.Options(restart=0), "restart after at least one round"),
        (e3cs_share.Options(share=-0.1), "share of the total weight must"),
        (e3cs_share.Options(eta=0.0), "learning rate eta must be positive"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        options.params(Problem(K, 3, ROUNDS))
