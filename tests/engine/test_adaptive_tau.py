"""Adaptive tau: broken models, budgets, and runs that end before their last round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Stepper, run

import jfed
from jfed.controllers import adaptive, fixed
from jfed.core.errors import ConfigError, Unfinished
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
