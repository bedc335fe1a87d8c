"""Schemes in a cell where a third of the clients are away and many others fail, beside the NumPy references.

In the published world of E3CS all clients are available, and in that of RBCS-F all return. Here the world's draws are
recomputed from `jfed.core.prng`; in float64 the engine and the references run freely side by side.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import cs_ucb as ref_ucb
from reference import e3cs as ref_e3cs
from reference import rbcs_f as ref_rbcs
from support import Stepper, unpack

import jfed
from jfed.core import ops, prng
from jfed.envs import wireless
from jfed.selectors import cs_ucb, cs_ucb_q, e3cs, rbcs_f

pytestmark = pytest.mark.check

K, ROUNDS, HERE, TAU_MAX = 6, 40, 0.65, 0.45
CELL = wireless.Options(
    model_bits=5e4, distances_m=(480.0, 450.0, 300.0, 200.0, 120.0, 60.0), availability=HERE, tau_max_s=TAU_MAX
)
BASE = jfed.Config(K, 3, ROUNDS, environment=CELL)


class Walk:
    """All rounds of several settings of one scheme on one seed, and the draws of the cell's clients.

    Attributes:
        states: states of the selector after each round; the first is from before round 1.
        records: records of the rounds.
        selected: cohorts, (T, runs, K).
        there: available clients, (T, K).
        back: clients that would return, (T, K).
        latency_s: how long the server would wait for each client, (T, K).
        drawn: the draws of `draw` in each round.
    """

    def __init__(self, settings, draw):
        where = [jfed.Point(jfed.replace(BASE, delta), {"setting": i}) for i, delta in enumerate(settings)]
        stepper = Stepper(where, [5])
        self.states, self.records = [stepper.host().selector], []
        for t in range(1, ROUNDS + 1):
            self.records.append(stepper.step(t)[0])
            self.states.append(stepper.host().selector)
        self.selected = np.array([unpack(r, K) for r in self.records])
        keys = stepper.keys()

        def one(t):
            world = [prng.at(keys.environment, t, which) for which in (0, 1)]
            return prng.uniform(world[0], K), prng.uniform(world[1], 3 * K), draw(prng.at(keys.selector, t, 1))

        here, drawn, self.drawn = jax.tree.map(
            np.asarray, jax.jit(lambda rounds: jax.lax.map(one, rounds))(jnp.arange(1, ROUNDS + 1))
        )
        down, up, speed = drawn.reshape(ROUNDS, 3, K).swapaxes(0, 1)
        low, high = ref_ucb.speed_range(K)
        self.there = here < HERE
        self.latency_s = ref_ucb.latency(
            np.array(CELL.distances_m) / 1e3, *(-np.log1p(-(u + 2.0**-24)) for u in (down, up)),
            low + (high - low) * speed, CELL.model_bits, tau_max=TAU_MAX,
        )  # fmt: skip
        self.back = self.latency_s < TAU_MAX
        for i, _ in enumerate(settings):
            chosen = self.selected[:, i]
            assert (chosen & ~self.back).sum() > 5 and not (chosen & ~self.there).any()  # failures do happen
            np.testing.assert_array_equal([r.num_succeeded[i] for r in self.records], (chosen & self.back).sum(1))
            waited = [self.latency_s[t][chosen[t]].max(initial=0.0) or TAU_MAX for t in range(ROUNDS)]
            np.testing.assert_allclose([r.round_time_s[i] for r in self.records], waited, rtol=1e-10)


def one_each(key):
    return prng.uniform(key, K)


def test_e3cs_learns_among_those_who_are_there():
    cases = [(2, 0.0, 2.0), (2, 0.5, 0.5), (4, 0.3, 2.0), (3, 1.0, 0.5), (1, "inc", 0.5)]
    settings = [{"cohort_size": k, "selector": e3cs.Options(quota=quota, eta=eta)} for k, quota, eta in cases]
    with jax.enable_x64(True):
        walk = Walk(settings, lambda key: ops.log_exponential(key, K))
    race, most = np.exp(walk.drawn), 0
    for i, (k, quota, eta) in enumerate(cases):
        log_w = np.zeros(K)
        for t in range(ROUNDS):
            here, state = walk.there[t], jax.tree.map(lambda x, i=i: x[i], walk.states[t + 1])
            fraction = ref_e3cs.quota(quota, t + 1, ROUNDS, 1, 1)
            p, overflow, many, sigma = ref_e3cs.allocate(log_w, k, fraction, here)
            np.testing.assert_allclose(state.p[here], p[here], rtol=0, atol=1e-10)
            mine = np.zeros(K, bool)
            mine[here] = ref_e3cs.select_by_race(p[here], race[t, here], many)
            np.testing.assert_array_equal(walk.selected[t, i], mine)
            assert walk.records[t].expected_succeeded[i] == pytest.approx(p[walk.back[t]].sum(), abs=1e-9)
            at_the_cap = np.abs(p - 1) < 1e-9  # a client exactly there may be in S or not, with the same p
            np.testing.assert_array_equal(state.overflow[~at_the_cap], overflow[~at_the_cap])
            log_w = ref_e3cs.update(log_w, p, state.overflow, mine, walk.back[t], k, sigma, eta, available=here)
            relative = state.log_w - state.log_w.max()
            np.testing.assert_allclose(relative, log_w - log_w.max(), rtol=1e-9, atol=1e-9)
            most = max(most, np.ptp(log_w))
    assert most > 1  # weights do differ


def test_rbcs_f_keeps_its_promise_to_who_fails_and_learns_how_long_it_waited():
    cases = [
        rbcs_f.Options(V=v, beta=0.125, alpha=a, ridge=r)
        for v, a, r in ((5.0, 0.1, 1.0), (50.0, 0.5, 2.0), (0.5, 0.0, 1.0))
    ]
    with jax.enable_x64(True):
        walk = Walk([{"selector": options} for options in cases], one_each)
    for i, options in enumerate(cases):
        run = ref_rbcs.run_on_times(
            np.ones((ROUNDS, K, 1)), walk.latency_s, walk.there, walk.drawn, m=3, V=options.V, beta=options.beta,
            alpha=options.alpha, ridge=options.ridge,
        )  # fmt: skip
        np.testing.assert_array_equal(walk.selected[:, i], run["selected"])
        np.testing.assert_allclose([s.queue[i] for s in walk.states[1:]], run["queue"], rtol=0, atol=1e-10)
        last = walk.states[-1]
        np.testing.assert_allclose(last.gram[i].transpose(2, 0, 1) + options.ridge, run["H"], rtol=1e-10)
        np.testing.assert_allclose(last.moment[i].T, run["b"], rtol=1e-10)


def test_cs_ucb_counts_who_fails_as_seen_with_reward_zero():
    """That also holds for a limit below the cell's: a longer time is no worse than the limit."""
    cases = [(3, TAU_MAX), (4, TAU_MAX), (5, TAU_MAX / 3)]
    settings = [{"cohort_size": k, "selector": cs_ucb.Options(tau_max_s=limit)} for k, limit in cases]
    with jax.enable_x64(True):
        walk = Walk(settings, lambda key: jax.vmap(one_each)(jax.random.split(key)))
    fill, ties = walk.drawn.swapaxes(0, 1)
    for i, (k, limit) in enumerate(cases):
        run = ref_ucb.run_cs_ucb(walk.latency_s, k, limit, fill, ties, walk.there)
        np.testing.assert_array_equal(walk.selected[:, i], run["selected"])
        np.testing.assert_allclose([s.mean[i] for s in walk.states[1:]], run["y"], rtol=1e-10, atol=1e-14)
        np.testing.assert_array_equal([s.times[i] for s in walk.states[1:]], run["z"])


def test_cs_ucb_q_pays_its_debt_to_who_fails():
    cases = [(0.5, TAU_MAX), (0.125, TAU_MAX), (0.5, TAU_MAX / 3)]
    settings = [{"selector": cs_ucb_q.Options(beta=beta, tau_max_s=limit)} for beta, limit in cases]
    with jax.enable_x64(True):
        walk = Walk(settings, one_each)
    for i, (beta, limit) in enumerate(cases):  # each is promised a quarter: exact in floating point
        run = ref_ucb.run_cs_ucb_q(walk.latency_s, walk.there, 3, np.full(K, 0.25), beta, limit, walk.drawn)
        np.testing.assert_array_equal(walk.selected[:, i], run["selected"])
        np.testing.assert_allclose([s.queue[i] for s in walk.states[1:]], run["queue"], rtol=0, atol=1e-10)
        np.testing.assert_allclose([s.seen.mean[i] for s in walk.states[1:]], run["y"], rtol=1e-10, atol=1e-14)
