"""The contract of every algorithm: constant shapes, exact steps, and a server that hears only clients that returned."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed import catalog
from jfed.core.learning import Answers, ClientData, Received, Report
from jfed.core.options import is_static
from jfed.core.types import Dims, Estimates, Problem
from jfed.models import classifier
from jfed.models.classifier import Inputs
from jfed.models.losses import mean_loss

pytestmark = pytest.mark.check

K, BATCH, WIDTH = 8, 4, 20
PROBLEM, DIMS = Problem(K, 3, 50), Dims(K, 4, BATCH)
SLOTS = 5
rng = np.random.default_rng(0)
POOL = jnp.asarray(rng.integers(0, 17, (40, 8, 8, 1)), jnp.uint8)
LABELS = jnp.asarray(rng.integers(0, 10, 40), jnp.int32)
# Clients without images, with one, with fewer than a batch, without a step, and with more than two epochs.
SIZES = jnp.array([0, 1, 3, 20, 20], jnp.int32)
STEPS = jnp.array([2, 2, 3, 0, 12], jnp.int32)
MODEL = classifier.make(catalog.find("model", "linear"), Inputs(POOL.shape[1:], 10, 16.0, 0.1, 0.5))


def sketch(tree):
    """Return shapes and types; a weak type in the first state alone would compile every chunk twice."""
    return jax.tree.map(lambda x: (x.shape, x.dtype, x.weak_type), tree)


class Trained:
    """Five clients trained by an algorithm, from a server state and memories that are not all 0."""

    def __init__(self, name: str) -> None:
        options = catalog.find("algorithm", name)
        self.algorithm = algorithm = options.make(DIMS, mean_loss(MODEL))
        self.params = jax.tree.map(jnp.asarray, options.params(PROBLEM))
        if algorithm.at_round is not None:
            self.params = algorithm.at_round(self.params, jnp.int32(3))
        self.weights = weights = MODEL.init(jax.random.key(0))
        positions = jnp.arange(WIDTH, dtype=jnp.int32)
        self.server = self.memory = None
        if algorithm.init is not None:
            self.server = jax.jit(algorithm.init)(jax.random.key(3), self.params, weights)
        if algorithm.remember is not None:
            self.memory = algorithm.remember(jax.random.key(2), weights, positions)

        @jax.jit
        @jax.vmap
        def train(num_samples, steps):
            data = ClientData(POOL, LABELS, positions, num_samples)
            best = weights if algorithm.estimates else None
            received = Received(weights, steps, self.server, self.memory, best)
            local = start = algorithm.start(jax.random.key(1), received, self.params, data)
            local = jax.lax.fori_loop(0, steps, lambda _, s: algorithm.step(s, weights, self.params, data), local)
            assert sketch(local) == sketch(start)
            answer = algorithm.finish(local, weights, self.params)
            assert sketch(answer.memory) == sketch(self.memory)
            assert sketch(answer.move) == sketch(weights)
            return answer, local.step

        self.answer, self.steps = train(SIZES, STEPS)

    def aggregate(self, returned, answer=None):
        answer = answer or self.answer
        share = jnp.array([0.0, 0.05, 0.15, 0.4, 0.4])
        answers = Answers(answer.move, answer.report, share, jnp.asarray(returned), answer.more)
        return self.algorithm.aggregate(self.server, self.weights, self.params, answers)


@pytest.fixture(scope="module", params=catalog.names("algorithm"))
def trained(request):
    return Trained(request.param)


def test_a_client_makes_its_steps_and_says_what_it_must(trained):
    assert trained.steps.tolist() == STEPS.tolist()
    move, report = trained.answer.move, trained.answer.report
    norms = np.array([np.abs(leaf).reshape(SLOTS, -1).max(1) for leaf in jax.tree.leaves(move)]).max(0)
    assert np.isfinite(norms).all()
    assert norms[0] == 0 and norms[3] == 0  # no image, or no step: nothing changes
    assert (norms[[1, 2, 4]] > 0).all()
    assert np.isnan(report.loss[3]) and np.isfinite(report.loss[jnp.array([0, 1, 2, 4])]).all()
    assert isinstance(report, Report) and (report.estimates is not None) == trained.algorithm.estimates
    if trained.algorithm.estimates:
        assert isinstance(report.estimates, Estimates) and np.isfinite(jax.tree.leaves(report.estimates)).all()
        assert trained.algorithm.costly


def test_the_server_keeps_its_shapes_and_moves_the_model(trained):
    made = trained.aggregate([True] * SLOTS)
    assert sketch(made.server) == sketch(trained.server) and sketch(made.weights) == sketch(trained.weights)
    assert type(made.reports) is Report
    leaves = zip(jax.tree.leaves(made.weights), jax.tree.leaves(trained.weights), strict=True)
    assert any((np.asarray(a) != np.asarray(b)).any() for a, b in leaves)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((made.weights, made.server)))


def test_who_does_not_return_is_not_heard(trained):
    """The content of a slot whose client did not return changes nothing, even if it is NaN."""
    returned = np.array([True, False, True, True, False])

    def poisoned(x):
        gone = ~returned.reshape(-1, *[1] * (x.ndim - 1))
        return jnp.where(gone, jnp.full((), jnp.nan, x.dtype) if x.dtype.kind == "f" else jnp.ones((), x.dtype), x)

    clean, dirty = trained.aggregate(returned), trained.aggregate(returned, jax.tree.map(poisoned, trained.answer))
    for a, b in zip(*(jax.tree.leaves((m.weights, m.server)) for m in (clean, dirty)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()


def test_options_and_names():
    for kind in catalog.members("algorithm"):
        options = kind()
        assert hash(options) == hash(kind())
        for field in dataclasses.fields(options):
            assert field.default is not dataclasses.MISSING or not is_static(field)
        assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(options.params(PROBLEM)))
        assert "learning_rate" in {field.name for field in dataclasses.fields(options)}
    for name in catalog.names("algorithm"):
        assert catalog.label(catalog.find("algorithm", name)) == name
    wanted = {"fedavg", "fedprox", "fedavgm", "fedadam", "fedyogi", "fedadagrad", "scaffold", "scaffold-i", "fednova"}
    wanted |= {"mifa", "fedvarp", "feddyn", "fedau"}
    assert wanted | {"adaptive", "q-fedavg"} == set(catalog.names("algorithm"))


def test_with_equal_steps_fednova_is_fedavg():
    """They agree whatever the shares add up to: the reading "all" shrinks a round once, not twice."""
    nova, plain = Trained("fednova"), Trained("fedavg")
    answer = jax.tree.map(lambda x: x[jnp.array([4, 4, 4, 4, 4])], nova.answer)
    other = jax.tree.map(lambda x: x[jnp.array([4, 4, 4, 4, 4])], plain.answer)
    returned = [True, True, False, True, False]
    pairs = (nova.aggregate(returned, answer).weights, plain.aggregate(returned, other).weights)
    for a, b in zip(*map(jax.tree.leaves, pairs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_without_momentum_and_at_rate_1_fedavgm_is_fedavg():
    momentum, plain = Trained("fedavgm"), Trained("fedavg")
    momentum.params = momentum.params._replace(server=momentum.params.server._replace(beta=jnp.float32(0)))
    pairs = (momentum.aggregate([True] * 5, plain.answer).weights, plain.aggregate([True] * 5).weights)
    for a, b in zip(*map(jax.tree.leaves, pairs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
