"""Adaptive tau: the search over tau beside the reference, and the estimates that it needs by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import adaptive_tau as ref

from jfed.algorithms import estimating
from jfed.controllers import adaptive, objective
from jfed.core.learning import Answers, ClientData, Received
from jfed.core.types import Costs, Dims, Problem

pytestmark = pytest.mark.check

NUMBERS = st.one_of(st.floats(1e-6, 10), st.sampled_from([0.0, 1e-5, 1e-3, 1e4, 1e12, float("nan")]))


COSTS = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 2)), min_size=2, max_size=2)


BUDGETS = st.lists(st.one_of(st.floats(-1, 0), st.floats(1e-3, 50)), min_size=2, max_size=2)


@settings(deadline=None, max_examples=150)
@given(
    rho=NUMBERS, delta=NUMBERS, beta=st.one_of(st.floats(1e-5, 100), st.sampled_from([1e-5, 1e4, 1e9, float("nan")])),
    tau=st.integers(1, 120), eta=st.sampled_from([1e-3, 0.01, 0.5]), phi=st.sampled_from([5e-5, 0.025, 1.0]), c=COSTS,
    b=st.lists(st.floats(0.001, 2), min_size=2, max_size=2), left=BUDGETS,
)  # fmt: skip
def test_the_search_is_that_of_the_reference(rho, beta, delta, tau, eta, phi, c, b, left):
    with jax.enable_x64(True):
        options = adaptive.Options(budgets=(1.0, 1.0), phi=phi)
        free = Costs(np.zeros((2, 4)), np.zeros((2, 4)))
        params = jax.tree.map(jnp.asarray, options.params(Problem(4, 4, 10, 1.0, eta, costs=free)))
        none = jnp.zeros(2)
        state = adaptive.State(
            jnp.int32(tau), jnp.int32(0), none, jnp.asarray(c), jnp.asarray(b), Costs(none, none),
            *map(jnp.asarray, (rho, beta, delta, 1.0)), *[jnp.bool_(False)] * 3,
        )  # fmt: skip
        found = int(SEARCH(state, params, jnp.asarray(left)))
    with np.errstate(all="ignore"):
        args = (np.array(c), np.array(b), np.array(left), eta, phi)
        expected = ref.search(tau, rho, beta, delta, *args, return_best=False)
        g = [ref.G(x, rho, beta, delta, *args) for x in (found, expected)] if found != expected else [0.0, 0.0]
    assert 1 <= found <= 100
    assert np.isclose(g[0], g[1], rtol=1e-9)  # rounding decides between equal minima


SEARCH = jax.jit(adaptive.search)


def test_h_keeps_its_digits_where_it_is_tiny():
    """(eta beta + 1)^x - 1 - eta beta x is eta^2 beta^2 for x = 2."""
    beta, delta, eta = jnp.float32(1e-2), jnp.float32(1.0), jnp.float32(0.01)
    assert float(objective.drift(jnp.float32(2.0), beta, delta, eta)) == pytest.approx(1e-6, rel=0.02)
    assert float(objective.drift(jnp.float32(1.0), beta, delta, eta)) <= 1e-9


def test_limits_of_the_search():
    options = adaptive.Options(budgets=(1e9,))
    params = jax.tree.map(jnp.asarray, options.params(Problem(4, 4, 10, 1.0, 0.01)))

    def tau(rho, delta, left):
        no = jnp.bool_(False)
        state = adaptive.State(
            jnp.int32(7), jnp.int32(0), jnp.zeros(1), jnp.full(1, 0.02), jnp.full(1, 0.13),
            Costs(jnp.zeros((1, 4)), jnp.zeros((1, 4))), jnp.float32(rho), jnp.float32(5.0), jnp.float32(delta),
            jnp.float32(1.0), no, no, no,
        )  # fmt: skip
        return int(SEARCH(state, params, jnp.full(1, left)))

    assert tau(1.0, 0.0, 15.0) == 70 and tau(0.0, 1.0, 15.0) == 70  # tau grows as far as it may
    assert tau(1.0, 1.0, 1e9) == 1  # a practically unlimited budget
    assert 1 < tau(1.0, 1.0, 15.0) < 70


def test_slopes_of_a_quadratic():
    """F = (a/2) |w|^2: rho = a |w + v| / 2 along a line through 0, beta = a."""
    a, w, v = 3.0, jnp.array([2.0, 0.0]), jnp.array([1.0, 0.0])
    losses, gradients = (a / 2 * v @ v, a / 2 * w @ w), (a * v, a * w)
    rho, beta = estimating.slopes(losses, gradients, (v, w), jnp.bool_(True))
    assert float(rho) == pytest.approx(4.5) and float(beta) == pytest.approx(3.0)
    same = estimating.slopes(losses, gradients, (w, w), jnp.bool_(True))
    assert (float(same[0]), float(same[1])) == (0.0, pytest.approx(1e-5))
    unknown = estimating.slopes((jnp.float32(np.nan), jnp.float32(1.0)), gradients, (v, w), jnp.bool_(True))
    assert float(unknown[0]) == 0.0 and float(unknown[1]) == pytest.approx(3.0)


def test_estimates_of_quadratic_losses():
    """Two clients with F_i = (a / 2) (w - c_i)^2, where c_i is the client's label, and one step each from w = 0.

    Client i ends at eta a c_i. From w = 1 it finds beta = a, rho = a |(w_i + w) / 2 - c_i|; delta_i = a |c_i - mean|.
    """
    a, eta, centres = 2.0, 0.1, (3.0, -1.0)
    algorithm = estimating.Options().make(
        Dims(2, 2, batch_size=4), lambda w, x, y, real: a / 2 * (w["w"][0] - y[0]) ** 2
    )
    params, told, gradients = estimating.Params(jnp.float32(eta)), [], []
    for i, centre in enumerate(centres):
        labels = jnp.full(4, int(centre), jnp.int32)
        data = ClientData(jnp.zeros((4, 1, 1, 1), jnp.uint8), labels, jnp.arange(4, dtype=jnp.int32), jnp.int32(4))
        own = algorithm.remember(jax.random.key(i), {"w": jnp.zeros(1)}, data.positions)
        for w in (0.0, 1.0):
            weights = {"w": jnp.full(1, w)}
            received = Received(weights, jnp.int32(1), memory=own, best=weights)
            local = algorithm.start(jax.random.key(9), received, params, data)
            local = algorithm.step(local, weights, params, data)
            move, report, own, gradient = algorithm.finish(local, weights, params)
        assert float(report.estimates.beta) == pytest.approx(a)
        assert float(report.estimates.rho) == pytest.approx(a * abs((eta * a * centre + 1) / 2 - centre), rel=1e-5)
        assert float(report.estimates.loss) == pytest.approx(a / 2 * (1 - centre) ** 2)
        assert float(move["w"][0]) == pytest.approx(-eta * a * (1 - centre))
        told.append(report)
        gradients.append(gradient)
    both, each = jax.tree.map(lambda *x: jnp.stack(x), *told), jax.tree.map(lambda *x: jnp.stack(x), *gradients)
    share, mean = jnp.array([0.75, 0.25]), 0.75 * centres[0] + 0.25 * centres[1]
    answers = Answers(each, both, share, jnp.ones(2, bool), more=each)
    report = algorithm.aggregate(None, {"w": jnp.ones(1)}, params, answers).reports
    np.testing.assert_allclose(report.estimates.divergence, [a * abs(c - mean) for c in centres], rtol=1e-6)
    few = share / 4  # two of eight clients returned, and the global model replaces the others
    report = algorithm.aggregate(None, {"w": jnp.ones(1)}, params, answers._replace(share=few)).reports
    np.testing.assert_allclose(report.estimates.divergence, [a * abs(c - mean) for c in centres], rtol=1e-6)
