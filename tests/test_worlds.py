"""The worlds' laws: expected values are averages of the draws, and magnitudes are those published."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import rbcs_f as reference

import jfed
from jfed.core import ops
from jfed.core.types import Cohort, Dims, Plan, Problem, View
from jfed.envs import exchange, wireless
from jfed.measures.quotas import rates_so_far
from jfed.selectors import rbcs_f

K = 4
PROBLEM = Problem(K, 2, 10)


def view(context):
    nothing = jnp.full(K, jnp.nan)
    ones = jnp.ones(K, jnp.int32)
    return View(
        round=jnp.int32(1),
        horizon=jnp.int32(10),
        available=jnp.ones(K, bool),
        num_samples=ones,
        context=context,
        probed=nothing,
        probed_accuracy=nothing,
        oracle=None,
    )


def many_rounds(module, options, draws):
    """Return the latencies and views of many rounds, before which no client had taken part."""
    features = len(options.features)
    world = options.make(Dims(K, K, features=options.features))
    params = jax.tree.map(jnp.asarray, options.params(PROBLEM))
    nobody = Cohort(jnp.zeros(K, bool), jnp.zeros(K))

    @jax.jit
    def walk(keys):
        state = world.init(jax.random.key(7), params, jnp.ones(K, jnp.int32))

        def one(key):
            seen, given = jax.random.split(key)
            _, after = world.observe(seen, state, params, view(jnp.ones((K, features))))
            return world.respond(given, state, params, after, nobody, Plan(jnp.ones(K, jnp.int32)))[1], after

        return jax.vmap(one)(keys)

    return jax.device_get(walk(jax.random.split(jax.random.key(0), draws)))


@pytest.mark.check
@pytest.mark.parametrize("bits", [5e3, 5e4])
def test_a_cell_takes_as_long_as_expected(bits):
    options = wireless.Options(model_bits=bits, distances_m=(500.0, 400.0, 250.0, 60.0), availability=0.9)
    outcome, seen = many_rounds(wireless, options, 40_000)
    error = outcome.latency_s.std(0) / np.sqrt(40_000)
    np.testing.assert_array_less(np.abs(outcome.latency_s.mean(0) - seen.oracle.latency_s[0]), 4.5 * error + 1e-3)
    failed = 1 - outcome.succeeded.mean(0)
    np.testing.assert_allclose(failed, 1 - seen.oracle.success_rate[0], atol=2e-3)
    assert (outcome.latency_s <= 5).all() and ((outcome.latency_s == 5) == ~outcome.succeeded).all()
    np.testing.assert_allclose(seen.available.mean(0), 0.9, atol=0.01)


def test_an_exchange_takes_as_long_as_expected():
    outcome, seen = many_rounds(exchange, exchange.Options(), 40_000)
    ratio = outcome.latency_s / seen.oracle.latency_s  # uniform in (0, 2)
    np.testing.assert_allclose(ratio.mean(0), 1, atol=4.5 / np.sqrt(3 * 40_000))
    assert ratio.min() > -1e-6 and ratio.max() < 2 + 1e-6
    assert seen.context[..., 0].min() >= 0.5 and seen.context[..., 0].max() <= 2
    assert (seen.context[..., 1] == 1).all()  # all clients are cold in round 1
    assert seen.context[..., 2].min() >= 5 and seen.context[..., 2].max() <= 10


@pytest.mark.check
@pytest.mark.parametrize(("reading", "size", "time"), [("corrected", 8.78, 3.96), ("faithful", 8.58, 4.55)])
def test_the_deadline_of_three_seconds_takes_about_eight(reading, size, time):
    """The paper says that FedCS(3) "approximates to 8"; the expected numbers come from a separate simulation."""
    config = jfed.Config(40, 8, 1000, environment=exchange.Options(reading=reading))
    layout = jfed.Layout(block_size=4)
    results = jfed.run(jfed.methods(config, ["fedcs-3"]), range(4), layout=layout, progress=False)
    assert abs(results["num_selected"].mean() - size) < 0.12
    assert abs(results["round_time_s"].mean() - time) < 0.06


CASES = st.integers(1, 10).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 3.5]), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 4.0]), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.integers(1, 10),
        st.sampled_from([0.0, 0.5, 5.0, 50.0]),
    )
)
PAD = 10  # the most clients whose subsets can all be tried
chosen = jax.jit(rbcs_f.choose)


def assert_best(time, queue, here, m, weight):
    """Check that the engine's choice is as good as the best of all subsets, and of the right size."""
    n = len(time)
    padded = [np.pad(np.asarray(x, float), (0, PAD - n)).astype(np.float32) for x in (time, queue)]
    available = np.pad(np.asarray(here, bool), (0, PAD - n))
    ties = np.linspace(0, 1, PAD, dtype=np.float32)
    mask = np.asarray(chosen(*padded, available, jnp.int32(m), jnp.float32(weight), ties))
    assert not (mask & ~available).any() and mask.sum() == min(m, available.sum())
    found = reference.objective(mask[:n], np.array(time), np.array(queue), weight)
    assert found == pytest.approx(reference.brute_force(np.array(time), np.array(queue), np.array(here), m, weight))


@settings(max_examples=300, deadline=None)
@given(CASES)
def test_the_choice_is_the_best_of_all_subsets(case):
    assert_best(*case)


@pytest.mark.parametrize("n", [9, 10])
def test_the_choice_among_many_is_the_best_of_all_subsets(n):
    """Most clients are available and some promises are old, so that even the slowest may be worth waiting for."""
    rng = np.random.default_rng(n)
    for _ in range(60):
        time, queue, here = rng.uniform(0, 5, n), rng.exponential(1.5, n), rng.uniform(size=n) < 0.95
        assert_best(time, queue, here, int(rng.integers(1, 6)), float(rng.choice([0.1, 0.5, 2.0])))


def test_the_choice_among_ten_thousand():
    rng = np.random.default_rng(0)
    n, m, weight = 10_000, 16, 3.0
    time, queue = rng.uniform(0, 5, n).astype(np.float32), rng.uniform(0, 2, n).astype(np.float32)
    here = rng.uniform(size=n) < 0.5
    args = (time, queue, here, jnp.int32(m), jnp.float32(weight))
    mask = np.asarray(jax.jit(rbcs_f.choose)(*args, jnp.zeros(n)))
    order = np.argsort(np.where(here, time, np.inf))[: here.sum()]
    best = min(weight * time[order[i]] - np.sort(queue[order[: i + 1]])[-m:].sum() for i in range(m - 1, 400))
    assert mask.sum() == m
    assert weight * time[mask].max() - queue[mask].sum() == pytest.approx(float(best), rel=1e-5)


def test_ridge_is_a_direct_solve():
    rng = np.random.default_rng(1)
    contexts, times = rng.uniform(0.5, 2, (30, K, 3)), rng.uniform(1, 9, (30, K))
    gram = np.einsum("tki,tkj->ijk", contexts, contexts).astype(np.float32)
    moment = np.einsum("tki,tk->ik", contexts, times).astype(np.float32)
    now = rng.uniform(0.5, 2, (K, 3)).astype(np.float32)
    params = rbcs_f.Options(beta=0.1, alpha=0.3, ridge=2.0).params(PROBLEM)
    state = rbcs_f.State(jnp.zeros(K), jnp.asarray(gram), jnp.asarray(moment))
    got = rbcs_f.lower_bound(state, jax.tree.map(jnp.asarray, params), jnp.asarray(now))
    for n in range(K):
        inverse = np.linalg.inv(gram[:, :, n] + 2 * np.eye(3))
        want = now[n] @ inverse @ moment[:, n] - 0.3 * np.sqrt(now[n] @ inverse @ now[n])
        assert float(got[n]) == pytest.approx(want, rel=1e-4)
    factor = ops.cholesky(jnp.asarray(gram) + 2 * jnp.eye(3)[:, :, None])
    np.testing.assert_allclose(
        [[float(factor[i][j][0]) for j in range(i + 1)] for i in (2,)],
        [np.linalg.cholesky(gram[:, :, 0] + 2 * np.eye(3))[2]], rtol=1e-4,
    )  # fmt: skip


@pytest.mark.proof
def test_availability_is_never_violated_and_promises_are_kept_in_the_long_run_only():
    """10 000 rounds: long enough for queues to have settled at V = 5, and for every client's promise to be kept."""
    world = exchange.Options(availability=0.5)
    config = jfed.Config(12, 3, 10_000, environment=world)
    patient, weighty = rbcs_f.Options(V=5.0, beta=0.2), rbcs_f.Options(V=50.0, beta=0.2)
    where = [
        jfed.Point(jfed.replace(config, {"selector": patient}), {"method": "rbcs-f-5"}),
        jfed.Point(jfed.replace(config, {"selector": weighty}), {"method": "rbcs-f-50"}),
        *jfed.methods(config, ["cs-ucb-q-0.1"]),
    ]
    layout = jfed.Layout(block_size=2, record_selected=True)
    results = jfed.run(where, [0], layout=layout, progress=False)
    (there,) = jfed.outcomes(config, [0]).available
    packed = results["selected"].values.astype(np.uint8)
    selected = np.unpackbits(packed, axis=2, count=12).astype(bool)
    assert not (selected & ~there).any()
    assert (selected.sum(2) == np.minimum(3, there.sum(1))).all()
    rates = dict(zip(results["method"].values.tolist(), rates_so_far(selected), strict=True))
    assert (rates["rbcs-f-5"][-1] >= 0.2 - 0.01).all() and (rates["cs-ucb-q-0.1"][-1] >= 3 / 24 - 0.01).all()
    assert rates["rbcs-f-50"][299].min() < 0.1 < 0.175 < rates["rbcs-f-50"][-1].min()  # V = 50 catches up later
