"""What a round's cohort spends of resources beside time, as results have it."""

import numpy as np
import pytest

import jfed
from jfed.controllers import adaptive, fixed
from jfed.envs import edge
from jfed.envs.composed import Coins, Deadline, Options
from jfed.envs.parts.joules import Joules
from jfed.envs.parts.tempo import Tempo

pytestmark = pytest.mark.check

K, STEPS = 6, 5
RECORD = jfed.Layout(block_size=2, record_selected=True)
ENERGY = Joules(step_j=(0.5, 2.0), bit_j=(1e-3,), model_bits=100.0)
EXCHANGE_J = 0.2
BASE = jfed.Config(K, 3, 12, controller=fixed.Options(steps=STEPS))


def run(world, **changed):
    base = jfed.replace(BASE, {"environment": world, **changed})
    return jfed.run([jfed.Point(base, {})], [3, 4], layout=RECORD, progress=False)


def chosen(done):
    return np.unpackbits(done["selected"].values, axis=-1, count=K).astype(bool)


def test_energy_of_clients_that_return_and_of_those_that_fail():
    done = run(Options(availability=Coins((0.6,)), success=Coins((0.5,)), energy=ENERGY))
    selected = chosen(done)
    assert (done["num_succeeded"].values < done["num_selected"].values).any()
    each = STEPS * np.resize(ENERGY.step_j, K) + EXCHANGE_J
    np.testing.assert_allclose(done["world_energy_j"].values, (selected * each).sum(-1), rtol=1e-6)
    assert done["world_energy_j"].attrs == {"units": "J", "long_name": "energy that the cohort of the round spent"}


def test_only_the_steps_that_are_done_cost_energy():
    """A deadline of 3.2 s leaves time for 3 steps of 1 s after an exchange of none."""
    world = Options(success="always", speed=Tempo(step_s=(1.0,), exchange_s=(0.0,), jitter=0.0), energy=ENERGY)
    done = run(jfed.replace(world, {"waiting": Deadline(3.2, partial=True)}))
    each = 3 * np.resize(ENERGY.step_j, K) + EXCHANGE_J
    np.testing.assert_allclose(done["world_energy_j"].values, (chosen(done) * each).sum(-1), rtol=1e-6)


def test_results_and_budgets_count_alike_and_nothing_is_spent_after_the_end():
    world = edge.Options(demand=(0.5, 1.5), others=((2.0, 5.0), (0.0, 1.0)), transfers=2)
    end = adaptive.Options(budgets=(1e9, 200.0, 1e9), cost=("max", "sum", "sum"), fixed=STEPS, stop="last")
    done = run(world, controller=end)
    spent = np.cumsum(done["world_spent_2"].values, 1)
    ended = done["ended_round"].values
    assert (ended > 1).all() and (ended < 12).all()
    np.testing.assert_allclose(spent, done["controller_spent_2"].values, rtol=1e-5)
    for i, last in enumerate(ended):
        assert not done["world_spent_2"].values[i, last:].any()
    np.testing.assert_allclose(done["world_spent_3"].values.max(), 2 * 3, rtol=0.5)  # transfers x k, by demand


def test_a_world_that_counts_time_alone_has_no_such_variable():
    assert not [name for name in run("phones", **{"environment.energy": "uncounted"}) if name.startswith("world_")]
