"""A client without images: it reports no loss and keeps nothing, on every lane."""

import numpy as np
import pytest
from support import Stepper, unpack

import jfed
from jfed.algorithms import estimating
from jfed.controllers import fixed
from jfed.envs import volatility
from jfed.runner.units import Layout
from jfed.selectors import eiffel

pytestmark = pytest.mark.check

K, ROUNDS, EMPTY = 5, 6, 1
CONFIG = jfed.Config(
    K, 3, ROUNDS, eval_every=ROUNDS, environment=volatility.Options((1.0,)), selector=eiffel.Options(),
    controller=fixed.Options(3), training=jfed.Training(
        partition="iid", samples_per_client=(24, 0, 30, 9, 20), test_fraction=0.0, test_set="official",
        model="svm", algorithm=estimating.Options(0.05), batch_size=8, average_over="returned",
    ),
)  # fmt: skip


def walk(config, lane):
    """Return the cohort of each round, and the state after each."""
    layout = Layout(block_size=1, chunk_rounds=1, lane=lane, record_selected=True)
    stepper, selected, states = Stepper([jfed.Point(config, {})], [5], layout), [], []
    for t in range(1, ROUNDS + 1):
        selected.append(unpack(stepper.step(t)[0], K)[0])
        states.append(stepper.host())
    return np.array(selected), states


@pytest.fixture(scope="module")
def sequential():
    return walk(CONFIG, "sequential")


def test_it_tells_no_loss_and_keeps_nothing(sequential):
    selected, states = sequential
    assert selected[:, EMPTY].sum() >= 2 and (selected.sum(0) > 0).all()
    first = states[0].clients.words
    assert first[0, EMPTY].any()
    for state in states:
        assert state.selector.last_loss[0, EMPTY] == -np.inf and not state.clients.known[0, EMPTY]
        np.testing.assert_array_equal(state.clients.words, first)
    heard = np.delete(states[-1].selector.last_loss[0], EMPTY)
    assert (heard > 0).all() and states[-1].clients.known[0].sum() == K - 1


@pytest.mark.proof
def test_the_lanes_agree(sequential):
    selected, states = sequential
    same, others = walk(CONFIG, "vmapped")
    np.testing.assert_array_equal(selected, same)
    for a, b in zip(states, others, strict=True):
        np.testing.assert_allclose(a.selector.last_loss, b.selector.last_loss, rtol=1e-5)
        np.testing.assert_array_equal(a.clients.known, b.clients.known)
        np.testing.assert_array_equal(a.clients.words, b.clients.words)
