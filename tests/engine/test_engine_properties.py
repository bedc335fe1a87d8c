"""The engine's promises: common draws, lanes that agree, and one compilation per sweep.

Most tests share one compiled program of E3CS with training (`support.TRAINING`); none is about a scheme.
"""

import itertools

import jax
import numpy as np
import pytest
from support import (
    LAYOUT,
    SELECTION,
    TRAINING,
    K,
    Stepper,
    T,
    assert_same_bits,
    assert_same_tree,
    points,
    run,
    unpack,
)

import jfed
from jfed.core import prng
from jfed.engine import simulate
from jfed.engine.simulate import due
from jfed.runner import units
from jfed.runner.units import Layout

pytestmark = pytest.mark.check

RESULTS = ("num_selected", "num_succeeded", "num_steps", "test_accuracy", "test_loss", "client_loss", "client_accuracy")


@pytest.fixture(scope="module")
def plain():
    """Return the results of E3CS with training on two seeds: one unit on one device."""
    return run(points(TRAINING, "e3cs-0.5"), [0, 1])


# ------------------------------------------------------------------------------------ the same draws for all


def test_two_schemes_that_take_everybody_learn_the_same_model_bit_for_bit(plain):
    # With k = K only the exogenous draws are left: split, initial model, minibatches, epochs, failures.
    everybody = {name: run(points(TRAINING, name, cohort_size=K), [0, 1]) for name in ("e3cs-0.5", "uniform")}
    assert_same_bits(everybody["e3cs-0.5"], everybody["uniform"], RESULTS)
    assert (everybody["uniform"].num_selected == K).all()
    assert not everybody["uniform"].test_loss.equals(plain.test_loss)


def test_two_schemes_meet_the_same_successes():
    # Both schemes are compared with the successes of the world's own draws.
    for name in ("uniform", "fedcs"):
        stepper = Stepper(points(SELECTION, name), [4, 5])
        worlds = [stepper.keys(i) for i in range(2)]
        for t in range(1, T + 1):
            before = stepper.host().times_succeeded
            record, _ = stepper.step(t)
            came = stepper.host().times_succeeded - before
            for i, keys in enumerate(worlds):
                rates = np.array([0.1, 0.3, 0.6, 0.9] * 2, np.float32)
                x = np.asarray(jax.random.uniform(prng.at(keys.environment, t, 1), (K,))) < rates
                np.testing.assert_array_equal(came[i], unpack(record, K)[i] & x)


def test_neither_the_initial_model_nor_the_split_depends_on_the_scheme():
    blocks, states = [], []
    for name in ("e3cs-0.5", "uniform"):
        (unit,) = units.plan(points(TRAINING, name), [0, 1], LAYOUT)
        blocks.append(unit.block())
        program = simulate.program(unit.spec)
        states.append(jax.tree.map(np.array, program.init(unit.block()).weights))
    assert_same_tree(*states)
    for a, b in zip(blocks[0][2:], blocks[1][2:], strict=True):
        np.testing.assert_array_equal(a, b)
    leaves = jax.tree.leaves(states[0])
    assert any((leaf[0] != leaf[1]).any() for leaf in leaves)  # they do depend on the seed


def test_seeds_set_apart_change_only_what_they_should(plain):
    first = prng.seeds(0)
    for what, alike in {"data": ("model", "environment"), "model": ("data", "environment")}.items():
        changed = {name: int(seed) for name, seed in first._asdict().items()} | {what: 9}
        (unit,) = units.plan(points(TRAINING, "e3cs-0.5"), [prng.seeds(**changed), 0], LAYOUT)
        block = unit.block()
        state = jax.tree.map(np.array, simulate.program(unit.spec).init(block))
        same_data = (block.positions[0] == block.positions[1]).all()
        same_model = all((leaf[0] == leaf[1]).all() for leaf in jax.tree.leaves(state.weights))
        assert same_data == ("data" in alike)
        assert same_model == ("model" in alike)
        np.testing.assert_array_equal(state.controller.steps[0], state.controller.steps[1])
    everybody = points(SELECTION, "e3cs-0.5", cohort_size=K)
    apart = run(everybody, [prng.seeds(0, environment=9), prng.seeds(3, environment=9)])
    assert_same_bits(apart.isel(run=[0]), apart.isel(run=[1]), ["num_succeeded", "times_succeeded"])
    assert not (apart.num_succeeded[0] == run(everybody, [0, 3]).num_succeeded[0]).all()


# -------------------------------------------------------------------------------------------- the two lanes


def test_the_lanes_agree(plain):
    layout = Layout(block_size=2, chunk_rounds=T, lane="vmapped")
    other = run(points(TRAINING, "e3cs-0.5"), [0, 1], layout)
    exact = ["num_selected", "num_succeeded", "num_steps", "times_selected", "times_succeeded"]
    assert_same_bits(plain, other, exact)
    np.testing.assert_allclose(plain.test_loss, other.test_loss, rtol=2e-5)
    np.testing.assert_allclose(plain.client_loss, other.client_loss, rtol=2e-5)
    assert plain.attrs["lane"] != other.attrs["lane"]


# ------------------------------------------------------------------------------------------ one compilation


def test_a_sweep_over_dynamic_settings_compiles_once():
    grid = {"cohort_size": [2, 3], "selector.eta": [0.1, 0.5], "selector.quota": [0.0, 0.9]}
    fresh = Layout(block_size=2, chunk_rounds=5)  # no other test has it
    for base, axes in ((SELECTION, grid), (TRAINING, {**grid, "cohort_size": [5, 8]})):
        start = points(base, "e3cs-0.5")
        before = len(simulate.TRACES)
        assert run(jfed.product(start, axes), [0], fresh).sizes["run"] == 8
        assert len(simulate.TRACES) == before + 1
        other = {"selector.eta": [0.2, 0.3], "environment.success_rates": [(0.2, 0.8), (0.5, 0.7, 0.9)]}
        if base.training is not None:
            other |= {
                "training.algorithm.learning_rate": [0.1],
                "training.algorithm.prox": [0.0, 0.7],
                "eval_every": [2],
            }
        run(jfed.product(start, other), [3], fresh)
        assert len(simulate.TRACES) == before + 1


def test_what_is_static_does_compile_again():
    before = len(simulate.TRACES)
    run(points(SELECTION, "e3cs-0.5", num_clients=K + 1), [0, 1])
    assert len(simulate.TRACES) == before + 1


# ---------------------------------------------------------------------------------------------- evaluation


@pytest.mark.parametrize("every", [2, 4, 5, 100])
def test_evaluation_every_few_rounds_is_the_same_model_looked_at_less_often(plain, every):
    sparse = run(points(TRAINING, "e3cs-0.5", eval_every=every), [0, 1])
    rounds = [t for t in range(1, T + 1) if t % every == 0 or t == T]
    assert sparse.eval_round.values.tolist() == rounds
    assert_same_bits(sparse, plain.sel(eval_round=rounds))


def test_due():
    assert [t for t in range(1, 8) if due(t, 7, 3)] == [3, 6, 7]


# --------------------------------------------------------------------------------------------------- edges


def test_with_success_rate_one_everybody_returns(plain):
    sure = run(points(TRAINING, "e3cs-0.5", environment__success_rates=(1.0,)), [0, 1])
    assert (sure.num_succeeded == sure.num_selected).all()
    assert (sure.num_selected == TRAINING.cohort_size).all()
    assert (sure.times_succeeded == sure.times_selected).all()
    assert (sure.num_steps > plain.num_steps.min()).all()


def test_only_those_who_return_are_trained(plain):
    # Recorded steps are between the least and the most that as many returned clients can make.
    stepper = Stepper(points(TRAINING, "e3cs-0.5"), [0, 1], LAYOUT)
    steps = np.sort(stepper.host().controller.steps, axis=1)
    for i, t in itertools.product(range(2), range(T)):
        came = int(plain.num_succeeded[i, t])
        low, high = steps[i, :came].sum(), steps[i, K - came :].sum()
        assert low <= int(plain.num_steps[i, t]) <= high


def test_a_model_that_diverges_has_no_accuracy_and_no_loss():
    wild = run(points(TRAINING, "e3cs-0.5", training__algorithm__learning_rate=1e38), [0, 1])
    assert np.isnan(wild.test_loss[:, -1]).all()
    assert np.isnan(wild.test_accuracy[:, -1]).all()  # not a finite 0, which a table would average
    assert np.isnan(wild.client_loss).all() and np.isnan(wild.client_accuracy).all()
    assert (wild.num_selected == TRAINING.cohort_size).all()  # the selection goes on
