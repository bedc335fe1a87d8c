"""Composed worlds, stepped beside plain NumPy on the same uniform draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import composed as reference
from walking import key_of, walk

from jfed.core import prng
from jfed.envs import composed
from jfed.envs.composed import Coins, Deadline, Drift, First, Joules, Jump, LogNormal, Markov, Shocks, Tempo

K, T = 7, 14
SIZES = np.array([5, 0, 7, 20, 3, 3, 9])


@jax.jit
def draws(seed):
    """Return the uniforms of each round, by place: change, availability, success, times; and of the first states."""
    key = key_of(seed)

    def of_round(t):
        seen, given = prng.at(key, t, 0), prng.at(key, t, 1)
        places = ((seen, 0, K), (seen, 1, 2 * K), (given, 0, 2 * K), (given, 0, K), (given, 1, K))
        return [prng.uniform(prng.at(own, i), n) for own, i, n in places]

    first = prng.uniform(prng.at(key, 0, 0, 1), K)
    return first, jax.vmap(of_round)(jnp.arange(1, T + 1))


def cohorts(seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(T, K)) < 0.6, rng.integers(0, 9, (T, K))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_partial_work_of_shocked_drifting_clients(seed):
    pi, memory, rates, shock, sigma, deadline_s = np.array([0.3, 0.7, 0.5]), 0.6, np.array([0.2, 0.75]), 0.2, 0.4, 1.6
    step_s, exchange_s, drift = np.array([0.1, 0.3]), np.array([0.4]), 0.15
    world = composed.Options(
        Markov(tuple(pi), (memory,)), Shocks(tuple(rates), shock, 3), Drift(drift), "success",
        Tempo(tuple(step_s), tuple(exchange_s), sigma), Deadline(deadline_s, True), Joules((0.5,), (1e-3,), 100.0),
    )  # fmt: skip
    selected, steps = cohorts(seed)
    start, (_, seen, outcome) = walk(world, selected, steps, SIZES, seed)
    first, (moves, here, lucky, _, times) = jax.device_get(draws(seed))
    good, walked, before = [first[i] < pi[i % 3] for i in range(K)], np.zeros(K), np.ones(K)
    assert start.availability.good.tolist() == good
    for t in range(T):
        for i in range(K):
            good[i] = reference.markov(good[i], pi[i % 3], memory, here[t][i])
            assert seen.available[t, i] == good[i], (t, i)
            if t > 0:
                walked[i] += drift * reference.stats.norm.ppf(moves[t][i] + 2.0**-24)
            rate = min(1 - shock, reference.mirrored(rates[i % 2] + walked[i]))
            came = reference.shocked(rate, shock, lucky[t][i], lucky[t][K + reference.region(i, K, 3)])
            mean, way = step_s[i % 2], exchange_s[0]
            factor = reference.factor(times[t][i], sigma)
            want = reference.client_round(came, factor * mean, factor * way, steps[t, i], deadline_s, True)
            assert (outcome.succeeded[t, i], outcome.steps[t, i]) == want[:2], (t, i)
            assert outcome.latency_s[t, i] == pytest.approx(want[2], rel=1e-4)
            np.testing.assert_allclose(outcome.costs.step[t, :, i], [factor * mean, 0.5], rtol=1e-4)
            np.testing.assert_allclose(outcome.costs.exchange[t, :, i], [factor * way, 0.2], rtol=1e-4)
            least = reference.in_time(way + min(before[i], 1) * mean, sigma, deadline_s)
            assert seen.oracle.success_rate[t, i] == pytest.approx(rate * least, abs=1e-4)
        before = steps[t]
    assert outcome.used is None and (outcome.steps <= steps).all() and (outcome.steps < steps).any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_of_jumping_clients(seed):
    rates, sigma, deadline_s, memory = np.array([0.35, 0.9, 0.6]), 0.3, 5.0, np.array([0.5, -0.2])
    world = composed.Options(
        Coins(tuple(rates)), Markov((0.5, 0.8), tuple(memory), 0.9, 0.2), Jump((0.5,)), "both",
        LogNormal(0.3, 0.5, correlation=0.7, jitter=sigma), First(1.5, deadline_s),
    )  # fmt: skip
    selected, steps = cohorts(seed + 10)
    start, (_, seen, outcome) = walk(world, selected, steps, SIZES, seed, k=4)
    first = jax.device_get(jax.jit(lambda: prng.uniform(prng.at(key_of(jnp.uint32(seed)), 0, 0, 2), K))())
    _, (_, here, lucky, _, times) = jax.device_get(draws(seed))
    pi, few = np.array([0.5, 0.8]), 0
    good = [first[i] < pi[i % 2] for i in range(K)]
    for t in range(T):
        turned, back, late = t + 1 >= T // 2 + 1, np.zeros(K, bool), np.zeros(K)
        for i in range(K):
            other = reference.role(i, K, 3, 2 - i % 3) if turned else i
            assert seen.available[t, i] == (here[t][i] < rates[other % 3]), (t, i)
            share = pi[(reference.role(i, K, 2, 1 - i % 2) if turned else i) % 2]
            chance = np.clip(reference.markov_chance(good[i], share, memory[i % 2]), 0, 1)
            good[i] = lucky[t][i] < chance
            came = lucky[t][K + i] < (0.9 if good[i] else 0.2)
            factor = reference.factor(times[t][i], sigma)
            mine = factor * start.pace.step_s[i], factor * start.pace.exchange_s[i]
            back[i], _, late[i] = reference.client_round(came, *mine, steps[t, i], deadline_s)
            before = 1 if t == 0 else steps[t - 1, i]
            mean, known = start.pace.exchange_s[i] + before * start.pace.step_s[i], chance * 0.9 + (1 - chance) * 0.2
            rate = known * reference.in_time(mean, sigma, deadline_s)
            assert seen.oracle.success_rate[t, i] == pytest.approx(rate, abs=1e-4)
            want = reference.expected_latency(mean, sigma, deadline_s, known)
            assert seen.oracle.latency_s[t, i] == pytest.approx(want, rel=2e-3)
        np.testing.assert_array_equal(outcome.succeeded[t], back)
        cohort = selected[t] & seen.available[t]
        used, waited = reference.first_back(cohort, back, late, 3)  # of 4 asked at 1.5 each
        np.testing.assert_array_equal(outcome.used[t], used)
        np.testing.assert_allclose(outcome.latency_s[t], waited, rtol=1e-4)
        few += (cohort & back).sum() < 3
    assert 0 < few < T and outcome.steps is None and (outcome.idle_s == deadline_s).all()
