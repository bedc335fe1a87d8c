"""Runs on the user's own data: features and images, arrays and files, owners, sources from outside."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as extra
from support import Stepper, assert_same_bits, run

import jfed
from jfed import catalog
from jfed.config import normal
from jfed.core.errors import ConfigError, DataError
from jfed.data import synthetic
from jfed.engine import simulate
from jfed.envs import volatility
from jfed.models import classifier
from jfed.models.classifier import Inputs, scaled
from jfed.runner import feed, units

pytestmark = pytest.mark.check

OWNERS = np.repeat(["ada", "bea", "cyd", "dan"], [20, 12, 9, 3])
LABELS = np.random.default_rng(0).integers(0, 2, len(OWNERS))
FEATURES = np.random.default_rng(1).normal(size=(len(OWNERS), 3)) + 3 * LABELS[:, None]
MINE = jfed.arrays(FEATURES, LABELS, clients=OWNERS)
LAYOUT = jfed.Layout(block_size=1, chunk_rounds=2)


def config(num_clients=4, num_rounds=2, **training):
    return jfed.Config(
        num_clients=num_clients,
        cohort_size=min(2, num_clients),
        num_rounds=num_rounds,
        selector="uniform",
        environment=volatility.Options(success_rates=(1.0,)),
        training=jfed.Training(**{"dataset": MINE, "batch_size": 5} | training),
    )


def points(*args, **kwargs):
    return [jfed.Point(config(*args, **kwargs), {"method": "uniform"})]


def identity(**training):
    return units.plan(points(**training), [0], LAYOUT)[0].id


def test_clients_are_owners_and_a_file_is_its_arrays(tmp_path):
    found = run(points(), [0], LAYOUT)
    assert found["num_samples"].values.tolist() == [[18, 11, 9, 3]] and found["dataset"].values.tolist() == ["mine"]
    assert np.isfinite(found["test_loss"].values).all() and np.isfinite(found["client_loss"].values).all()
    path = tmp_path / "mine.npz"
    np.savez(path, images=FEATURES.astype(np.float32), labels=LABELS, clients=OWNERS)
    again = run(points(dataset=str(path)), [0], LAYOUT)
    assert_same_bits(found, again)
    assert found["config"].values.tolist() == again["config"].values.tolist()
    assert feed.pool(MINE, None) is feed.pool(str(path), None)  # copied to the device once


def test_what_a_training_means_by_default_hangs_on_owners():
    owned = normal(config()).training
    assert (owned.partition, owned.samples_per_client) == ("natural", None)
    digits = normal(config(dataset="digits")).training
    assert (digits.partition, digits.samples_per_client) == ("primary", 500)
    assert identity() == identity(partition="natural") != identity(samples_per_client=11)
    unowned = jfed.arrays(FEATURES, LABELS)
    said = config(dataset=unowned, partition="primary", samples_per_client=500)
    assert normal(config(dataset=unowned)) == said != config(dataset=unowned)
    assert identity() != identity(dataset=jfed.arrays(-FEATURES, LABELS, clients=OWNERS))


def counts(**training):
    (unit,) = units.plan(points(**training), [0, 1], jfed.Layout(block_size=2))
    return unit.block().num_samples.tolist()


def test_partitions_by_labels_go_on_working_on_data_with_owners():
    assert counts(partition="iid", samples_per_client=10) == [[9] * 4] * 2
    assert counts(samples_per_client=10) == [[9, 9, 9, 3]] * 2  # natural: a cap
    least = (("min_samples", 9),)
    assert {tuple(n) for n in counts(num_clients=2, partition_options=least)} <= {(18, 11), (18, 9), (11, 9)}


SOURCE_OF = (
    r"The data set must be a name, the path of an \.npz file or jfed\.arrays\(images, labels\), or options on"
    r" jfed\.DataOptions, found {}\."
)
REFUSED = {
    "official tests": (
        {"test_set": "official"},
        "'mine' has no test examples of its own: set training.test_set to 'res",
    ),
    "too many clients": (
        {"num_clients": 5},
        "only 4 of the 4 owners have at least 1 examples: set num_clients to at mo",
    ),
    "too few examples": ({"partition_options": (("min_samples", 10),)}, "only 2 of the 4 owners have at least 10"),
    "no owners": ({"dataset": "digits", "partition": "natural"}, "needs owners, which this data set does not have"),
    "sizes of each": ({"samples_per_client": (1, 2, 3, 4)}, "samples_per_client can be one number"),
    "convolutions": ({"model": "cnn"}, r"needs images \(height, width, channels\), found examples of shape \(3,\)"),
    "an array": ({"dataset": FEATURES}, SOURCE_OF.format(r"ndarray of shape \(44, 3\)")),
    "arrays": (
        {"dataset": (FEATURES, LABELS)},
        SOURCE_OF.format(r"\(ndarray of shape \(44, 3\), ndarray of shape \(44,\)\)"),
    ),
    "a mapping of arrays": (
        {"dataset": {"images": FEATURES}},
        SOURCE_OF.format(r"\{'images': ndarray of shape \(44, 3\)\}"),
    ),
    "another file": ({"dataset": "mine.csv"}, r"synthetic-iid, or the path of an \.npz file or jfed\.arrays\("),
    "no such owner": (
        {"partition_options": {"min_samples": 21}},
        "no owner has 21 examples, the largest has 20: set min_samples to at most that",
    ),
    "unknown": ({"dataset": "syntetic"}, "did you mean 'synthetic-"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_before_anything_compiles(case):
    change, match = REFUSED[case]
    before = len(simulate.TRACES)
    with pytest.raises(ConfigError, match=match) as caught:
        run(points(**change), [0], LAYOUT)
    assert len(simulate.TRACES) == before and not re.search(r"\n\S", str(caught.value)[:80])


def test_features_are_scaled_by_hand():
    x = np.array([[1.0, 40.0], [3.0, 20.0], [-4.0, 30.0]])
    data = jfed.arrays(x, [0, 1, 0]).load()
    inputs = Inputs(data.images.shape[1:], 2, data.max_value, data.mean, data.std, 2.0**-23)
    by = {how: np.asarray(scaled(jnp.asarray(data.images), inputs, how)) for how in ("dataset", "unit", "image")}
    np.testing.assert_allclose(by["dataset"], (x - x.mean(0)) / x.std(0), rtol=1e-5)
    np.testing.assert_allclose(by["unit"], x / 40, rtol=1e-6)
    np.testing.assert_allclose(by["image"], [[-1, 1]] * 3, rtol=1e-5)
    flat = scaled(jnp.full((1, 5), 0.3), inputs._replace(shape=(5,)), "image")
    assert float(jnp.abs(flat).max()) < 1  # nothing is divided by 0


@pytest.mark.parametrize("name", ["linear", "mlp", "svm"])
def test_dense_models_take_features_of_any_shape(name):
    x = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(np.float32)
    model = classifier.make(catalog.find("model", name), Inputs((2, 3), 4, 1.0, (0.0, 1.0, 2.0), (1.0, 2.0, 3.0)))
    with jax.disable_jit():
        weights = model.init(jax.random.key(0))
        logits = model.logits(weights, jnp.asarray(x))
    assert logits.shape == (5, 1 if name == "svm" else 4) and np.isfinite(logits).all()
    assert 6 in {size for leaf in jax.tree.leaves(weights) if leaf.ndim == 2 for size in leaf.shape}


@st.composite
def data_sets(draw):
    """Draw accepted data sets: small, of several shapes, with and without owners."""
    kinds = [(np.uint8, (4, 4, 1)), (np.uint8, (3, 2)), (np.float32, (2, 2)), (np.float32, ())]
    kind, shape = draw(st.sampled_from(kinds))
    many = draw(st.integers(2, 12))
    numbers = st.integers(0, 255) if kind is np.uint8 else st.floats(-1e6, 1e6, width=32)
    images = draw(extra.arrays(kind, (many, *shape), elements=numbers))
    labels = np.arange(many) % draw(st.integers(1, min(3, many)))
    owners = draw(st.none() | st.lists(st.integers(-2, 2), min_size=many, max_size=many))
    return jfed.arrays(images, labels, images, labels, clients=owners)


@settings(max_examples=3)
@given(source=data_sets())
def test_whatever_is_accepted_trains_a_round(source):
    own = {} if source.has_owners() else {"samples_per_client": 2, "partition": "iid"}
    stepper = Stepper(points(1, 1, dataset=source, test_set="official", **own), [0])
    record, quality = stepper.step(1)
    assert record.num_steps.item() > 0 and np.isfinite(quality.loss).all()
    assert np.asarray(stepper.state.broken_round).tolist() == [0]


SOURCE = '''
from dataclasses import dataclass

import numpy as np

import jfed


@dataclass(frozen=True)
class Rings(jfed.DataOptions):
    """Two rings around the origin."""

    noise: float = jfed.static(0.1)
    broken: str = jfed.static("")

    def load(self, data_dir=None):
        rng = np.random.default_rng(0)
        labels, angle = np.arange(40) % 2, rng.uniform(0, 2 * np.pi, 40)
        x = (1 + labels) * np.stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, self.noise, (2, 40))
        made = jfed.arrays(x.T, labels, clients=labels if self.broken == "owners" else None, name="rings")
        return made if self.broken == "type" else made.load()
'''


def test_a_source_from_outside(tmp_path):
    path = tmp_path / "my_rings.py"
    path.write_text(SOURCE)
    (kind,) = catalog.load_file(path)
    assert "rings" in catalog.names("dataset")
    found = normal(config(dataset="rings", samples_per_client=5)).training
    assert found.dataset == kind(noise=0.1) and found.partition == "primary"
    assert feed.dataset("rings", None).name == "rings" and feed.dataset("rings", None) is feed.dataset(kind(), None)
    with pytest.raises(ConfigError, match=r"Rings\.load must return a data set, .*\.load\(\), found Arrays"):
        feed.dataset(kind(broken="type"), None)
    with pytest.raises(ConfigError, match=r"with owners: let its has_owners\(\) return True"):
        feed.dataset(kind(broken="owners"), None)
    jfed.register("ours", MINE)
    assert jfed.Training(dataset="Ours").dataset == MINE


def test_synthetic_data_are_a_member():
    small = synthetic.Options(owners=4, features=3, classes=2, log_size=(1.0, 0.5), least=6, alpha=0, beta=1)
    (unit,) = units.plan(points(dataset=small, test_fraction=0.3), [0, 1], jfed.Layout(block_size=2))
    assert unit.config.training.dataset.alpha == 0.0 and isinstance(unit.config.training.dataset.alpha, float)
    owners = small.load().owners
    kept = np.bincount(owners) - np.floor(0.3 * np.bincount(owners) + 1e-9)
    assert unit.block().num_samples.tolist() == [kept.tolist()] * 2
    assert unit.spec.training.inputs[:5] == ((3,), 2, 1.0, 0.0, 1.0)
    with pytest.raises(DataError, match="owners of at least 1, found 0"):
        units.plan(points(dataset=synthetic.Options(owners=0)), [0], LAYOUT)
