"""The contracts of every world, controller, algorithm and model."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.contracts.check import BENCHES
from jfed.contracts.finding import findings
from jfed.controllers import epochs, fixed
from jfed.core.errors import ConfigError
from jfed.core.interfaces import Model
from jfed.core.types import Cohort, Dims, Plan, Problem, View
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.envs import volatility
from jfed.models import classifier
from jfed.models.classifier import Inputs
from jfed.models.losses import cross_entropy, mean_loss, squared_hinge

pytestmark = pytest.mark.check

K, BATCH, ROUNDS = 8, 4, 50
PROBLEM = Problem(K, 3, ROUNDS)
DIMS = Dims(K, 4, BATCH)
SIZES = jnp.array([0, 1, 3, 4, 5, 8, 9, 20], jnp.int32)


def view(t=1) -> View:
    return View(
        round=jnp.int32(t),
        horizon=jnp.int32(ROUNDS),
        available=jnp.ones(K, bool),
        num_samples=SIZES,
        context=jnp.ones((K, 1)),
        probed=jnp.full(K, jnp.nan),
        probed_accuracy=jnp.full(K, jnp.nan),
        oracle=None,
    )


def cohort(*who: int) -> Cohort:
    return Cohort(jnp.zeros(K, bool).at[jnp.array(who)].set(True), jnp.full(K, jnp.nan))


def sketch(tree):
    return jax.tree.map(lambda x: (x.shape, x.dtype, x.weak_type), tree)


def on_device(params):
    return jax.tree.map(jnp.asarray, params)


@functools.cache
def bench(field, name):
    return BENCHES[field][0](catalog.find(field, name), catalog.ROOMS[field])


def keeps(field, name, slow=()):
    """Return whether a member keeps the rules that ship with jfed, without the slow ones."""
    rules = BENCHES[field][1]
    quick = [rule for rule, _ in rules if rule not in slow]
    found = findings(name, bench(field, name).home, rules, bench(field, name), quick)
    assert [finding for finding in found if finding.sentence] == []
    return [finding.rule for finding in found] == quick


PAIRS = [
    (field, name) for field in ("environment", "controller", "algorithm", "model") for name in catalog.names(field)
]


@pytest.mark.parametrize(("field", "name"), [pair for pair in PAIRS if pair[0] in ("environment", "controller")])
def test_the_rules_that_ship_hold(field, name):
    assert keeps(field, name, slow=("one trace",))


@pytest.mark.proof
@pytest.mark.parametrize(("field", "name"), PAIRS)
def test_all_rules_hold(field, name):
    assert keeps(field, name)


# ------------------------------------------------------------------------------------------------- worlds


@pytest.mark.parametrize("name", catalog.names("environment"))
def test_a_world_goes_its_own_way_in_every_round(name):
    (_, seen, first), (_, _, second), (_, _, third) = bench("environment", name).walked.values()
    np.testing.assert_array_equal(first.succeeded, second.succeeded)
    # In one, clients that took part in the last round are faster; in the other, a round ends with the first to return.
    if name not in ("exchange", "over-selection"):
        np.testing.assert_array_equal(first.latency_s, second.latency_s)
    assert (first.succeeded != third.succeeded).any() or (first.latency_s != third.latency_s).any()
    assert (first.latency_s > 0).all() and (seen.oracle.latency_s > 0).all()


def test_volatile_clients_return_at_their_rates():
    options = volatility.Options(success_rates=(0.0, 0.3, 0.9, 1.0))
    params = on_device(options.params(PROBLEM))
    world, draws = options.make(DIMS), 20_000

    @jax.jit
    def many(keys):
        plan = Plan(jnp.zeros(K, jnp.int32))
        return jax.vmap(lambda key: world.respond(key, (), params, view(), cohort(0), plan)[1].succeeded)(keys)

    rate = np.array([0.0, 0.3, 0.9, 1.0] * 2)
    got = np.asarray(many(jax.random.split(jax.random.key(0), draws)))
    error = np.sqrt(rate * (1 - rate) / draws)
    assert (np.abs(got.mean(0) - rate) <= 4.5 * error).all()
    together = np.corrcoef(got[:, 1], got[:, 5])[0, 1]  # clients of a class fail independently
    assert abs(together) < 4.5 / np.sqrt(draws)
    assert options.client_class(PROBLEM).tolist() == [0, 1, 2, 3] * 2


# -------------------------------------------------------------------------------------------- controllers


@pytest.mark.parametrize("name", catalog.names("controller"))
def test_a_controller_plans_steps_for_whoever_has_images(name):
    options = catalog.find("controller", name)
    controller, params = options.make(DIMS), on_device(options.params(PROBLEM))
    _, plan = controller.plan(controller.init(jax.random.key(0), params, SIZES), params, view(), cohort(0, 3))
    assert int(plan.steps[0]) == 0 and (np.asarray(plan.steps)[1:] > 0).all()


def test_epochs_are_drawn_from_the_choices_once_per_run():
    params = on_device(epochs.Options().params(PROBLEM))
    init = jax.jit(epochs.Options().make(DIMS).init)
    start, other = init(jax.random.key(0), params, SIZES), init(jax.random.key(1), params, SIZES)
    batches = np.array([-(-int(n) // BATCH) for n in SIZES])
    drawn = np.asarray(start.steps)[1:] / batches[1:]
    assert set(drawn.tolist()) <= {1, 2, 3, 4} and len(set(drawn.tolist())) > 1
    assert (start.steps != other.steps).any()


def test_fixed_steps_are_the_same_for_all():
    params = on_device(fixed.Options(steps=3).params(PROBLEM))
    _, plan = fixed.Options(steps=3).make(DIMS).plan((), params, view(), cohort(0))
    assert (np.asarray(plan.steps) == np.where(np.asarray(view().num_samples) > 0, 3, 0)).all()
    with pytest.raises(ConfigError, match="Local steps must not be negative, found -1"):
        fixed.Options(steps=-1).params(PROBLEM)


# ----------------------------------------------------------------------------------- algorithms and models

rng = np.random.default_rng(0)
POOL = jnp.asarray(rng.integers(0, 17, (40, 8, 8, 1)), jnp.uint8)
SMALLER = POOL[:6]
LARGER = jnp.asarray(rng.integers(0, 17, (6, 28, 28, 1)), jnp.uint8)
LABELS = jnp.asarray(rng.integers(0, 10, 40), jnp.int32)
WIDTH = int(SIZES.max())


def make_model(name, images=POOL):
    return classifier.make(catalog.find("model", name), Inputs(images.shape[1:], 10, 16.0, 0.1, 0.5))


@pytest.mark.parametrize("name", catalog.names("model"))
def test_a_model_keeps_the_rules(name):
    assert keeps("model", name, slow=("runs", "first weights"))
    assert bench("model", name).shapes[1].shape[1] == (1 if name == "svm" else 10)


@pytest.mark.parametrize("name", ["mlp", "cnn", "wang"])  # every way to start
def test_a_models_first_weights_are_its_keys(name):
    init = jax.jit(make_model(name, LARGER).init)
    first, again, other = (jax.tree.leaves(jax.device_get(init(jax.random.key(s)))) for s in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert all((a != b).any() for a, b in zip(first, other, strict=True) if np.ptp(a) > 0)
    assert any(np.ptp(a) > 0 for a in first)


def test_cross_entropy_and_its_mean_over_real_examples():
    logits = jnp.array([[2.0, 0.0], [0.0, 1.0], [jnp.nan, 0.0], [0.0, 5.0]])
    labels, real = jnp.array([0, 0, 0, 0]), jnp.array([True, True, False, False])
    grades = cross_entropy(logits, labels)
    np.testing.assert_allclose(grades.loss[:2], [np.log1p(np.exp(-2)), np.log1p(np.exp(1))], rtol=1e-6)
    assert grades.right.tolist() == [True, False, False, False]  # a NaN is never right
    model = Model(lambda key: (), lambda weights, images: logits, cross_entropy, lambda weights: jnp.sum(weights))
    loss = mean_loss(model)
    assert float(loss(jnp.ones(3), POOL[:4], labels, real)) == pytest.approx(
        3 + float(grades.loss[:2].mean()), rel=1e-6
    )
    assert float(loss(jnp.ones(3), POOL[:4], labels, jnp.zeros(4, bool))) == 3.0


def test_the_squared_svm_by_hand():
    margins, labels = jnp.array([[0.5], [2.0], [-0.25], [0.5], [0.0]]), jnp.array([0, 4, 3, 7, 2])
    grades = squared_hinge(margins, labels)
    np.testing.assert_allclose(grades.loss, [0.125, 0.0, 0.5 * 0.75**2, 0.5 * 1.5**2, 0.5])
    assert grades.right.tolist() == [True, True, True, False, False]
    model = make_model("svm")
    weights = model.init(jax.random.key(0))
    (w,) = jax.tree.leaves(weights)
    assert w.shape == (64, 1) and not w.any()
    images, labels, real = POOL[:7], LABELS[:7], jnp.arange(7) < 5
    x, y = np.asarray(images, float).reshape(7, -1)[:5] / 16, np.where(np.asarray(labels)[:5] % 2 == 0, 1.0, -1.0)
    at = np.linspace(-0.1, 0.1, 64)
    weights = jax.tree.map(lambda _: jnp.asarray(at[:, None], jnp.float32), weights)
    value, gradient = jax.value_and_grad(mean_loss(model))(weights, images, labels, real)
    short = np.maximum(1 - y * (x @ at), 0)
    assert float(value) == pytest.approx(0.05 * at @ at + 0.5 * (short**2).mean(), rel=1e-5)
    (got,) = jax.tree.leaves(gradient)
    np.testing.assert_allclose(got[:, 0], 0.1 * at - (x * (y * short)[:, None]).mean(0), rtol=1e-4, atol=1e-6)


def test_the_two_algorithms_differ_in_the_proximal_term_only():
    assert catalog.find("algorithm", "fedavg") == dataclasses.replace(catalog.find("algorithm", "fedprox"), prox=0.0)
    assert catalog.find("algorithm", "fedprox").prox > 0


@pytest.mark.proof
def test_lanes_train_alike_in_any_order_of_jobs():
    model = make_model("mlp")
    algorithm = local_sgd.Options().make(DIMS, mean_loss(model))
    params = jax.tree.map(lambda x: jnp.stack([x, x]), on_device(catalog.find("algorithm", "fedprox").params(PROBLEM)))
    weights = jax.vmap(model.init)(jax.vmap(jax.random.key)(jnp.arange(2)))
    positions = jnp.asarray(np.stack([rng.permutation(40)[:WIDTH] for _ in range(2 * K)]), jnp.int32)
    sizes = jnp.stack([SIZES, SIZES[::-1]])
    data = Data(
        POOL, LABELS, positions.reshape(2, K, WIDTH), sizes, jnp.zeros((2, 1), jnp.int32), jnp.ones(2, jnp.int32)
    )
    jobs = Jobs(
        run=jnp.array([0, 1, 0, 1, 1, 0, 0], jnp.int32),
        client=jnp.array([7, 0, 5, 2, 3, 1, 0], jnp.int32),
        steps=jnp.array([3, 9, 0, 4, 1, 2, 0], jnp.int32),
        key=jax.random.split(jax.random.key(0), 7),
        returns=jnp.ones(7, bool),
    )
    results = [
        jax.jit(lane.train, static_argnums=0)(algorithm, Carried(weights), params, data, jobs)
        for lane in LANES.values()
    ]
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    for answer in results:
        still = np.array([2, 6])
        assert all((np.asarray(leaf)[still] == 0).all() for leaf in jax.tree.leaves(answer.move))
        assert np.isnan(np.asarray(answer.report.loss)[still]).all()
