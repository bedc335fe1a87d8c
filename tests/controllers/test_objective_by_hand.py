"""Tests of h by hand, term by term, and of the search for tau with Eiffel's factor against the NumPy reference."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import adaptive_tau as reference

from jfed.controllers import adaptive, objective
from jfed.core.types import Cohort, Costs, Dims, Feedback, Problem, View

SEARCH = jax.jit(adaptive.search)


@pytest.mark.parametrize(("alpha", "h"), [(1.0, 4.0), (2.0, 11.0), (0.5, 0.5), (0.25, 0.0)])
def test_the_factor_is_in_the_first_term_alone(alpha, h):
    """With eta beta = 1 and delta / beta = 1, h(3) is 7 alpha - 3, never below 0."""
    x, beta, delta, eta = (jnp.float32(v) for v in (3.0, 2.0, 2.0, 0.5))
    assert float(objective.drift(x, beta, delta, eta, jnp.float32(alpha))) == pytest.approx(h, abs=1e-5)


def test_the_factor_is_the_mean_by_images_over_those_who_returned():
    """With images 4, 2, 6 and importance 1, 4, 3 it is (4 + 18) / 10 without the second; unchanged without any."""
    options = adaptive.Options(budgets=(100.0,), weighted=True)
    free = Costs(step=jnp.zeros((1, 3)), exchange=jnp.zeros((1, 3)))
    params = jax.tree.map(jnp.asarray, options.params(Problem(3, 3, 10, learning_rate=0.1, costs=free)))
    made, images, nothing = options.make(Dims(3, 3)), jnp.array([4, 2, 6]), jnp.full(3, jnp.nan)
    view = View(
        round=jnp.int32(1), horizon=jnp.int32(10), available=jnp.ones(3, bool), num_samples=images,
        context=jnp.ones((3, 1)), probed=nothing, probed_accuracy=nothing, oracle=None,
    )  # fmt: skip
    cohort = Cohort(selected=jnp.ones(3, bool), inclusion=nothing, importance=jnp.array([1.0, 4.0, 3.0]))

    @jax.jit
    def after(state, succeeded):
        feedback = Feedback(
            selected=cohort.selected, succeeded=succeeded, latency_s=jnp.zeros(3), loss=nothing, costs=free
        )
        return made.update(state, params, view, cohort, feedback)

    state = made.init(jax.random.key(0), params, images)
    for who, alpha in ((0, 0, 0), 1.0), ((1, 0, 1), 2.2), ((0, 0, 0), 2.2), ((1, 1, 1), 2.5):
        state = after(state, jnp.array(who, bool))
        assert float(state.alpha) == pytest.approx(alpha)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.7])
def test_h_is_that_of_the_reference(alpha):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for _ in range(20):
            x, beta, delta, eta = int(rng.integers(1, 30)), *rng.uniform(0.1, 5, 2), rng.uniform(0.001, 0.2)
            got = objective.drift(jnp.float64(x), *(jnp.float64(v) for v in (beta, delta, eta, alpha)))
            np.testing.assert_allclose(float(got), reference.h(x, eta, beta, delta, alpha), rtol=1e-9, atol=1e-12)


def searched(alpha=1.0, tau=7, rho=1.0, beta=2.0, delta=1.0, left=15.0, eta=0.01, **options):
    """Return the next tau by the engine and by the reference."""
    with jax.enable_x64(True):
        given = adaptive.Options(budgets=(100.0,), **options)
        free = Costs(np.zeros((1, 1)), np.zeros((1, 1)))
        params = jax.tree.map(jnp.asarray, given.params(Problem(1, 1, 10, learning_rate=eta, costs=free)))
        state = given.make(Dims(1, 1)).init(jax.random.key(0), params, jnp.ones(1, jnp.int32))
        numbers = {"rho": rho, "beta": beta, "delta": delta, "alpha": alpha}
        state = state._replace(
            tau=jnp.int32(tau), step=jnp.full(1, 0.02), exchange=jnp.full(1, 0.13),
            **{name: jnp.float64(value) for name, value in numbers.items()},
        )  # fmt: skip
        found = int(SEARCH(state, params, jnp.full(1, left)))
    costs = np.array([0.02]), np.array([0.13]), np.array([left])
    about = {"tau_max": given.tau_max, "gamma": given.growth, "return_best": False, "alpha": alpha}
    return found, reference.search(tau, rho, beta, delta, *costs, eta, given.phi, **about)


def test_the_factor_changes_what_is_found():
    both = [searched(alpha, rho=0.3, delta=0.5) for alpha in (0.5, 1.0, 1.05, 1.2, 2.0)]
    assert all(found == expected for found, expected in both)
    assert len({found for found, _ in both}) >= 4


@pytest.mark.parametrize(
    ("options", "tau", "most"),
    [({}, 7, 70), ({}, 12, 100), ({"growth": 1}, 7, 7), ({"growth": 3, "tau_max": 20}, 7, 20)],
)
def test_tau_grows_as_far_as_it_may_and_no_farther(options, tau, most):
    """With rho = 0 the longest allowed round is the best."""
    assert searched(tau=tau, rho=0.0, **options) == (most, most)
