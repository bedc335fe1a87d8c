"""Tests of the schemes that know the true expected times: the best super arm, and RBCS-F without estimates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import cs_ucb as ref_ucb
from reference import rbcs_f as ref_rbcs
from stepping import Rounds, key_of, on_device, walk

from jfed import catalog
from jfed.core import prng
from jfed.core.types import Dims, Feedback, Plan, Problem, View
from jfed.envs import exchange
from jfed.selectors import rbcs_f

K, ROUNDS, TAU_MAX = 9, 40, 5.0
BEST = catalog.scheme("cs-ucb-best").make(Dims(K, K))


def best_super_arms(k, latency, available, seed=0):
    """Return the selected clients of each round; the feedback of `walk` holds made-up times."""
    params = catalog.scheme("cs-ucb-best").params(Problem(K, k, len(latency)))
    return walk(BEST, params, Rounds(available, success_rate=np.ones_like(latency), latency_s=latency), seed)[
        1
    ].selected


@pytest.mark.parametrize("k", [1, 4, K])
def test_the_best_super_arm_has_the_largest_smallest_mean(k):
    rng = np.random.default_rng(k)
    latency = np.tile(rng.permuted(np.linspace(0.05, 4.9, K, dtype=np.float32)), (ROUNDS, 1))
    available = rng.uniform(size=(ROUNDS, K)) < 0.7
    available[: ROUNDS // 2], available[-1] = True, False
    selected = best_super_arms(k, latency, available)
    mu = 1 - latency[0].astype(float) / TAU_MAX
    optimum = ref_ucb.optimal_super_arm(mu, k)
    assert (selected[: ROUNDS // 2] == optimum).all()
    for t in range(ROUNDS):
        there = np.flatnonzero(available[t]).tolist()
        arms = ref_ucb.super_arms(frozenset(there), k)
        smallest = [min((mu[i] for i in arm), default=0.0) for arm in arms]
        assert min(mu[selected[t]], default=0.0) == max(smallest) and selected[t].sum() == min(k, len(there))
        expected = np.zeros(K, bool)
        expected[there] = ref_ucb.optimal_super_arm(mu[there], k)
        np.testing.assert_array_equal(selected[t], expected)


def test_the_best_super_arm_breaks_ties_at_random():
    latency = np.tile([1.0, 1, 1, 0.5, 2, 2, 2, 2, 2], (ROUNDS, 1))
    selected = best_super_arms(2, latency, np.ones((ROUNDS, K), bool))
    assert selected[:, 3].all() and selected[:, :3].any(0).all() and not selected[:, 4:].any()
    assert BEST.needs_oracle


SETTINGS = [(0.0, 3), (0.5, 3), (5.0, 3), (50.0, 3), (2.0, 1), (2.0, 5), (1.0, K)]  # V, k
BETA = 0.125  # sums of eighths are exact, so that equal queues are equal in both
OPTIONS = rbcs_f.Options(beta=BETA, estimate="truth")
TRUE = OPTIONS.make(Dims(K, K))


def true_params(weight, k):
    """Return parameters with beta = BETA, which `params` would refuse where k / K is below it."""
    made = rbcs_f.Options(V=weight, beta=0.0, estimate="truth").params(Problem(K, k, ROUNDS))
    return made._replace(beta=np.asarray(BETA))


@pytest.mark.parametrize(("weight", "k"), SETTINGS)
def test_rbcs_f_at_true_times_solves_its_problem_in_every_round(weight, k):
    """The choice solves P3 at tau-star, by Algorithm 1 and by all subsets, with the queues of Eq. (6)."""
    rng = np.random.default_rng(int(10 * weight) + k)
    time = rng.uniform(0.5, 9, (ROUNDS, K))
    for t in range(0, ROUNDS, 3):
        time[t] = rng.choice(time[t, :4], K)  # ties
    available = rng.uniform(size=(ROUNDS, K)) < 0.8
    available[7], available[11] = False, True
    with jax.enable_x64(True):
        rounds = Rounds(available, success_rate=np.ones_like(time), latency_s=time)
        states, cohort = walk(TRUE, true_params(weight, k), rounds)
        ties = np.array([prng.uniform(key_of(0, t), K) for t in range(1, ROUNDS + 1)])
    queue = np.zeros(K)
    for t in range(ROUNDS):
        np.testing.assert_array_equal(states.queue[t], queue)
        chosen = cohort.selected[t]
        if weight > 0:  # at weight 0 several sets solve the problem
            expected = ref_rbcs.choose_algorithm_1(time[t], queue, available[t], k, weight, ties[t])
            np.testing.assert_array_equal(chosen, expected)
        found = ref_rbcs.objective(chosen, time[t], queue, weight)
        assert chosen.sum() == min(k, available[t].sum())
        assert chosen.sum() == 0 or found == ref_rbcs.brute_force(time[t], queue, available[t], k, weight)
        queue = ref_rbcs.queue_step(queue, chosen, BETA)
    assert queue.any() or k == K


@pytest.mark.check
def test_rbcs_f_at_true_times_in_a_world_where_a_choice_changes_the_next_times():
    """With cold starts a choice changes the next round's times, so one wrong choice would cause others."""
    readings = [exchange.Options(reading=x) for x in ("corrected", "faithful")]
    problem, weight, k, dims = Problem(K, 3, ROUNDS), 2.0, 3, Dims(K, K, features=exchange.FEATURES)
    world, chooser = readings[0].make(dims), OPTIONS.make(dims)
    with jax.enable_x64(True):
        params = on_device(true_params(weight, k))
        nothing, everybody = jnp.full(K, jnp.nan), jnp.ones(K, bool)

        @jax.jit
        def rounds(about):
            def one(states, t):
                place, mine = states
                before = View(
                    round=t,
                    horizon=jnp.int32(ROUNDS),
                    available=everybody,
                    num_samples=jnp.ones(K, jnp.int32),
                    context=jnp.ones((K, 3)),
                    probed=nothing,
                    probed_accuracy=nothing,
                    oracle=None,
                )
                place, seen = world.observe(key_of(1, t), place, about, before)
                mine, cohort = chooser.select(key_of(0, t), mine, params, seen)
                place, outcome = world.respond(key_of(2, t), place, about, seen, cohort, Plan(jnp.ones(K, jnp.int32)))
                came = cohort.selected & outcome.succeeded
                fed = Feedback(
                    selected=cohort.selected,
                    succeeded=came,
                    latency_s=jnp.where(cohort.selected, outcome.latency_s, 0.0),
                    loss=nothing,
                )
                mine = chooser.update(mine, params, seen, cohort, fed)
                return (place, mine), (seen.context, seen.available, cohort.selected, mine.queue)

            start = world.init(key_of(1, 0), about, jnp.ones(K, jnp.int32)), chooser.init(key_of(0, 0), params)
            return jax.lax.scan(one, start, jnp.arange(1, ROUNDS + 1, dtype=jnp.int32))[1]

        ran = [jax.tree.map(np.asarray, rounds(on_device(x.params(problem)))) for x in readings]
        ties = np.array([prng.uniform(key_of(0, t), K) for t in range(1, ROUNDS + 1)])
    kind = np.arange(K) % 4
    for options, rows in zip(readings, ran, strict=True):
        cold = options.reading == "corrected"
        theta = ref_rbcs.theta(np.arange(1.0, 5)[kind], np.ones(K), 10.0 ** (3 - kind), "log2" if cold else "ln")
        queue, before = np.zeros(K), np.zeros(K, bool)
        for t, (drawn, there, selected, queues) in enumerate(zip(*rows, strict=True)):
            context = ref_rbcs.context(drawn[:, 0], before, drawn[:, 2], cold)
            expected_s = np.array([context[n] @ theta[n] for n in range(K)])
            chosen = ref_rbcs.choose_algorithm_1(expected_s, queue, there, k, weight, ties[t])
            np.testing.assert_array_equal(selected, chosen)
            queue, before = ref_rbcs.queue_step(queue, chosen, BETA), chosen
            np.testing.assert_array_equal(queues, queue)
        assert len({tuple(row) for row in rows[2].tolist()}) > 10
