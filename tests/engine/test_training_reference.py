"""The engine's training beside the NumPy reference, which was written from the paper, independently of the engine.

Exogenous draws are recomputed from `jfed.core.prng` and handed to the reference, which computes everything else itself.
In float64 the two run freely side by side; in float32 each round of the reference starts from the engine's state.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
import pytest
from recomputed import (
    BATCH,
    LOCAL,
    MOMENTUM,
    RATE,
    SIZES,
    World,
    assert_close,
    reference_model,
)
from reference import selectors as ref_selectors
from reference import training as ref_training
from support import Stepper, unpack

import jfed
from jfed.algorithms import local_sgd
from jfed.core import ops, prng
from jfed.models import dense
from jfed.selectors import e3cs, pow_d, uniform

pytestmark = pytest.mark.check

PROX = (0.0, 0.5)


def training_stepper(model: str, missing: str, selector: object) -> Stepper:
    hidden = {"softmax": (), "mlp": (5,)}[model]
    base = jfed.Config(
        num_clients=LOCAL,
        cohort_size=4,
        num_rounds=4,
        selector=selector,
        training=jfed.Training(
            samples_per_client=SIZES,
            batch_size=BATCH,
            test_set="official",
            model=dense.Options(hidden=hidden),
            average_over=missing,  # type: ignore[arg-type]
        ),
    )
    rates = [local_sgd.Options(learning_rate=RATE, momentum=MOMENTUM, prox=mu) for mu in PROX]
    where = [jfed.Point(jfed.replace(base, {"training.algorithm": rate}), {"prox": rate.prox}) for rate in rates]
    return Stepper(where, [5])


class Seen(NamedTuple):
    """One run in one round, for a check of its selector.

    Attributes:
        world: data and draws of the run.
        t: the round.
        model: the reference's model before the round.
        chosen: the cohort.
        losses: mean training losses of the clients that returned, by the reference.
        probed: number of clients that were probed.
        selector: state of the engine's selector after the round.
    """

    world: World
    t: int
    model: ref_training.Params
    chosen: np.ndarray
    losses: dict[int, float]
    probed: int
    selector: object


def check_training(
    model: str, missing: str, selector: object, atol: float, free: bool, also: Callable[[Seen], None]
) -> Stepper:
    """Check four rounds of FedAvg and of FedProx; `free` lets the reference run on from its own model."""
    stepper = training_stepper(model, missing, selector)
    worlds = [World(stepper, i) for i in range(len(PROX))]
    initial = stepper.host().weights
    mine = [reference_model(jax.tree.map(lambda w, i=i: w[i], initial)) for i in range(len(PROX))]
    moved = []
    for t in range(1, stepper.config.num_rounds + 1):
        if not free:
            now = stepper.host().weights
            mine = [reference_model(jax.tree.map(lambda w, i=i: w[i], now)) for i in range(len(PROX))]
        record, quality = stepper.step(t)
        chosen, weights = unpack(record, LOCAL), stepper.host().weights
        for i, mu in enumerate(PROX):
            before = mine[i]
            mine[i], losses = worlds[i].round(mine[i], t, chosen[i], mu, missing)
            state = jax.tree.map(lambda leaf, i=i: leaf[i], stepper.host().selector)
            also(Seen(worlds[i], t, before, chosen[i], losses, int(record.num_probed[i]), state))
            assert_close(jax.tree.map(lambda w, i=i: w[i], weights), mine[i], atol)
            assert record.num_steps[i] == worlds[i].steps(t, chosen[i])
            w = worlds[i]
            accuracy, loss = ref_training.evaluate(mine[i], w.x[w.test], w.y[w.test])
            assert quality.loss[i] == pytest.approx(loss, abs=10 * atol)
            assert quality.accuracy[i] == pytest.approx(accuracy, abs=1e-6 if atol < 1e-8 else 0.01)
            moved.append(max(abs(a - b).max() for a, b in zip(*map(jax.tree.leaves, (before, mine[i])), strict=True)))
    assert np.count_nonzero(np.array(moved) > 1e-4) >= 6  # of 8: the models do learn
    final = stepper.finish()
    for i, w in enumerate(worlds):
        for client in np.flatnonzero(w.n):
            rows = w.positions[client, : w.n[client]]
            accuracy, loss = ref_training.evaluate(mine[i], w.x[rows], w.y[rows])
            assert final.loss[i, client] == pytest.approx(loss, abs=100 * atol)
            assert final.accuracy[i, client] == pytest.approx(accuracy, abs=1e-6 if atol < 1e-8 else 0.2)
    return stepper


def nothing_else(seen: Seen) -> None:
    assert seen.probed == 0


def check_pow_d(seen: Seen) -> None:
    """Check that five candidates are drawn and probed, and the four with the largest loss on their data selected."""
    w = seen.world
    rows = [w.positions[c, : w.n[c]] for c in range(LOCAL)]
    losses = np.array([ref_training.evaluate(seen.model, w.x[r], w.y[r])[1] if len(r) else 0.0 for r in rows])
    draw = ops.log_exponential(prng.at(w.keys.selector, seen.t, 0), LOCAL)
    candidates = ref_selectors.pow_d_candidates(w.n, np.exp(np.asarray(draw)), 5)
    expected = ref_selectors.pow_d(losses, candidates, 4, np.zeros(LOCAL))  # no ties in float64
    np.testing.assert_array_equal(seen.chosen, expected)
    assert seen.probed == 5


def rpow_d_checker() -> Callable[[Seen], None]:
    """Return a check that no client is probed, and that the last reported mean training loss of each is remembered."""
    memory: dict[int, np.ndarray] = {}

    def check(seen: Seen) -> None:
        last = memory.setdefault(id(seen.world), np.full(LOCAL, np.inf))
        draw_key, tie_key = jax.random.split(prng.at(seen.world.keys.selector, seen.t, 1))
        draw = ops.log_exponential(draw_key, LOCAL)
        candidates = ref_selectors.pow_d_candidates(seen.world.n, np.exp(np.asarray(draw)), 5)
        ties = np.asarray(prng.uniform(tie_key, LOCAL))
        np.testing.assert_array_equal(seen.chosen, ref_selectors.rpow_d(last, candidates, 4, ties))
        for client, loss in seen.losses.items():
            last[client] = loss if np.isfinite(loss) else last[client]
        np.testing.assert_allclose(seen.selector.last_loss, last, rtol=0, atol=1e-9)
        assert seen.probed == 0

    return check


EVERY = list(itertools.product(["softmax", "mlp"], ["all", "selected", "returned"]))
QUICK = {
    ("softmax", "selected"): (e3cs.Options(), lambda: nothing_else),
    ("softmax", "returned"): (pow_d.Options(d=5, form="rpow-d"), rpow_d_checker),
    ("mlp", "all"): (pow_d.Options(d=5), lambda: check_pow_d),
}


@pytest.mark.parametrize(
    ("model", "missing"), [m if m in QUICK else pytest.param(*m, marks=pytest.mark.proof) for m in EVERY]
)
def test_training_runs_freely_beside_the_reference(model, missing):
    selector, also = QUICK.get((model, missing), (uniform.Options(), lambda: nothing_else))
    with jax.enable_x64(True):
        stepper = check_training(model, missing, selector, 1e-10, True, also())
        assert stepper.host().weights["out"]["kernel"].dtype == np.float64


def test_training_round_by_round_in_float32():
    check_training("softmax", "all", e3cs.Options(), 2e-6, False, nothing_else)
