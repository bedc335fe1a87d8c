"""Schedules of learning rates and clipped gradients, and that every algorithm with local SGD follows them."""

import dataclasses
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from quadratics import Clients, run
from reference import away as ref
from support import Stepper

import jfed
from jfed import catalog
from jfed.algorithms import fedavgm, fedopt, local_sgd
from jfed.algorithms.schedules import clipped, factors
from jfed.core.types import Dims, Problem
from jfed.runner.units import Layout

FORMS = {
    "exponential-0.9": ("exponential", 0.9),
    "exponential-0.5-1e-2": ("exponential", 0.5, 0.01),
    "step-0.5-3": ("step", 0.5, 3),
    "Step-0.1-2-0.05": ("step", 0.1, 2, 0.05),
    "cosine": ("cosine",),
    "cosine-0.1": ("cosine", 0.1),
    "inverse": ("inverse",),
    "inverse-4": ("inverse", 4),
    "inverse-2.5-0.3": ("inverse", 2.5, 0.3),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_factors_are_those_of_the_reference(name):
    form, *numbers = FORMS[name]
    np.testing.assert_allclose(factors(name, 12), ref.schedule(form, 12, *numbers), rtol=1e-12)


def test_factors_by_hand():
    assert factors("constant", 3) is None
    np.testing.assert_allclose(factors("step-0.5-2", 5), [1, 1, 0.5, 0.5, 0.25])
    np.testing.assert_allclose(factors("inverse", 4), [1, 1 / 2, 1 / 3, 1 / 4])
    np.testing.assert_allclose(factors("cosine", 4), [1, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2])
    np.testing.assert_allclose(factors((2.0, 0.5), 2), [2.0, 0.5])


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ("linear", "The schedule of a learning rate must be constant, .*, found 'linear'"),
        ("step-0.5", "The schedule of a learning rate must be constant, .*, found 'step-0.5'"),
        ("exponential", "The schedule of a learning rate must be constant"),
        ("constant-1", "The schedule of a learning rate must be constant"),
        ("exponential-1.5", r"A schedule must multiply by a factor in \(0, 1\], found 1.5"),
        ("step-0.5-0", "A step schedule must have steps of at least one round, found 0"),
        ("inverse-0", "An inverse schedule must fall over a positive number of rounds, found 0"),
        ("cosine-2", r"The least factor of a schedule must lie in \[0, 1\], found 2"),
        ((1.0, 0.5), "The schedule of a learning rate has 2 factors for 300 rounds"),
        ((1.0,) * 299 + (0.0,), "must be positive and finite, found 0 in round 300"),
        ("exponential-0.5", "must be positive and finite, found 5.87747e-39 in round 128"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(schedule, sentence):
    with pytest.raises(jfed.ConfigError, match=sentence):
        local_sgd.Options(schedule=schedule).params(Problem(4, 2, 300))


def test_clips_that_make_no_sense_are_refused():
    with pytest.raises(jfed.ConfigError, match="Gradients must be clipped at a positive and finite norm, found 0"):
        local_sgd.Options(clip=0.0).params(Problem(4, 2, 3))


def test_a_long_gradient_is_shortened():
    gradient = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([[4.0]])}
    assert clipped(gradient, None) is gradient
    short = clipped(gradient, 1.0)
    np.testing.assert_allclose(short["a"], [0.6, 0], rtol=1e-6)
    np.testing.assert_allclose(short["b"], [[0.8]], rtol=1e-6)
    for limit in (5.0, 9.0):
        np.testing.assert_array_equal(clipped(gradient, limit)["a"], gradient["a"])
    np.testing.assert_array_equal(clipped({"a": jnp.zeros(2)}, 1.0)["a"], [0, 0])


def named(tree: Any, name: str) -> list[Any]:
    """Return the fields of this name in nested NamedTuples."""
    own = [getattr(tree, name)] if name in getattr(tree, "_fields", ()) else []
    return own + [x for part in tree if isinstance(part, tuple) for x in named(part, name)]


@pytest.mark.parametrize("name", catalog.names("algorithm"))
def test_every_algorithm_follows_the_schedule(name):
    options = dataclasses.replace(catalog.find("algorithm", name), learning_rate=0.2, schedule=(1.0, 0.25))
    algorithm = options.make(Dims(4, 2, 3), lambda w, *batch: jnp.sum(w["w"]))
    params = jax.tree.map(jnp.asarray, options.params(Problem(4, 2, 2)))
    for t, rate in ((1, 0.2), (2, 0.05)):
        now = algorithm.at_round(params, jnp.int32(t))
        np.testing.assert_allclose(named(now, "learning_rate"), [rate], rtol=1e-6)
        assert {x is None for x in named(now, "schedule")} == {True}
    plain = dataclasses.replace(options, schedule="constant")
    assert {x is None for x in named(plain.params(Problem(4, 2, 2)), "schedule")} == {True}  # not in the program


def one_client(rounds):
    return Clients(np.array([[[2.0, 0.0]]]), np.ones(1, int), np.ones(1, int), np.ones((rounds, 1), bool))


def test_fedavg_follows_its_schedule_and_clips():
    """From 0 the gradient is w - 2: at a norm of 0.5 it is clipped, until w is 1.5."""
    options = local_sgd.Options(1.0, momentum=0.0, schedule=(1.0, 0.5, 2.0, 1.0, 0.5), clip=0.5)
    models, _, _ = run(options, one_client(5), np.zeros(2))
    np.testing.assert_allclose(models[:, 0], [0.5, 0.75, 1.75, 2.0, 2.0], rtol=1e-5)


def test_servers_follow_a_schedule_of_their_own():
    schedule = {"schedule": (1.0, 0.5, 0.5), "server_schedule": (1.0, 1.0, 0.1)}
    models, _, _ = run(fedavgm.Options(0.5, server_rate=1.0, beta=0.0, **schedule), one_client(3), np.zeros(2))
    np.testing.assert_allclose(models[:, 0], [1.0, 1.25, 1.25 + 0.1 * 0.25 * 0.75], rtol=1e-5)
    options = fedopt.Options(0.5, rule="adagrad", server_rate=1.0, tau=1.0, **schedule)
    models, _, _ = run(options, one_client(3), np.zeros(2))
    first = 1 / (2**0.5 + 1)  # the update is 1, and v is 1 + 1
    second = 0.25 * (2 - first)
    v = 2 + second**2
    third = 0.25 * (2 - first - second / (v**0.5 + 1))
    steps = [first, second / (v**0.5 + 1), 0.1 * third / ((v + third**2) ** 0.5 + 1)]
    np.testing.assert_allclose(models[:, 0], np.cumsum(steps), rtol=1e-5)


@pytest.mark.check
@pytest.mark.parametrize("name", ["feddyn", "mifa"])
def test_lanes_agree_on_scheduled_rates_and_clipped_gradients(name):
    options = dataclasses.replace(
        catalog.find("algorithm", name), learning_rate=0.3, schedule="step-0.5-1", clip=0.5, momentum=0.5
    )
    config = jfed.Config(
        num_clients=6,
        cohort_size=4,
        num_rounds=4,
        eval_every=4,
        selector="uniform",
        training=jfed.Training(samples_per_client=(20, 13, 9, 1, 0, 20), batch_size=8, algorithm=options),
    )
    found = []
    for lane in ("sequential", "vmapped"):
        layout = Layout(block_size=1, chunk_rounds=1, record_selected=True, lane=lane)
        stepper = Stepper([jfed.Point(config, {"run": 0})], [3], layout)
        start = stepper.host().weights
        for t in range(1, 5):
            stepper.step(t)
        found.append(stepper.host())
    chex.assert_trees_all_close(found[0].weights, found[1].weights, rtol=1e-4, atol=1e-6)
    chex.assert_trees_all_close(found[0].clients, found[1].clients, rtol=1e-3, atol=1e-5)
    assert (
        max(np.abs(a - b).max() for a, b in zip(*map(jax.tree.leaves, (start, found[0].weights)), strict=True)) > 0.01
    )
