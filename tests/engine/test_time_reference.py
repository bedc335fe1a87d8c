"""Time-aware schemes in their worlds beside the NumPy references, which were written from the papers alone.

Exogenous draws are recomputed from `jfed.core.prng` and handed to the reference; in float64 the two run freely side by
side. Quotas are multiples of 1/8, which floating point adds without error, so that equal queues are equal in both.
"""

import jax
import numpy as np
import pytest
from reference import cs_ucb as ref_ucb
from reference import rbcs_f as ref_rbcs
from support import Stepper, unpack

import jfed
from jfed.core import prng
from jfed.envs import exchange, wireless
from jfed.selectors import cs_ucb, cs_ucb_q, fedcs, rbcs_f

pytestmark = pytest.mark.check

NUM, ROUNDS, N = 12, 60, 3


def walk(environment, options, num=NUM, k=N):
    """Run all rounds of several settings of one scheme; return (stepper, states, records, cohorts)."""
    base = jfed.Config(num, k, ROUNDS, environment=environment)
    where = [jfed.Point(jfed.replace(base, {"selector": x}), {"setting": i}) for i, x in enumerate(options)]
    stepper = Stepper(where, [5])
    states, records = [], []
    for t in range(1, ROUNDS + 1):
        records.append(stepper.step(t)[0])
        states.append(stepper.host().selector)
    return stepper, states, records, np.array([unpack(r, num) for r in records])


def draws(key, which, rows, num):
    """Return uniforms of the world's stream, (rows, T, K)."""
    return np.array(
        [np.asarray(prng.uniform(prng.at(key, t, which), rows * num)).reshape(rows, num) for t in range(1, ROUNDS + 1)]
    ).swapaxes(0, 1)


@pytest.mark.parametrize("reading", ["corrected", "faithful"])
def test_rbcs_f_in_its_world(reading):
    world = exchange.Options(reading=reading)
    settings = [
        rbcs_f.Options(V=v, beta=0.125, alpha=a, ridge=r)
        for v, a, r in ((5.0, 0.1, 1.0), (50.0, 0.5, 2.0), (0.5, 0.0, 1.0))
    ]
    with jax.enable_x64(True):
        stepper, states, records, selected = walk(world, [*settings, rbcs_f.Options(beta=0.0)])
        keys = stepper.keys()
        here, capacity, bandwidth = draws(keys.environment, 0, 3, NUM)
        (noise,) = draws(keys.environment, 1, 1, NUM)
        ties = np.array([prng.uniform(prng.at(keys.selector, t, 1), NUM) for t in range(1, ROUNDS + 1)])
        classes = np.arange(NUM) % 4
        truth = ref_rbcs.theta(
            np.array([1.0, 2, 3, 4])[classes], np.ones(NUM), np.array([1000.0, 100, 10, 1])[classes],
            "log2" if reading == "corrected" else "ln",
        )  # fmt: skip
        for i, options in enumerate(settings):
            run = ref_rbcs.run(
                1 / (0.5 + 1.5 * capacity), 20e6 / (2e6 + 2e6 * bandwidth), here < 0.8, 2 * noise - 1, ties, m=N,
                V=options.V, beta=options.beta, alpha=options.alpha, ridge=options.ridge, theta_star=truth,
                cold=reading == "corrected",
            )  # fmt: skip
            np.testing.assert_array_equal(selected[:, i], run["selected"])
            np.testing.assert_allclose([s.queue[i] for s in states], run["queue"], rtol=0, atol=1e-10)
            np.testing.assert_allclose([r.round_time_s[i] for r in records], run["round_time"], rtol=1e-10)
            gram = states[-1].gram[i] + options.ridge * np.eye(3)[:, :, None]
            np.testing.assert_allclose(gram.transpose(2, 0, 1), run["H"], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(states[-1].moment[i].T, run["b"], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(
                [r.watched["selector_queue_sum"][i] for r in records], run["queue"].sum(1), atol=1e-9
            )
            assert (selected[:, i].sum(1) == np.minimum(N, (here < 0.8).sum(1))).all()


ARMS, CELL = 6, wireless.Options(model_bits=5e4, distances_m=(480.0, 450.0, 300.0, 200.0, 120.0, 60.0))


def cell_draws(stepper):
    key = stepper.keys().environment
    (here,) = draws(key, 0, 1, ARMS)
    down, up, speed = draws(key, 1, 3, ARMS)
    low, high = ref_ucb.speed_range(ARMS)
    gains = [-np.log1p(-(u + 2.0**-24)) for u in (down, up)]
    distances = np.array(CELL.distances_m) / 1e3
    return here, ref_ucb.latency(distances, *gains, low + (high - low) * speed, CELL.model_bits)


@pytest.mark.parametrize(("bonus", "availability"), [("plain", 1.0), ("plain", 0.7), ("truncated", 0.7)])
def test_cs_ucb_in_its_world(bonus, availability):
    world = jfed.replace(CELL, {"availability": availability})
    with jax.enable_x64(True):
        stepper, states, records, selected = walk(world, [cs_ucb.Options(bonus=bonus)], ARMS, 2)
        here, latency = cell_draws(stepper)
        keys = [jax.random.split(prng.at(stepper.keys().selector, t, 1)) for t in range(1, ROUNDS + 1)]
        fill, ties = (np.array([prng.uniform(k[i], ARMS) for k in keys]) for i in (0, 1))
        there = None if availability == 1 else here < availability
        run = ref_ucb.run_cs_ucb(latency, 2, 5.0, fill, ties, there, bonus)
    np.testing.assert_array_equal(selected[:, 0], run["selected"])
    np.testing.assert_allclose([s.mean[0] for s in states], run["y"], rtol=1e-10)
    np.testing.assert_array_equal([s.times[0] for s in states], run["z"])
    np.testing.assert_allclose([r.round_time_s[0] for r in records], run["round_time"], rtol=1e-10)


def test_cs_ucb_q_in_its_world():
    quota = (0.5, 0.375, 0.25, 0.25, 0.125, 0.125)
    world = jfed.replace(CELL, {"availability": 0.75})
    settings = [cs_ucb_q.Options(beta=b, quota=quota) for b in (0.5, 0.125, 0.0)]
    with jax.enable_x64(True):
        stepper, states, records, selected = walk(world, settings, ARMS, 2)
        here, latency = cell_draws(stepper)
        ties = np.array([prng.uniform(prng.at(stepper.keys().selector, t, 1), ARMS) for t in range(1, ROUNDS + 1)])
        for i, options in enumerate(settings):
            run = ref_ucb.run_cs_ucb_q(latency, here < 0.75, 2, np.array(quota), options.beta, 5.0, ties)
            np.testing.assert_array_equal(selected[:, i], run["selected"])
            np.testing.assert_allclose([s.queue[i] for s in states], run["queue"], rtol=0, atol=1e-10)
            np.testing.assert_allclose([s.seen.mean[i] for s in states], run["y"], rtol=1e-10)
            np.testing.assert_allclose([r.round_time_s[i] for r in records], run["round_time"], rtol=1e-10)


def test_the_deadline_takes_everybody_below_it():
    with jax.enable_x64(True):
        forms = [
            fedcs.Options(rule="deadline", deadline_s=d, limited=x)
            for d, x in ((3.0, False), (3.0, True), (1e-9, False))
        ]
        stepper, _, records, selected = walk(exchange.Options(), forms)
        here, capacity, bandwidth = draws(stepper.keys().environment, 0, 3, NUM)
    classes, before = np.arange(NUM) % 4, np.zeros(NUM, bool)
    truth = ref_rbcs.theta(np.arange(1.0, 5)[classes], np.ones(NUM), 10.0 ** (3 - classes))
    for t in range(ROUNDS):
        c = ref_rbcs.context(1 / (0.5 + 1.5 * capacity[t]), before, 20e6 / (2e6 + 2e6 * bandwidth[t]))
        chosen = ref_rbcs.fedcs_deadline((c * truth).sum(1), here[t] < 0.8, 3.0)
        np.testing.assert_array_equal(selected[t, 0], chosen)
        before = chosen
    assert (selected[:, 1].sum(1) <= N).all() and selected[:, 1].any()
    assert not selected[:, 2].any() and all(r.round_time_s[2] == 0 for r in records)  # no client is waited for
