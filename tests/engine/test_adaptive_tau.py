"""Adaptive tau: the search, broken models, budgets, and runs that end before their last round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import adaptive_tau as ref
from support import Stepper, run

import jfed
from jfed.algorithms import estimating
from jfed.controllers import adaptive, fixed, objective
from jfed.core.errors import ConfigError, Unfinished
from jfed.core.learning import Answers, ClientData, Received
from jfed.core.types import Costs, Dims, Problem
from jfed.engine import simulate
from jfed.envs import edge
from jfed.selectors import everybody

pytestmark = pytest.mark.check

STEADY = edge.Options(step_s=(0.02, 0.0), exchange_s=(0.13, 0.0))
K = 4
BASE = jfed.Config(
    K, K, 40, eval_every=3, environment=STEADY, selector=everybody.Options(),
    controller=adaptive.Options(budgets=(1.5,)), training=jfed.Training(
        partition="iid", samples_per_client=24, test_fraction=0.0, test_set="official", model="svm",
        algorithm="adaptive", batch_size=8, average_over="returned", final_model="best",
    ),
)  # fmt: skip


def points(**delta):
    return [jfed.Point(jfed.replace(BASE, {k.replace("__", "."): v for k, v in delta.items()}), {})]


NUMBERS = st.one_of(st.floats(1e-6, 10), st.sampled_from([0.0, 1e-5, 1e-3, 1e4, 1e12, float("nan")]))


COSTS = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 2)), min_size=2, max_size=2)
BUDGETS = st.lists(st.one_of(st.floats(-1, 0), st.floats(1e-3, 50)), min_size=2, max_size=2)


@settings(deadline=None, max_examples=150)
@given(
    rho=NUMBERS, delta=NUMBERS, beta=st.one_of(st.floats(1e-5, 100), st.sampled_from([1e-5, 1e4, 1e9, float("nan")])),
    tau=st.integers(1, 120), eta=st.sampled_from([1e-3, 0.01, 0.5]), phi=st.sampled_from([5e-5, 0.025, 1.0]), c=COSTS,
    b=st.lists(st.floats(0.001, 2), min_size=2, max_size=2), left=BUDGETS,
)  # fmt: skip
def test_the_search_is_that_of_the_reference(rho, beta, delta, tau, eta, phi, c, b, left):
    with jax.enable_x64(True):
        options = adaptive.Options(budgets=(1.0, 1.0), phi=phi)
        free = Costs(np.zeros((2, 4)), np.zeros((2, 4)))
        params = jax.tree.map(jnp.asarray, options.params(Problem(4, 4, 10, 1.0, eta, costs=free)))
        none = jnp.zeros(2)
        state = adaptive.State(
            jnp.int32(tau), jnp.int32(0), none, jnp.asarray(c), jnp.asarray(b), Costs(none, none),
            *map(jnp.asarray, (rho, beta, delta, 1.0)), *[jnp.bool_(False)] * 3,
        )  # fmt: skip
        found = int(SEARCH(state, params, jnp.asarray(left)))
    with np.errstate(all="ignore"):
        args = (np.array(c), np.array(b), np.array(left), eta, phi)
        expected = ref.search(tau, rho, beta, delta, *args, return_best=False)
        g = [ref.G(x, rho, beta, delta, *args) for x in (found, expected)] if found != expected else [0.0, 0.0]
    assert 1 <= found <= 100
    assert np.isclose(g[0], g[1], rtol=1e-9)  # rounding decides between equal minima


SEARCH = jax.jit(adaptive.search)


def test_h_keeps_its_digits_where_it_is_tiny():
    """(eta beta + 1)^x - 1 - eta beta x is eta^2 beta^2 for x = 2."""
    beta, delta, eta = jnp.float32(1e-2), jnp.float32(1.0), jnp.float32(0.01)
    assert float(objective.drift(jnp.float32(2.0), beta, delta, eta)) == pytest.approx(1e-6, rel=0.02)
    assert float(objective.drift(jnp.float32(1.0), beta, delta, eta)) <= 1e-9


def test_limits_of_the_search():
    options = adaptive.Options(budgets=(1e9,))
    params = jax.tree.map(jnp.asarray, options.params(Problem(4, 4, 10, 1.0, 0.01)))

    def tau(rho, delta, left):
        no = jnp.bool_(False)
        state = adaptive.State(
            jnp.int32(7), jnp.int32(0), jnp.zeros(1), jnp.full(1, 0.02), jnp.full(1, 0.13),
            Costs(jnp.zeros((1, 4)), jnp.zeros((1, 4))), jnp.float32(rho), jnp.float32(5.0), jnp.float32(delta),
            jnp.float32(1.0), no, no, no,
        )  # fmt: skip
        return int(SEARCH(state, params, jnp.full(1, left)))

    assert tau(1.0, 0.0, 15.0) == 70 and tau(0.0, 1.0, 15.0) == 70  # tau grows as far as it may
    assert tau(1.0, 1.0, 1e9) == 1  # a practically unlimited budget
    assert 1 < tau(1.0, 1.0, 15.0) < 70


OTHERS = [pytest.param(stop, marks=pytest.mark.proof) for stop in ("last", "plain")]
STOPS = pytest.mark.parametrize("stop", ["best", *OTHERS])


@STOPS
@settings(deadline=None, max_examples=6)
@given(budget=st.floats(0.16, 4.0))
def test_a_budget_is_kept_where_costs_are_known(stop, budget):
    done = run(points(controller__budgets=(budget,), controller__stop=stop, num_rounds=60), [0, 1], LAYOUT)
    spent = done["controller_spent"].values[:, -1]
    assert (spent <= budget + 1e-4).all()
    rounds = (done["num_selected"].values > 0).sum(1)
    assert (rounds < 60).all() and np.allclose(spent, done["round_time_s"].values.sum(1), atol=1e-3)
    if stop != "plain":
        assert (budget - spent < 0.35).all()  # too little for another round and a look
    once = run(points(controller__budgets=(budget,), controller__stop=stop, controller__last_steps=1), [0], LAYOUT)
    most = budget + 0.15 * {"best": 2, "last": 1, "plain": 0}[stop] + 1e-4
    assert once["controller_spent"].values[0, -1] <= most


@pytest.mark.proof
@STOPS
@settings(deadline=None, max_examples=6)
@given(budget=st.floats(0.5, 4.0), seed=st.integers(0, 1000))
def test_random_costs_overspend_by_no_more_than_was_not_foreseen(stop, budget, seed):
    """A run overspends at most by what its last round, and the look after it, cost beyond the forecast."""
    world = edge.Options(step_s=(0.02, 0.01), exchange_s=(0.13, 0.06))
    where = points(environment=world, controller__budgets=(budget,), controller__stop=stop, num_rounds=60)
    stepper = Stepper(where, [seed])
    surprise: list[float] = []
    for t in range(1, 61):
        after = stepper.host()
        record, _ = stepper.step(t)
        now = stepper.host()
        if t > 1 and record.num_selected[0] > 0:
            steps = max(int(record.num_steps[0]) // K, 1)  # a look at the last model is one
            foreseen = float(after.controller.step[0, 0]) * steps + float(after.controller.exchange[0, 0])
            surprise.append(float(now.controller.spent[0, 0] - after.controller.spent[0, 0]) - foreseen)
    assert int(now.ended_round[0]) > 0
    late = sum(max(x, 0.0) for x in surprise[-2 if stop == "best" else -1 :])
    assert float(now.controller.spent[0, 0]) <= budget + late + 1e-4


LAYOUT = jfed.Layout(block_size=2, chunk_rounds=5)


def test_finished_blocks_are_not_dispatched_and_nothing_changes_after_the_end():
    simulate.TRACES.clear()
    short = run(points(controller__budgets=(3.0,)), [0, 1], LAYOUT)
    longer = run(
        points(controller__budgets=(3.0,), num_rounds=4000), [0, 1], LAYOUT
    )  # too many rounds to dispatch all of them
    assert len(simulate.TRACES) <= 1  # another horizon, and every tau, is the same program
    rounds = (short["num_selected"].values > 0).sum(1)
    assert (rounds > 5).all() and (rounds < 40).all()
    assert len(set(short["controller_tau"].values[0, :8].tolist())) > 2
    for name in ("num_steps", "round_time_s", "num_selected", "controller_spent"):
        np.testing.assert_array_equal(longer[name].values[:, :40], short[name].values)
        assert not name.startswith("num") or not longer[name].values[:, 40:].any()
    at = {int(t): i for i, t in enumerate(longer["eval_round"].values)}
    same = [at[int(t)] for t in short["eval_round"].values if t % 3 == 0]
    np.testing.assert_array_equal(longer["test_loss"].values[:, same], short["test_loss"].values[:, : len(same)])
    assert (longer["test_loss"].values[:, -1:] == longer["test_loss"].values[:, 20:]).all()
    # Rounds after the end are idle in the program, or filled in by the host, with the same results.
    whole = run(points(controller__budgets=(3.0,)), [0, 1], jfed.Layout(block_size=2, chunk_rounds=40))
    for name in whole.data_vars:
        np.testing.assert_array_equal(whole[name], short[name], err_msg=str(name))


def test_an_interrupted_run_ends_in_the_same_way(tmp_path):
    whole = run(points(), [0, 1], LAYOUT)
    hasty = jfed.Layout(block_size=2, chunk_rounds=5, checkpoint_s=0, max_seconds=0)
    with pytest.raises(Unfinished):
        run(points(), [0, 1], hasty, out=tmp_path)
    resumed = run(points(), [0, 1], LAYOUT, out=tmp_path)
    for name in whole.data_vars:
        np.testing.assert_array_equal(resumed[name], whole[name])


def test_the_best_model_survives_an_interruption(tmp_path):
    """With steps this long the model soon gets worse, so that the best one is from before the interruption."""
    where = points(
        training__algorithm__learning_rate=0.5, controller__fixed=2, controller__budgets=(2.5,), eval_every=1
    )
    whole = run(where, [0, 1], LAYOUT)
    assert (whole["num_steps"].values[:, 5:9] > 0).all()
    loss = whole["test_loss"].values
    assert (loss[:, 4:] == loss[:, 4:5]).all() and (loss < 1).all()
    hasty = jfed.Layout(block_size=2, chunk_rounds=5, checkpoint_s=0, max_seconds=0)
    with pytest.raises(Unfinished):
        run(where, [0, 1], hasty, out=tmp_path)
    resumed = run(where, [0, 1], LAYOUT, out=tmp_path)
    for name in whole.data_vars:
        np.testing.assert_array_equal(resumed[name], whole[name], err_msg=str(name))


def test_a_model_that_breaks_is_left_out_and_tau_comes_back():
    stepper = Stepper(points(training__algorithm__learning_rate=0.5), [0])
    for t in range(1, 5):
        stepper.step(t)
    before = stepper.host()
    broken = jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), stepper.state.clients.point)
    stepper.state = stepper.state._replace(
        weights=jax.tree.map(lambda x: jnp.full_like(x, 1e38), stepper.state.weights),
        clients=stepper.state.clients._replace(point=broken),
    )
    tau = int(before.controller.tau[0])
    stepper.step(5)  # margins of 1e38 overflow
    after = stepper.host()
    assert int(after.controller.before[0]) == tau and int(after.controller.tau[0]) == 1
    assert (jax.tree.leaves(after.weights)[0] == np.float32(1e38)).all()
    for name in ("rho", "beta", "delta"):
        np.testing.assert_array_equal(getattr(after.controller, name), getattr(before.controller, name))
    stepper.state = stepper.state._replace(weights=jax.tree.map(jnp.asarray, before.weights))
    stepper.step(6)
    again = stepper.host()
    assert int(again.controller.tau[0]) == tau and int(again.controller.before[0]) == 0


def test_slopes_of_a_quadratic():
    """F = (a/2) |w|^2: rho = a |w + v| / 2 along a line through 0, beta = a."""
    a, w, v = 3.0, jnp.array([2.0, 0.0]), jnp.array([1.0, 0.0])
    losses, gradients = (a / 2 * v @ v, a / 2 * w @ w), (a * v, a * w)
    rho, beta = estimating.slopes(losses, gradients, (v, w), jnp.bool_(True))
    assert float(rho) == pytest.approx(4.5) and float(beta) == pytest.approx(3.0)
    same = estimating.slopes(losses, gradients, (w, w), jnp.bool_(True))
    assert (float(same[0]), float(same[1])) == (0.0, pytest.approx(1e-5))
    unknown = estimating.slopes((jnp.float32(np.nan), jnp.float32(1.0)), gradients, (v, w), jnp.bool_(True))
    assert float(unknown[0]) == 0.0 and float(unknown[1]) == pytest.approx(3.0)


def test_estimates_of_quadratic_losses():
    """Two clients with F_i = (a / 2) (w - c_i)^2, where c_i is the client's label, and one step each from w = 0.

    Client i ends at eta a c_i. From w = 1 it finds beta = a, rho = a |(w_i + w) / 2 - c_i|; delta_i = a |c_i - mean|.
    """
    a, eta, centres = 2.0, 0.1, (3.0, -1.0)
    algorithm = estimating.Options().make(
        Dims(2, 2, batch_size=4), lambda w, x, y, real: a / 2 * (w["w"][0] - y[0]) ** 2
    )
    params, told, gradients = estimating.Params(jnp.float32(eta)), [], []
    for i, centre in enumerate(centres):
        labels = jnp.full(4, int(centre), jnp.int32)
        data = ClientData(jnp.zeros((4, 1, 1, 1), jnp.uint8), labels, jnp.arange(4, dtype=jnp.int32), jnp.int32(4))
        own = algorithm.remember(jax.random.key(i), {"w": jnp.zeros(1)}, data.positions)
        for w in (0.0, 1.0):
            weights = {"w": jnp.full(1, w)}
            received = Received(weights, jnp.int32(1), memory=own, best=weights)
            local = algorithm.start(jax.random.key(9), received, params, data)
            local = algorithm.step(local, weights, params, data)
            move, report, own, gradient = algorithm.finish(local, weights, params)
        assert float(report.estimates.beta) == pytest.approx(a)
        assert float(report.estimates.rho) == pytest.approx(a * abs((eta * a * centre + 1) / 2 - centre), rel=1e-5)
        assert float(report.estimates.loss) == pytest.approx(a / 2 * (1 - centre) ** 2)
        assert float(move["w"][0]) == pytest.approx(-eta * a * (1 - centre))
        told.append(report)
        gradients.append(gradient)
    both, each = jax.tree.map(lambda *x: jnp.stack(x), *told), jax.tree.map(lambda *x: jnp.stack(x), *gradients)
    share, mean = jnp.array([0.75, 0.25]), 0.75 * centres[0] + 0.25 * centres[1]
    answers = Answers(each, both, share, jnp.ones(2, bool), more=each)
    report = algorithm.aggregate(None, {"w": jnp.ones(1)}, params, answers).reports
    np.testing.assert_allclose(report.estimates.divergence, [a * abs(c - mean) for c in centres], rtol=1e-6)
    few = share / 4  # two of eight clients returned, and the global model replaces the others
    report = algorithm.aggregate(None, {"w": jnp.ones(1)}, params, answers._replace(share=few)).reports
    np.testing.assert_allclose(report.estimates.divergence, [a * abs(c - mean) for c in centres], rtol=1e-6)


@pytest.mark.proof
def test_a_fixed_tau_until_the_budget_is_spent_needs_no_estimates():
    plain = {
        "training__algorithm": "fedavg",
        "training__final_model": "last",
        "controller__fixed": 5,
    }
    done = run(points(controller__stop="last", **plain), [0, 1], LAYOUT)
    steps = done["num_steps"].values // K
    assert steps[:, :8].tolist() == [[5, 5, 5, 5, 5, 5, 0, 0]] * 2  # 0.23 s a round; 0.12 s are left, and 0.13 needed
    less = run(points(controller__stop="last", controller__budgets=(1.7,), **plain), [0, 1], LAYOUT)
    assert (less["num_steps"].values[:, 5:8] // K).tolist() == [[5, 5, 0]] * 2
    unending = run(points(controller=fixed.Options(5)), [0, 1], LAYOUT)
    assert (unending["num_steps"].values == 5 * K).all()


ESTIMATES = 'Adaptive tau, and the stop rule "best", need clients that make estimates: set training.algorithm'


@pytest.mark.parametrize(
    ("delta", "sentence"),
    [
        ({"controller.budgets": ()}, "Adaptive tau needs a budget."),
        ({"controller.budgets": (0.0,)}, "A budget must be positive, found 0."),
        ({"controller.budgets": (float("nan"),)}, "A budget must be positive, found nan."),
        ({"controller.phi": 0.0}, "phi must be positive, found 0."),
        ({"controller.tau_max": 0}, "tau_max must lie in 1 .. 1000, found 0."),
        ({"controller.growth": 0}, "growth must be at least 1, found 0."),
        ({"environment.power": (1.0, 0.0)}, "A client's compute power must be positive, found"),
        ({"environment.step_s": (-1.0, 0.1)}, "step_s must be a finite mean and deviation, neither negative, found"),
        ({"environment.demand": (2.0, 1.0)}, "demand must be a positive range"),
        ({"training.algorithm": "fedavg", "training.final_model": "last"}, ESTIMATES),
        (
            {"training.algorithm": "fedavg", "controller.fixed": 3, "controller.stop": "last"},
            'final_model "best" needs clients that estimate losses',
        ),
        ({"training.algorithm": "fedavg", "controller.fixed": 3}, ESTIMATES),
        ({"controller.last_steps": 2}, "last_steps must be 0 or 1, found 2."),
    ],
)
def test_what_makes_no_sense_is_refused(delta, sentence):
    with pytest.raises(ConfigError, match=sentence):
        run([jfed.Point(jfed.replace(BASE, delta), {})], [0], LAYOUT)


def test_adaptive_tau_needs_training():
    with pytest.raises(ConfigError, match=ESTIMATES):
        run([jfed.Point(jfed.replace(BASE, {"training": None}), {})], [0], LAYOUT)
