"""State that lasts from round to round: the server's, the clients' memories, and the best model, each by itself."""

from dataclasses import dataclass
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import SIZES, TRAINING, K, Stepper, assert_same_tree, points, unpack

import jfed
from jfed.algorithms import local_sgd
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated
from jfed.core.options import static
from jfed.core.types import Dims, Estimates, Problem
from jfed.runner import units
from jfed.runner.checkpoint import named
from jfed.runner.units import Layout

pytestmark = pytest.mark.check


@dataclass(frozen=True)
class Counting(local_sgd.LocalOptions):
    """FedAvg whose clients count the rounds in which they trained, and whose server counts those in which any did."""

    costly: bool = static(True)
    estimates: bool = static(False)

    def params(self, problem: Problem) -> Any:
        """Return the options as arrays."""
        return self.local_params(problem)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        plain = self.local_sgd(dims, loss)

        def start(key, received, params, data):
            memory = jnp.int32(0) if received.memory is None else received.memory
            return plain.start(key, received, params, data), memory, received.server

        def step(local, weights, params, data):
            return plain.step(local[0], weights, params, data), *local[1:]

        def finish(local, weights, params):
            answer, zero = plain.finish(local[0], weights, params), jnp.zeros((), jnp.result_type(float))
            if self.estimates:
                best = zero - local[2].astype(zero.dtype)  # so the best model is never an older one
                told = Estimates(zero, best, zero, zero, jnp.bool_(True), zero)
                return answer._replace(report=answer.report._replace(estimates=told))
            return answer._replace(memory=local[1] + 1)

        def aggregate(server, weights, params, answers):
            made = plain.aggregate(None, weights, params, answers)
            return Aggregated(made.weights, server + 1, made.reports)

        return Algorithm(
            start, step, finish, aggregate, costly=self.costly, estimates=self.estimates,
            init=lambda key, params, weights: jnp.int32(0),
            remember=None if self.estimates else lambda key, weights, positions: jnp.int32(0),
        )  # fmt: skip


SOME = {"training__samples_per_client": SIZES, "environment__success_rates": (0.4, 0.9), "cohort_size": 2}


@pytest.mark.parametrize(
    ("lane", "costly"),
    [("sequential", True), pytest.param("sequential", False, marks=pytest.mark.proof), ("vmapped", True)],
)
def test_clients_remember_without_making_estimates(lane, costly):
    """A client does not remember a round in which it failed, or made no step because it has no images."""
    layout = Layout(block_size=2, chunk_rounds=1, record_selected=True, lane=lane)
    one = Stepper(points(TRAINING, "uniform", **SOME, training__algorithm=Counting(costly=costly)), [11, 15], layout)
    rounds, empty, trained = (
        np.zeros(2, int),
        0,
        np.zeros((2, K), int),
    )  # with these seeds clients without images return, and in some rounds no others
    for t in range(1, 7):
        before = one.host()
        record, _ = one.step(t)
        after = one.host()
        back = after.times_succeeded - before.times_succeeded
        trained += back * (np.asarray(one.block.num_samples) > 0)
        np.testing.assert_array_equal(after.clients, trained)
        counts = (back * one.block.num_samples > 0).any(1)
        rounds += counts
        empty += int((back * (np.asarray(one.block.num_samples) == 0)).sum())
        np.testing.assert_array_equal(after.server, rounds)
        for i in np.flatnonzero(~counts):
            assert_same_tree(*(jax.tree.map(lambda x, i=i: x[i], s.weights) for s in (before, after)))
        assert unpack(record, K).sum() == 4
    assert after.best is None and empty > 0 and (rounds < 6).any()
    assert {name for name in named("state", after) if "server" in name or "clients" in name} == {
        "state.server", "state.clients"
    }  # fmt: skip


def test_estimates_without_a_memory():
    delta = {**SOME, "training__algorithm": Counting(estimates=True), "training__final_model": "best"}
    one = Stepper(points(TRAINING, "uniform", **delta), [0], Layout(block_size=1, chunk_rounds=1))
    start = one.host()
    for t in (1, 2, 3):
        one.step(t)
    after = one.host()
    assert after.clients is None
    assert_same_tree(after.best, start.weights)  # an estimate of 0 is not below that of the best model
    assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (after.weights, start.weights)), strict=True))


@pytest.mark.parametrize("algorithm", ["fedavgm", pytest.param("scaffold", marks=pytest.mark.proof)])
def test_what_the_server_keeps_stays_where_a_run_breaks(algorithm):
    delta = {"training__algorithm": algorithm, "training__algorithm__learning_rate": 1e38}
    one = Stepper(points(TRAINING, "uniform", **delta, environment__success_rates=(0.6, 0.9)), [0, 1])
    kept = one.host()
    for t in range(1, 7):
        before = one.host()
        one.step(t)
        after = one.host()
        chex.assert_tree_all_finite(after.server)
        for i in np.flatnonzero(after.broken_round):
            assert_same_tree(*(jax.tree.map(lambda x, i=i: x[i], s.server) for s in (before, after)))
    assert (after.broken_round > 0).all() and kept.server is not None


@pytest.mark.parametrize(
    ("delta", "sentence"),
    [
        ({"training.final_model": "best"}, 'final_model "best" needs clients that estimate losses'),
        ({"controller": "adaptive"}, 'Adaptive tau, and the stop rule "best", need clients that make estimates'),
    ],
)
def test_a_memory_is_no_estimate(delta, sentence):
    config = jfed.replace(TRAINING, {"training.algorithm": "scaffold", **delta})
    with pytest.raises(jfed.ConfigError, match=sentence):
        units.plan([jfed.Point(config, {})], [0], Layout())
