"""Facts that a selector wants of the clients: each against NumPy, on both lanes; and none that it does not want."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recomputed import BATCH, LOCAL, RATE, SIZES, World, reference_model, success
from reference import training as ref
from support import SELECTION, K, Stepper

import jfed
from jfed import contracts
from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.members import SelectorOptions
from jfed.core.options import static
from jfed.core.types import Cohort, Dims, Facts
from jfed.engine import facts
from jfed.runner import units
from jfed.runner.units import Layout

pytestmark = pytest.mark.check

ROUNDS, SIZE = 5, 3


@dataclass(frozen=True)
class Curious(SelectorOptions):
    """A scheme that selects at random and remembers the facts of the last round."""

    wants: tuple[str, ...] = static(Facts._fields)
    size: int = static(SIZE)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key, params):
            nothing = jnp.full(dims.num_clients, jnp.nan, jnp.result_type(float))
            told = dict.fromkeys(self.wants, nothing)
            return told | ({"sketch": jnp.tile(nothing[:, None], self.size)} if "sketch" in told else {})

        def select(key, state, params, view):
            draw = jax.random.uniform(key, view.available.shape)
            return state, Cohort(ops.smallest(draw, params.k, view.available), jnp.full(draw.shape, jnp.nan))

        def update(state, params, view, cohort, feedback):
            for name in Facts._fields:
                assert (getattr(feedback.facts, name) is not None) == (name in self.wants), name
            return {name: getattr(feedback.facts, name) for name in self.wants}

        return Selector(init, select, update, wants=self.wants, sketch_size=self.size)


def stepper_of(lane: str) -> Stepper:
    config = jfed.Config(
        num_clients=LOCAL,
        cohort_size=4,
        num_rounds=ROUNDS,
        eval_every=ROUNDS,
        selector=Curious(),
        training=jfed.Training(
            samples_per_client=SIZES, batch_size=BATCH, test_set="official", average_over="returned",
            algorithm=jfed.catalog.find("algorithm", "fedavg"),
        ),
    )  # fmt: skip
    config = jfed.replace(config, {"training.algorithm.learning_rate": RATE})
    layout = Layout(block_size=2, chunk_rounds=1, record_selected=True, lane=lane)
    return Stepper([jfed.Point(config, {})], [5, 13], layout)  # with 13 the client without images returns


def told_by(world: World, t: int, client: int, model: Any) -> dict[str, Any]:
    """Return the facts that a returned client should report, by the reference."""
    rows = world.positions[client, : world.n[client]]
    data = [(world.x[batch], world.y[batch]) for batch in world.batches(t, client)]
    own, _ = ref.local_sgd(model, data, RATE, 0.9)
    move = np.concatenate(
        [(own[n] - model[n]).T.ravel() for n in ("bias", "kernel")]
    )  # in the order of a tree's leaves
    found = {"update_norm": np.linalg.norm(move), "move": move}
    if not len(rows):
        return found | dict.fromkeys(facts.ON_IMAGES, np.nan)
    x, y = world.x[rows], world.y[rows]
    each = -ref.log_softmax(ref.logits(model, x))[np.arange(len(y)), y]
    loss, gradient = ref.loss_and_grad(model, x, y)
    return found | {
        "loss_before": loss,
        "loss_after": ref.loss_and_grad(own, x, y)[0],
        "loss_sq": np.mean(each**2),
        "accuracy": ref.evaluate(model, x, y)[0],
        "gradient_norm": np.sqrt(sum(np.sum(g**2) for g in gradient.values())),
    }


def signs(world: World, sizes: tuple[int, ...]) -> np.ndarray:
    """Return a run's projection: for each leaf of the model, a bit of a random word for each number and dimension."""
    key = prng.at(world.keys.training, 0, LOCAL)
    words = [np.asarray(prng.words(jax.random.fold_in(key, i), n)) for i, n in enumerate(sizes)]
    bits = (np.concatenate(words)[:, None] >> np.arange(SIZE, dtype=np.uint32)) & 1
    return (2.0 * bits - 1) / np.sqrt(SIZE)


@pytest.mark.parametrize("lane", ["sequential", "vmapped"])
def test_facts_are_those_of_numpy(lane):
    with jax.enable_x64(True):
        stepper = stepper_of(lane)
        worlds = [World(stepper, i) for i in range(2)]
        projections = [signs(w, (10, 640)) for w in worlds]
        told = np.zeros(2, int)
        for t in range(1, ROUNDS + 1):
            before = stepper.host()
            record, _ = stepper.step(t)
            after = stepper.host()
            chosen = np.unpackbits(record.selected, axis=-1, count=LOCAL).astype(bool)
            for i, world in enumerate(worlds):
                model = reference_model(jax.tree.map(lambda w, i=i: w[i], before.weights))
                back = chosen[i] & success(world.keys, t, world.rates)
                for client in range(LOCAL):
                    got = {name: values[i, client] for name, values in after.selector.items()}
                    if not back[client]:
                        assert np.isnan(np.concatenate([np.ravel(x) for x in got.values()])).all()
                        continue
                    wanted = told_by(world, t, client, model)
                    wanted["sketch"] = wanted.pop("move") @ projections[i]
                    assert set(got) == set(wanted)
                    for name, value in wanted.items():
                        np.testing.assert_allclose(got[name], value, rtol=1e-7, atol=1e-9, err_msg=name)
                    told[int(world.n[client] > 0)] += 1
        assert (told > 0).all()  # clients with images, and without


def test_only_what_is_wanted_is_there():
    """The scheme itself checks each fact when it is traced."""
    config = jfed.replace(jfed.Config(K, 3, 4, selector=Curious(("loss_sq",))), {"training": jfed.Training()})
    config = jfed.replace(config, {"training.samples_per_client": 20, "training.batch_size": 8})
    (unit,) = units.plan([jfed.Point(config, {})], [0], Layout(block_size=1, chunk_rounds=1))
    from jfed.engine import simulate

    made, block, pool = simulate.program(unit.spec), unit.block(), unit.pool()
    state = made.shapes(block)
    after = jax.eval_shape(made.chunk, pool, block, state, simulate.clock(1, 2, 4, 1))[0]
    assert set(after.selector) == {"loss_sq"}


def test_the_rules_for_schemes_give_the_facts_that_are_wanted():
    found = contracts.check(Curious(), ["functions", "state", "watch"])
    assert [finding.sentence for finding in found if finding.sentence] == []
    (wrong,) = contracts.check(Curious(("los",)), ["functions"])
    assert "wants names an unknown fact 'los'" in str(wrong.sentence)


def test_a_projection_keeps_lengths_and_angles():
    matrix = np.asarray(facts.projection(jax.random.key(0), 20, 5000))
    assert set(np.round(np.unique(matrix) * np.sqrt(5000), 4)) == {-1.0, 1.0}
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(20), atol=5 / np.sqrt(5000))
    np.testing.assert_array_equal(matrix[:, :40], np.asarray(facts.projection(jax.random.key(0), 20, 5000))[:, :40])


@pytest.mark.parametrize(
    ("wants", "size", "training", "sentence"),
    [
        (
            ("loss_sq", "sketch"),
            3,
            None,
            "Mine wants loss_sq, sketch .*: set training=jfed.Training.*, or name a data set",
        ),
        (("los",), 3, jfed.Training(), "unknown fact in `wants`: 'los'"),
        (("sketch",), 0, jfed.Training(), "A sketch must have at least one dimension, found sketch_size = 0"),
    ],
)
def test_what_there_is_not_is_refused_before_anything_compiles(wants, size, training, sentence):
    config = jfed.replace(SELECTION, {"selector": Curious(wants, size), "training": training})
    with pytest.raises(jfed.ConfigError, match=sentence):
        units.plan([jfed.Point(config, {"method": "Mine"})], [0], Layout())
