"""Budgets of one or several resources, where cohorts and clients differ."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import Stepper, run, unpack

import jfed
from jfed.controllers import adaptive
from jfed.controllers import eiffel as control
from jfed.core.errors import ConfigError
from jfed.envs import edge, volatility
from jfed.runner.units import Layout
from jfed.selectors import eiffel, uniform

pytestmark = pytest.mark.check

K, POWER, STEP_S, SENT_S = 6, (1.0, 4.0, 2.0), 0.02, 0.1
STEADY = edge.Options((STEP_S, 0.0), (SENT_S / 2, 0.0), transfers=2, power=POWER, demand=(0.5, 1.5), shared=False)
LAYOUT = Layout(block_size=2, chunk_rounds=10, record_selected=True)
SELECTION = jfed.Config(K, 2, 40, environment=STEADY, selector=eiffel.Options(pools="work_conserving"))


def config(**delta):
    """Return a config without training and with a fixed tau: its costs need no model."""
    return jfed.replace(SELECTION, {name.replace("__", "."): value for name, value in delta.items()})


def budget(amount, mode="corrected", tau=3, **changed):
    stop = "plain" if mode == "faithful" else "last"
    return jfed.replace(control.MODES[mode], {"budgets": (amount,), "fixed": tau, "stop": stop, **changed})


def price(selected, steps, how):
    """Return the seconds that a cohort costs, by hand."""
    each = (STEP_S * steps / np.resize(POWER, K) + SENT_S)[selected]
    return {"max": each.max, "sum": each.sum, "mean": each.mean}[how]() if selected.any() else 0.0


@pytest.mark.parametrize("selector", [eiffel.Options(pools="work_conserving"), eiffel.Options(budget=3.3, kappa=0.3)])
@pytest.mark.parametrize("mode", ["corrected", "faithful"])
@settings(deadline=None, max_examples=6)
@given(room=st.floats(0.01, 1.5), tau=st.integers(1, 40))
def test_no_cohort_spends_more_than_is_left(selector, mode, room, tau):
    """All clients' costs are known after Eiffel's first round and do not change: nothing may be overspent."""
    how = control.MODES[mode].cost
    amount = price(np.ones(K, bool), tau, how) + room
    where = [jfed.Point(config(selector=selector, controller=budget(amount, mode, tau)), {})]
    done = run(where, [0, 1], LAYOUT)
    spent, ended = done["controller_spent"].values, done["ended_round"].values
    assert (spent[:, -1] <= amount + 1e-4).all()
    selected = np.unpackbits(done["selected"].values, axis=-1, count=K).astype(bool)
    for i in range(2):
        costs = np.diff(spent[i], prepend=0.0)
        rounds = int(ended[i]) or 40
        assert selected[i, :rounds].any(1).all() and not selected[i, rounds:].any()
        full = [price(s, tau, how) for s in selected[i, :rounds]]
        np.testing.assert_allclose(costs[: rounds - 1], full[:-1], atol=1e-4)
        assert costs[rounds - 1] <= full[-1] + 1e-4  # the last round may be cut
        left = amount - spent[i, -1]
        assert not ended[i] or left < max(price(np.ones(K, bool), 1 if mode == "corrected" else tau, how), 0.2) + 1e-4


def test_who_is_about_to_take_part_counts_and_not_who_did():
    """Cohorts are one client, slow or fast: a slow one at the cost of a fast one before would overspend."""
    world = jfed.replace(STEADY, {"power": (1.0, 10.0)})
    changed = config(environment=world, selector=uniform.Options(), cohort_size=1, controller=budget(2.0, tau=10))
    done = run([jfed.Point(changed, {})], range(12), Layout(block_size=12, chunk_rounds=10))
    assert (done["controller_spent"].values[:, -1] <= 2.0 + 1e-4).all()
    assert len(set(done["ended_round"].values.tolist())) > 2


@settings(deadline=None, max_examples=4)
@given(room=st.floats(0.5, 3.0), seed=st.integers(0, 1000))
@example(room=0.8, seed=3)
def test_random_costs_overspend_by_no_more_than_was_not_foreseen(room, seed):
    """A run overspends at most by what its last cohort costs beyond its clients' last known costs."""
    world = jfed.replace(STEADY, {"step_s": (STEP_S, 0.02), "exchange_s": (SENT_S / 2, 0.05)})
    where = [jfed.Point(config(environment=world, controller=budget(0.5 + room)), {})]
    stepper, late = Stepper(where, [seed]), 0.0
    for t in range(1, 41):
        before = stepper.host().controller
        record, _ = stepper.step(t)
        now = stepper.host()
        took = unpack(record, K)[0]
        if t > 1 and took.any():
            spent = float(now.controller.spent[0, 0] - before.spent[0, 0])

            def dearest(known, steps, took=took):
                return float((known.step[0, 0] * steps + known.exchange[0, 0])[took].max())

            # Without training the number of steps is not recorded: it is the one that explains the cost.
            steps = min((1, 2, 3), key=lambda s: abs(dearest(now.controller.known, s) - spent))
            late = spent - dearest(before.known, steps)
    assert 0 < int(now.ended_round[0]) < 40
    assert now.controller.spent[0, 0] <= 0.5 + room + max(late, 0.0) + 1e-4


def test_a_round_in_which_nobody_can_be_asked_costs_its_time_and_ends_nothing():
    for how, round_s, rounds in (("max", 1.0, 11), ("sum", 0.1, 8)):
        world = volatility.Options(availability=0.3, deadline_s=round_s)
        # The budget pays for half a round more, or for exactly `rounds`: then rounding must not end the run earlier.
        budgets = (round_s * (rounds + (0.5 if rounds == 11 else 0.0)),)
        controller = adaptive.Options(budgets=budgets, fixed=2, stop="last", cost=how)
        changed = jfed.Config(4, 1, 40, environment=world, selector=uniform.Options(), controller=controller)
        done = run([jfed.Point(changed, {})], range(128), Layout(block_size=128, chunk_rounds=20))
        clock, spent = done["round_time_s"].values.astype(float).cumsum(1), done["controller_spent"].values
        assert not (done["num_selected"].values[:, 0] > 0).all()  # no cohort in round 1 of some runs
        np.testing.assert_allclose(clock, spent, rtol=1e-5)
        ended = done["ended_round"].values
        # A round without a cohort is not foreseen: it may begin with less budget than it takes.
        assert ((ended == rounds) | ((rounds == 11) & (ended == 12))).all() and (ended == rounds).mean() > 0.6
        np.testing.assert_allclose(spent[:, -1], round_s * ended, rtol=1e-5)


def test_of_two_resources_the_one_that_is_spent_first_ends_the_run():
    """Time is that of the slowest client, joules add up: 2 per step and 5 per transfer, scaled by demand."""
    world = jfed.replace(STEADY, {"others": ((2.0, 5.0),)})
    energy = budget(100.0, tau=3, budgets=(100.0, 300.0), cost=("max", "sum"))
    stepper = Stepper([jfed.Point(config(environment=world, controller=energy), {})], [4])
    demand = stepper.host().environment.demand[0]
    each = (2.0 * 3 + 2 * 5.0) * demand / demand.mean()
    expected = np.zeros(2)
    for t in range(1, 41):
        record, _ = stepper.step(t)
        selected = unpack(record, K)[0]
        state = stepper.host()
        if not int(state.ended_round[0]):
            expected += price(selected, 3, "max"), each[selected].sum()
            np.testing.assert_allclose(state.controller.spent[0], expected, rtol=1e-5)
    assert 2 < int(state.ended_round[0]) < 10
    assert 260 < state.controller.spent[0, 1] <= 300.01 and state.controller.spent[0, 0] < 2


@pytest.mark.parametrize(
    ("delta", "sentence"),
    [
        ({"controller": adaptive.Options(budgets=(3.0, 1.0))}, r"1 here; found budgets = \(3.0, 1.0\) and cost"),
        (
            {"controller": adaptive.Options(cost=("max", "sum"))},
            r"1 here; found budgets = \(15.0,\) and cost = \('max', 'sum'\)",
        ),
        (
            {"environment.others": ((1.0, 2.0),)},
            "one budget and one way to combine costs for each resource of the world, 2 here",
        ),
        ({"environment.others": ((-1.0, 2.0),)}, "Each pair in others must be finite and not negative, found"),
        (
            {"controller": adaptive.Options(budgets=(0.11,), cost="max")},
            "A budget of 0.11 is too small for one round, which costs about 0.12 or more",
        ),  # the slowest of all clients
        (
            {"controller": adaptive.Options(budgets=(0.62,), cost="sum")},
            "A budget of 0.62 is too small for one round, which costs about 0.67 or more",
        ),
        (
            {"controller": adaptive.Options(budgets=(0.1,), cost="sum"), "selector": uniform.Options()},
            "A budget of 0.1 is too small for one round, which costs about 0.21 or more",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(delta, sentence):
    delta = {"controller": budget(2.0), **delta}
    if isinstance(delta["controller"], adaptive.Options) and not delta["controller"].fixed:
        delta["controller"] = jfed.replace(delta["controller"], {"fixed": 1, "stop": "last"})
    with pytest.raises(ConfigError, match=sentence):
        run([jfed.Point(jfed.replace(SELECTION, delta), {})], [0], LAYOUT)
