"""Schemes that choose by losses and accuracies, in whole training runs: what they hear is what NumPy computes."""

import jax
import numpy as np
import pytest
from recomputed import BATCH, LOCAL, RATE, SIZES, World, reference_model, success
from reference import training as ref
from support import LAYOUT, TRAINING, K, Stepper, T, points, run

import jfed
from jfed.core import prng
from jfed.runner.units import Layout
from jfed.selectors import active, loss_proportional, oort, tifl

pytestmark = pytest.mark.check

ROUNDS = 4


def stepper_of(selector):
    config = jfed.Config(
        num_clients=LOCAL,
        cohort_size=4,
        num_rounds=ROUNDS,
        eval_every=ROUNDS,
        selector=selector,
        training=jfed.Training(
            samples_per_client=SIZES, batch_size=BATCH, test_set="official", average_over="returned",
            algorithm=jfed.catalog.find("algorithm", "fedavg"),
        ),
    )  # fmt: skip
    config = jfed.replace(config, {"training.algorithm.learning_rate": RATE})
    return Stepper([jfed.Point(config, {})], [5], Layout(block_size=1, chunk_rounds=1, record_selected=True))


def each(world, model, client):
    """Return the losses of the model on a client's images, and its accuracy there."""
    rows = world.positions[client, : world.n[client]]
    x, y = world.x[rows], world.y[rows]
    losses = -ref.log_softmax(ref.logits(model, x))[np.arange(len(y)), y]
    return losses, ref.evaluate(model, x, y)[0] if len(y) else np.nan


def told(selector):
    """Yield the state, the model that a round starts from, the world, and the selected and returned clients."""
    stepper = stepper_of(selector)
    world = World(stepper, 0)
    for t in range(1, ROUNDS + 1):
        before = stepper.host()
        record, _ = stepper.step(t)
        after = jax.tree.map(lambda x: x[0], stepper.host())
        chosen = np.unpackbits(record.selected, axis=-1, count=LOCAL).astype(bool)[0]
        model = reference_model(jax.tree.map(lambda w: w[0], before.weights))
        yield t, after, model, world, chosen, chosen & success(world.keys, t, world.rates)


def test_the_utility_of_oort():
    heard = 0
    for t, after, model, world, chosen, back in told(oort.Options()):
        for i in np.flatnonzero(back):
            losses, _ = each(world, model, i)
            wanted = world.n[i] * np.sqrt(np.mean(losses**2)) if len(losses) else 0.0
            assert after.selector.utility[i] == pytest.approx(wanted, rel=1e-4)
            assert after.selector.last[i] == t
            heard += 1
        assert (after.selector.duration_s[chosen] > 0).all()
    assert heard > 4


def test_the_valuation_of_active_federated_learning():
    heard = 0
    for _, after, model, world, _, back in told(active.Options()):
        for i in np.flatnonzero(back & (world.n > 0)):
            losses, _ = each(world, model, i)
            wanted = np.sqrt(world.n[i]) * losses.mean()
            assert after.selector.valuation[i] == pytest.approx(wanted, rel=1e-2)  # and the model's penalty
            heard += 1
    assert heard > 4


@pytest.mark.parametrize("form", ["reported", "probed"])
def test_accuracies_of_tifl(form):
    heard = 0
    for t, after, model, world, _, back in told(tifl.Options(tiers=2, interval=3, profile_rounds=1, accuracy=form)):
        here = world.n > 0
        for i in np.flatnonzero(here & (back if form == "reported" else t == 3)):
            assert after.selector.accuracy[i] == pytest.approx(each(world, model, i)[1], abs=1e-5)
            heard += 1
        assert (after.selector.accuracy[~here] == -1).all()
    assert heard > 4


NAMES = {"oort": 0, "tifl": 0, "tifl-reported": 0, "active-fl": 0, "loss-proportional": K, "loss-proportional-last": 0,
         "loss-proportional-unbiased": K}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_run_on_digits(name):
    reading = "unscaled" if "unbiased" in name else "returned"
    base = jfed.replace(TRAINING, {"training.average_over": reading, "environment.success_rates": (1.0,)})
    results = run(points(base, name, mode="corrected"), [0, 1], LAYOUT)
    many = results["num_selected"].values
    assert np.isfinite(results["test_accuracy"].values).all() and (results["num_probed"].values == NAMES[name]).all()
    assert (many <= 5).all() and (many > 0).all() and ((many == 5).all() or "unbiased" in name)
    assert results["test_loss"].values[:, -1].mean() < results["test_loss"].values[:, 0].mean()


def test_the_polls_of_tifl_are_counted():
    base = jfed.replace(TRAINING, {"selector": tifl.Options(tiers=2, interval=3, profile_rounds=2)})
    results = run([jfed.Point(base, {})], [0], LAYOUT)
    assert results["num_probed"].values[0].tolist() == [K if t % 3 == 0 else 0 for t in range(1, T + 1)]
    assert (results["selector_tier"].values[0, :2] == -1).all() and (results["selector_tier"].values[0, 2:] >= 0).all()


def test_unbiased_weights_train_as_the_average_of_all():
    """With one world and many draws, the mean move of the model is that of a round with all clients."""
    changed = {"training.average_over": "unscaled", "num_rounds": 1, "environment.success_rates": (1.0,)}
    base, seeds = jfed.replace(TRAINING, changed), [prng.seeds(i, 0, 0, 0) for i in range(48)]
    moves = []
    for selector in (loss_proportional.Options(weights="unbiased"), jfed.catalog.scheme("everybody")):
        stepper = Stepper([jfed.Point(jfed.replace(base, {"selector": selector}), {})], seeds)  # type: ignore[arg-type]
        before = stepper.host().weights
        stepper.step(1)
        moved = jax.tree.map(lambda a, b: (a - b).reshape(len(seeds), -1), stepper.host().weights, before)
        moves.append(np.concatenate(jax.tree.leaves(moved), 1).astype(float))
    apart = moves[0] - moves[1]  # clients draw the same batches in both
    error = apart.std(0) / np.sqrt(len(seeds))
    moving = error > 1e-7
    assert moving.sum() > 100
    assert np.sqrt(np.mean((apart.mean(0)[moving] / error[moving]) ** 2)) < 2.5
    assert np.linalg.norm(apart.mean(0)) < 0.5 * np.linalg.norm(moves[1].mean(0))
