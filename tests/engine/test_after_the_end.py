"""A run that has ended changes no more, while the other runs of its block go on."""

import jax
import numpy as np
import pytest
from support import Stepper, assert_same_tree, unpack

import jfed
from jfed.controllers import adaptive
from jfed.envs import volatility
from jfed.selectors import e3cs, rbcs_f

pytestmark = pytest.mark.check

K, ROUNDS = 6, 10
WORLD = volatility.Options((0.5, 0.9), availability=0.6)
BUDGETS = (3.0, 7.0)  # seconds, of which a round takes one


@pytest.mark.parametrize("selector", [rbcs_f.Options(beta=0.25), e3cs.Options()], ids=["rbcs-f", "e3cs"])
def test_a_selector_neither_chooses_nor_learns(selector):
    """Neither RBCS-F's queues change, which grow in every round, nor the state that E3CS sets when it selects."""
    where = [
        jfed.Point(
            jfed.Config(
                K, 2, ROUNDS, environment=WORLD, selector=selector,
                controller=adaptive.Options(budgets=(budget,), fixed=1, stop="last"),
            ),
            {"budget": budget},
        )
        for budget in BUDGETS
    ]  # fmt: skip
    stepper = Stepper(where, [1])
    states, records = [], []
    for t in range(1, ROUNDS + 1):
        records.append(stepper.step(t)[0])
        states.append(stepper.host())
    assert states[-1].ended_round.tolist() == [3, 7]

    def of(run, t):
        return jax.tree.map(lambda x: x[run], states[t - 1].selector)

    for run, end in enumerate((3, 7)):
        for t in range(end + 1, ROUNDS + 1):
            assert_same_tree(of(run, t), of(run, end))
            assert not unpack(records[t - 1], K)[run].any() and records[t - 1].round_time_s[run] == 0
            for name, shown in records[t - 1].watched.items():
                np.testing.assert_array_equal(shown[run], records[end - 1].watched[name][run])
    moved = [any(map(np.any, jax.tree.map(np.not_equal, of(1, t), of(1, t - 1)))) for t in range(4, 8)]
    assert all(moved)  # meanwhile the other run went on
