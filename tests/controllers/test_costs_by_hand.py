"""Tests of the cost of rounds by hand: steps and exchange, the forecast for unknown clients, several resources."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed.controllers import adaptive, budget
from jfed.core.types import Cohort, Costs, Dims, Feedback, Problem, View

K = 3
LONG = Costs(jnp.array([[1.0, 3.0, 2.0]]), jnp.array([[10.0, 0.0, 4.0]]))  # a step and an exchange of each client
FIRST_TWO = jnp.array([True, True, False])


@pytest.mark.parametrize(
    ("how", "steps", "cost"),
    [
        ("max", 1, (1.0, 10.0)),  # 11 and 3
        ("max", 20, (3.0, 0.0)),  # 30 and 60
        ("mean", 20, (2.0, 5.0)),
        ("sum", 20, (4.0, 10.0)),
    ],
)
def test_a_cohort_costs_what_its_steps_and_its_exchange_do_together(how, steps, cost):
    got = budget.together(LONG, FIRST_TWO, jnp.float32(steps), (how,))
    assert (float(got.step[0]), float(got.exchange[0])) == cost


def test_two_resources_are_put_together_each_in_its_own_way():
    both = Costs(jnp.concatenate([LONG.step, LONG.exchange]), jnp.concatenate([LONG.exchange, LONG.step]))
    got = budget.together(both, FIRST_TWO, jnp.float32(20), ("max", "sum"))
    assert got.step.tolist() == [3.0, 10.0] and got.exchange.tolist() == [0.0, 4.0]


@pytest.mark.parametrize(("steps", "dearest"), [(1, (1.0, 10.0)), (20, (3.0, 0.0))])
def test_who_never_told_costs_as_much_as_the_dearest_with_so_many_steps(steps, dearest):
    known = jax.tree.map(lambda x: jnp.where(FIRST_TWO, x, jnp.nan), LONG)
    got = budget.foreseen(known, jnp.float32(steps))
    assert got.step[0].tolist() == [1.0, 3.0, dearest[0]] and got.exchange[0].tolist() == [10.0, 0.0, dearest[1]]
    nobody = budget.foreseen(budget.unknown(1, K, jnp.dtype("float32")), jnp.float32(steps))
    assert np.isnan(nobody.step).all() and np.isnan(nobody.exchange).all()


@pytest.mark.parametrize(
    ("how", "room", "steps"), [("max", 40.0, 13), ("max", 21.0, 7), ("mean", 45.0, 20), ("sum", 50.0, 10)]
)
def test_how_many_steps_there_is_room_for(how, room, steps):
    """The first two clients can make: max min(30, 13), or min(11, 7); mean (45 - 5) / 2; sum (50 - 10) / 4 steps."""
    assert int(budget.most_steps(LONG, FIRST_TWO, jnp.array([room]), (how,))) == steps


@pytest.mark.parametrize(("how", "least"), [("max", 44.0), ("mean", 37.0), ("sum", 74.0)])
def test_a_first_round_of_the_cheapest(how, least):
    """20 steps cost 30, 60 and 44 seconds; the cheapest two are the first and the last."""
    assert budget.least(LONG, 2, 20, how, 0) == least


# ----------------------------------------------------------------------- the controller in a made-up world


@functools.cache
def made(resources, cost, stop):
    """Return a controller with compiled functions."""
    options = adaptive.Options(budgets=(1.0,) * resources, cost=cost, stop=stop)
    one = options.make(Dims(K, K, resources=resources))
    return one._replace(plan=jax.jit(one.plan), update=jax.jit(one.update))


class Told:
    """A controller with a fixed tau that a test feeds, round by round, with the cohort and its costs."""

    def __init__(self, budgets, fixed, cost="max", stop="last", last_steps=0):
        self.made = made(len(budgets), cost, stop)
        options = adaptive.Options(budgets=budgets, fixed=fixed, cost=cost, stop=stop, last_steps=last_steps)
        free = Costs(np.zeros((len(budgets), K)), np.zeros((len(budgets), K)))
        self.params = jax.tree.map(jnp.asarray, options.params(Problem(K, 2, 10, costs=free)))
        self.state = self.made.init(jax.random.key(0), self.params, jnp.ones(K, jnp.int32))

    def round(self, who, costs, idle_s=0.0):
        """Play one round unless the run is over, and return the number of planned steps (0 if it is over)."""
        nothing, selected = jnp.full(K, jnp.nan), jnp.asarray(np.isin(np.arange(K), who))
        view = View(
            round=jnp.int32(1), horizon=jnp.int32(10), available=jnp.ones(K, bool), num_samples=jnp.ones(K, jnp.int32),
            context=jnp.ones((K, 1)), probed=nothing, probed_accuracy=nothing, oracle=None,
        )  # fmt: skip
        cohort = Cohort(selected=selected, inclusion=nothing)
        self.state, plan = self.made.plan(self.state, self.params, view, cohort)
        if self.state.over:
            return 0
        spent = jax.tree.map(lambda x: jnp.where(selected, x, 0.0), costs)
        feedback = Feedback(
            selected=selected, succeeded=selected, latency_s=jnp.zeros(K), loss=nothing, costs=spent,
            idle_s=jnp.float32(idle_s),
        )  # fmt: skip
        self.state = self.made.update(self.state, self.params, view, cohort, feedback)
        return int(plan.steps[0])

    @property
    def spent(self):
        return self.state.spent.tolist()


def test_an_idle_round_takes_time_and_nothing_else():
    """An idle round adds its time to the first resource only. No world of jfed has idle rounds and two resources."""
    both = Costs(jnp.concatenate([LONG.step, LONG.step]), jnp.concatenate([LONG.exchange, LONG.exchange]))
    one = Told((100.0, 100.0), fixed=1, cost=("max", "sum"))
    assert one.round([0, 1], both) == 1 and one.spent == [11.0, 14.0]
    one.round([], both, idle_s=7.0)
    assert one.spent == [18.0, 14.0]
    assert one.round([0, 1], both) == 1 and one.spent == [29.0, 28.0]


@pytest.mark.parametrize(("tau", "before", "rest", "steps"), [(1, 11.0, 10.0, 0), (20, 60.0, 50.0, 16)])
def test_a_stranger_is_foreseen_by_step_and_exchange(tau, before, rest, steps):
    """The unknown third client is forecast as the first at 1 step, which 10 seconds do not buy, as the second at 20."""
    one = Told((before + rest,), tau)
    assert one.round([0, 1], LONG) == tau and one.spent == [before]
    assert one.round([2], LONG) == steps


EXACT = Costs(jnp.full((1, K), 0.125), jnp.full((1, K), 0.25))  # numbers that float32 adds without error


@pytest.mark.parametrize(("stop", "last_steps"), [("last", 0), ("last", 1), ("plain", 0)])
def test_the_round_that_uses_a_budget_up_is_held_and_is_the_last(stop, last_steps):
    """Two steps and an exchange take half a second; the budget is two seconds."""
    one = Told((2.0,), 2, stop=stop, last_steps=last_steps)
    assert [one.round([0, 1], EXACT) for _ in range(6)] == [2, 2, 2, 2, 0, 0]
    assert one.spent == [2.0]


@pytest.mark.parametrize(("stop", "steps"), [("last", [2, 2, 2, 1, 0]), ("plain", [2, 2, 2, 0, 0])])
def test_a_budget_that_is_short_of_a_round_by_a_bit_cuts_it_or_ends_the_run(stop, steps):
    one = Told((2.0 - 2.0**-20,), 2, stop=stop)
    assert [one.round([0, 1], EXACT) for _ in range(5)] == steps
