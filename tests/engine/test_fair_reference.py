"""Eiffel's weights and q-FedAvg in the engine, beside the NumPy reference, in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import eiffel as reference
from reference import q_fedavg
from support import Stepper, run, unpack

import jfed
from jfed.algorithms import estimating
from jfed.algorithms import q_fedavg as algorithm
from jfed.controllers import adaptive, fixed, objective
from jfed.controllers import eiffel as control
from jfed.core.errors import ConfigError
from jfed.core.learning import Answers, Report
from jfed.core.types import Dims, Estimates
from jfed.data.load import load
from jfed.envs import edge
from jfed.selectors import agnostic, eiffel, everybody, least_loss, uniform

pytestmark = pytest.mark.check

K, RATE = 5, 0.05
SIZES = (24, 17, 30, 9, 20)
WORLD = edge.Options(step_s=(0.02, 0.0), exchange_s=(0.05, 0.0), transfers=2, power=(1.0, 2.0), demand=(0.5, 1.5))
BASE = jfed.Config(
    K, 3, 12, eval_every=12, environment=WORLD, selector=eiffel.Options(), controller=fixed.Options(4),
    training=jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official", model="svm",
        algorithm=estimating.Options(RATE), batch_size=8, average_over="returned",
    ),
)  # fmt: skip


def stepper(**delta):
    return Stepper([jfed.Point(jfed.replace(BASE, {k.replace("__", "."): v for k, v in delta.items()}), {})], [5])


def flat(weights):
    return np.asarray(jax.tree.leaves(weights)[0])[0, :, 0]


def points_of(state):
    """Return the model at which each client's steps ended, (K, 64)."""
    return np.asarray(jax.tree.leaves(state.clients.point)[0])[0, :, :, 0]


def clients_data(one):
    """Return images and signs of each client."""
    pool = load("digits")
    pixels = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
    signs = np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)
    rows = [one.block.positions[0, k, : one.block.num_samples[0, k]] for k in range(K)]
    return [(pixels[row], signs[row]) for row in rows]


def svm(w, x, y):
    """Return loss and gradient of the squared SVM, lambda 0.1."""
    slack = np.maximum(1 - y * (x @ w), 0)
    return 0.05 * w @ w + 0.5 * np.mean(slack**2), 0.1 * w - np.mean((y * slack)[:, None] * x, 0)


@pytest.mark.parametrize(
    ("missing", "average", "mode"),
    [("returned", "moves", "self"), pytest.param("unscaled", "models", "literal", marks=pytest.mark.proof)],
)
def test_eiffels_weights_are_those_of_the_reference(missing, average, mode):
    """As printed, the weights do not add up to 1, and the model shrinks with them."""
    with jax.enable_x64(True):
        one = stepper(training__average_over=missing, training__algorithm__average=average, training__batch_size=30)
        data, sums = clients_data(one), []
        for t in range(1, 9):
            before = one.host()
            record, _ = one.step(t)
            after, selected = one.host(), unpack(record, K)[0]
            alpha = reference.contribution(
                np.asarray(one.block.params.environment.power[0]) / 1.4,
                np.asarray(before.environment.demand[0] / before.environment.demand[0].mean()),
                before.selector.age[0],
            )
            weights = reference.aggregation_weights(selected, np.array(SIZES, float), alpha, mode)
            np.testing.assert_allclose(flat(after.weights), weights @ points_of(after), rtol=1e-10, atol=1e-13)
            sums.append(weights.sum())
            received = flat(before.weights)  # its loss counts, not the mean over the steps
            for k in np.flatnonzero(selected):
                np.testing.assert_allclose(after.selector.last_loss[0, k], svm(received, *data[k])[0], rtol=1e-9)
        if mode == "self":
            np.testing.assert_allclose(sums, 1)
        else:
            assert min(sums) < 0.8  # the printed defect


@pytest.mark.proof
def test_the_printed_factor_makes_one_step_look_far():
    """Faithful: h(1) is eta delta (alpha - 1), not 0; alpha is the mean of alpha_i over the selected."""
    with jax.enable_x64(True):
        one = stepper(controller=jfed.replace(control.FAITHFUL, {"budgets": (30.0,)}))
        for t in range(1, 5):
            before = one.host()
            record, _ = one.step(t)
            selected = unpack(record, K)[0]
            demand = before.environment.demand[0] / before.environment.demand[0].mean()
            alpha = reference.contribution(np.asarray(WORLD.power * 3)[:K] / 1.4, demand, before.selector.age[0])
            expected = reference.alpha_of_h(selected, np.array(SIZES, float), alpha)
            after = one.host().controller
            np.testing.assert_allclose(after.alpha[0], expected, rtol=1e-12)
            each, sent = 0.02 / (np.array([1, 2, 1, 2, 1])), 0.1
            np.testing.assert_allclose(after.step[0, 0], each[selected].sum(), rtol=1e-12)  # line 15 adds up
            np.testing.assert_allclose(after.exchange[0, 0], sent * selected.sum(), rtol=1e-12)
        x, beta, delta = jnp.float64(1.0), jnp.float64(2.0), jnp.float64(3.0)
        h = objective.drift(x, beta, delta, jnp.float64(0.01), jnp.float64(1.5))
        np.testing.assert_allclose(float(h), 0.01 * 3.0 * 0.5)
        assert float(objective.drift(x, beta, delta, jnp.float64(0.01))) < 1e-15


@pytest.mark.parametrize("q", [0.0, 1.5])
def test_q_fedavg_is_that_of_the_reference(q):
    with jax.enable_x64(True):
        one = stepper(selector=uniform.Options(), training__algorithm=algorithm.Options(RATE, q))
        data = clients_data(one)
        for t in range(1, 6):
            w = flat(one.host().weights)
            record, _ = one.step(t)
            after = one.host()
            who = np.flatnonzero(unpack(record, K)[0])
            losses = np.array([svm(w, *data[k])[0] for k in who])
            expected = q_fedavg.q_fedavg(w, points_of(after)[who], losses, q, RATE)
            np.testing.assert_allclose(flat(after.weights), expected, rtol=1e-9, atol=1e-13)
            if q == 0:
                np.testing.assert_allclose(expected, points_of(after)[who].mean(0), rtol=1e-9)


def test_q_fedavg_by_hand():
    """Three clients with w = 0, L = 10, q = 1: F = 1, 2, 4 and moves of -0.1, 0.2 and 0.1."""
    with jax.enable_x64(True):
        made = algorithm.Options().make(Dims(3, 3, batch_size=4), lambda w, x, y, real: jnp.sum(w["w"]))
        moves = {"w": jnp.array([[-0.1], [0.2], [0.1]])}
        blank = jnp.zeros(3)
        report = Report(blank, Estimates(blank, blank, blank, blank, blank > 0, blank))
        params = algorithm.Params(estimating.Params(jnp.float64(0.1)), jnp.float64(1.0))
        whole = (moves, jnp.array([1.0, 2.0, 4.0]))
        answers = Answers(moves, report, share=jnp.ones(3) / 3, returned=jnp.ones(3, bool), more=whole)
        moved = made.aggregate(None, {"w": jnp.zeros(1)}, params, answers).weights
    # Dw = 1, -2, -1; Delta = 1, -4, -4; h = 1 + 10, 4 + 20, 1 + 40
    assert float(moved["w"][0]) == pytest.approx(7 / 76)


@pytest.mark.proof
def test_least_loss_asks_for_the_loss_of_the_model_of_the_round():
    with jax.enable_x64(True):
        one = stepper(selector=least_loss.Options("polled"), cohort_size=2)
        data = clients_data(one)
        chosen = set()
        for t in range(1, 9):
            w = flat(one.host().weights)
            losses = [svm(w, *data[k])[0] for k in range(K)]
            record = one.step(t)[0]
            selected = np.flatnonzero(unpack(record, K)[0])
            if t > 1:  # before it, all losses are the same
                assert set(selected) == set(np.argsort(losses)[:2])
            assert record.num_probed[0] == K and len(selected) == 2
            chosen |= set(selected.tolist())
    assert len(chosen) > 2


@pytest.mark.parametrize("values", [[0.2, 0.3, 1e9], [0.0, 0.0, 0.0], [-5.0, 0.25, 0.25], [1e-9, 2.0, 1.9999]])
def test_weights_stay_in_the_simplex(values):
    found = np.asarray(agnostic.projected(jnp.asarray(values, jnp.float32)))
    np.testing.assert_allclose(found, q_fedavg.project_simplex(np.array(values)), atol=1e-5)


@pytest.mark.proof
def test_the_budget_is_the_clocks_where_clients_differ():
    """A round lasts as long as its slowest client, steps and exchange together."""
    world = jfed.replace(WORLD, {"step_s": (0.02, 0.02), "exchange_s": (0.05, 0.05), "shared": False})
    controller = jfed.replace(control.CORRECTED, {"budgets": (4.0,), "fixed": 3})
    delta = {"environment": world, "controller": controller, "num_rounds": 30}
    done = run([jfed.Point(jfed.replace(BASE, delta), {})], [5, 6])
    clock = done["round_time_s"].values.astype(float).cumsum(1)
    assert clock[:, -1].min() > 2 and (done["ended_round"].values > 0).all()
    np.testing.assert_allclose(done["controller_spent"].values, clock, rtol=1e-4)


@pytest.mark.proof
def test_the_mean_model_stays_where_a_run_has_ended():
    budget = adaptive.Options(budgets=(0.8,), fixed=2, stop="last")
    delta = {"selector": everybody.Options(), "controller": budget, "training.final_model": "mean"}
    results = [
        run([jfed.Point(jfed.replace(BASE, {**delta, "num_rounds": T, "eval_every": 1}), {})], [5]) for T in (8, 12)
    ]
    tests = [r["test_loss"].values[0] for r in results]
    ended = int(results[0]["ended_round"].values[0])
    assert 3 < ended < 8
    np.testing.assert_array_equal(tests[1][ended - 1 :], tests[0][ended - 1])


@pytest.mark.parametrize(
    ("delta", "sentence"),
    [
        ({"training.algorithm": algorithm.Options(q=-1.0)}, "q must be finite and not negative, found -1."),
        (
            {"training.algorithm": algorithm.Options(learning_rate=0.0)},
            "The learning rate must be positive and finite, found 0.",
        ),
        ({"selector": agnostic.Options(-1.0)}, "The rate of agnostic weights must not be negative, found -1."),
        ({"environment.power": ()}, r"A client's compute power must be positive, found \(\)"),
        ({"environment.power": (0.0,)}, r"A client's compute power must be positive, found \(0.0,\)"),
        ({"environment.demand": (0.0, 0.0)}, r"demand must be a positive range \(low, high\), found \(0.0, 0.0\)"),
        ({"environment.demand": (-1.0, 1.0)}, r"demand must be a positive range \(low, high\), found \(-1.0, 1.0\)"),
        (
            {"controller": adaptive.Options(budgets=(0.15,), cost="sum")},
            "A budget of 0.15 is too small for one round, which costs about 0.58 or more",
        ),
        (
            {"controller": adaptive.Options(budgets=(0.15,), fixed=10)},
            "A budget of 0.15 is too small for one round, which costs about 0.26 or more",
        ),
        ({"environment.transfers": -1}, "transfers must not be negative, found -1."),
        ({"controller": adaptive.Options(budgets=(0.05,))}, "too small for one round, which costs about 0.116 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(delta, sentence):
    with pytest.raises(ConfigError, match=sentence):
        run([jfed.Point(jfed.replace(BASE, delta), {})], [0])
