"""The engine's E3CS beside the NumPy reference, which was written from the paper, independently of the engine.

Exogenous draws are recomputed from `jfed.core.prng` and handed to the reference, which computes everything else itself.
In float64 the two run freely side by side; in float32 each round of the reference starts from the engine's state.
"""

import jax
import numpy as np
import pytest
from recomputed import RATES, race, success
from reference import e3cs as ref
from support import Stepper, unpack

import jfed
from jfed.selectors import e3cs

pytestmark = pytest.mark.check

NUM, ROUNDS = 12, 60
# (k, quota, eta) of the runs of one program
SETTINGS = [(4, 0.0, 0.5), (4, 0.5, 0.5), (5, "inc", 0.3), (1, 0.0, 0.05), (12, 0.3, 0.5), (3, 1.0, 0.5)]
FORMS = {
    "faithful": {"sampler": "sequential", "clip_exponent": False},
    "clipped": {"sampler": "sequential", "clip_exponent": True},
    "corrected": {"sampler": "exact", "clip_exponent": True},
}


def e3cs_stepper(form: str) -> Stepper:
    base = jfed.Config(num_clients=NUM, num_rounds=ROUNDS)
    where = [
        jfed.Point(
            jfed.replace(base, {"cohort_size": k, "selector": e3cs.Options(quota, eta, **FORMS[form])}), {"setting": i}
        )
        for i, (k, quota, eta) in enumerate(SETTINGS)
    ]
    return Stepper(where, [3])


def quotas(setting: tuple) -> np.ndarray:
    k, quota, _ = setting
    return np.array([ref.quota(quota, t, ROUNDS, k, NUM) for t in range(1, ROUNDS + 1)])


@pytest.mark.parametrize("form", ["faithful", "clipped"])
def test_e3cs_runs_freely_beside_the_reference(form):
    rates = RATES[np.arange(NUM) % 4]
    with jax.enable_x64(True):
        stepper = e3cs_stepper(form)
        log_w, p, overflow, selected, expected, returned = [], [], [], [], [], []
        for t in range(1, ROUNDS + 1):
            log_w.append(stepper.host().selector.log_w)
            record, _ = stepper.step(t)
            state = stepper.host().selector
            p.append(state.p)
            overflow.append(state.overflow)
            selected.append(unpack(record, NUM))
            expected.append(record.expected_succeeded)
            returned.append(record.num_succeeded)
        log_w.append(stepper.host().selector.log_w)
        engine = {n: np.array(v) for n, v in [("w", log_w), ("p", p), ("s", selected), ("e", expected)]}
        assert all(v.dtype == np.float64 for v in (engine["w"], engine["p"], engine["e"]))
        for i, setting in enumerate(SETTINGS):
            k, _, eta = setting
            keys = stepper.keys(i)
            x = np.array([success(keys, t, rates) for t in range(1, ROUNDS + 1)])
            arrivals = np.array([race(keys, t, NUM) for t in range(1, ROUNDS + 1)])
            fractions = quotas(setting) * NUM / k
            run = ref.run_selection(x, arrivals, k, fractions, eta, FORMS[form]["clip_exponent"])
            np.testing.assert_array_equal(engine["s"][:, i], run["selected"], err_msg=str(setting))
            np.testing.assert_allclose(engine["p"][:, i], run["p"], rtol=0, atol=1e-10)
            np.testing.assert_allclose(engine["e"][:, i], run["expected"], rtol=0, atol=1e-10)
            np.testing.assert_array_equal(np.cumsum(np.array(returned)[:, i]), run["cep"])
            if k == NUM:  # all clients are selected; one exactly at the cap may be in S or not
                continue
            relative = run["log_w"] - run["log_w"].max(axis=1, keepdims=True)
            got = engine["w"][:, i] - engine["w"][:, i].max(axis=1, keepdims=True)
            np.testing.assert_allclose(got, relative, rtol=1e-10, atol=1e-10)
            np.testing.assert_array_equal(np.array(overflow)[:, i], run["overflow"])


@pytest.mark.parametrize("form", ["faithful", "corrected"])
def test_e3cs_round_by_round_in_float32(form):
    rates = RATES[np.arange(NUM) % 4]
    stepper = e3cs_stepper(form)
    sigmas = [quotas(s) for s in SETTINGS]
    all_keys = [stepper.keys(i) for i in range(len(SETTINGS))]
    for t in range(1, ROUNDS + 1):
        before = stepper.host().selector.log_w
        record, _ = stepper.step(t)
        state, chosen = stepper.host().selector, unpack(record, NUM)
        for i, (k, _, eta) in enumerate(SETTINGS):
            sigma = sigmas[i][t - 1]
            p, overflow = ref.prob_alloc(before[i].astype(np.float64), k, sigma)
            np.testing.assert_allclose(state.p[i], p, rtol=1e-4, atol=1e-6)
            assert chosen[i].sum() == k
            x = success(all_keys[i], t, rates)
            assert record.expected_succeeded[i] == pytest.approx(p[x].sum(), rel=1e-4, abs=1e-5)
            assert record.num_succeeded[i] == (chosen[i] & x).sum()
            if form == "faithful":
                mine = ref.select_by_race(state.p[i].astype(np.float64), race(all_keys[i], t, NUM), k)
                np.testing.assert_array_equal(chosen[i], mine)
            clip = FORMS[form]["clip_exponent"]
            # An entry exactly at the cap may be in either set; p is the same. Take the engine's there.
            sure = np.abs(p - 1) > 1e-6
            np.testing.assert_array_equal(state.overflow[i][sure], overflow[sure])
            after = ref.update(before[i].astype(np.float64), p, state.overflow[i], chosen[i], x, k, sigma, eta, clip)
            relative = state.log_w[i] - state.log_w[i].max()
            np.testing.assert_allclose(relative, after - after.max(), rtol=2e-4, atol=1e-4)
