"""Tests of Eiffel's choice against the NumPy reference, of its properties and of its refusals."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import eiffel as reference

from jfed.core import prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Feedback, Problem, View
from jfed.selectors import eiffel

K, ROUNDS = 9, 12
DIMS = Dims(K, K, features=("power", "demand"))


def walk(options, loss, num_samples, power, demand, failed=None):
    """Return selection, importance, ages and last losses of each round; `loss` and `failed` are (ROUNDS, K)."""
    member = options.make(DIMS)
    params = jax.tree.map(jnp.asarray, options.params(Problem(K, 4, ROUNDS)))
    context = jnp.stack([jnp.asarray(power), jnp.asarray(demand)], -1)
    nothing, everybody = jnp.full(K, jnp.nan), jnp.ones(K, bool)
    failed = np.zeros((ROUNDS, K), bool) if failed is None else failed

    @jax.jit
    def rounds(loss, failed):
        def one(state, row):
            t, loss, failed = row
            view = View(
                round=t,
                horizon=jnp.int32(ROUNDS),
                available=everybody,
                num_samples=jnp.asarray(num_samples),
                context=context,
                probed=nothing,
                probed_accuracy=nothing,
                oracle=None,
            )
            state, cohort = member.select(jax.random.key(t), state, params, view)
            came = cohort.selected & ~failed
            feedback = Feedback(
                selected=cohort.selected, succeeded=came, latency_s=nothing, loss=jnp.where(came, loss, jnp.nan)
            )
            state = member.update(state, params, view, cohort, feedback)
            return state, (cohort.selected, cohort.importance, state.age, state.last_loss)

        steps = (jnp.arange(1, ROUNDS + 1), loss, failed)
        return jax.lax.scan(one, member.init(jax.random.key(0), params), steps)[1]

    return [np.asarray(x) for x in rounds(jnp.asarray(loss), jnp.asarray(failed))]


def ties():
    """Return the engine's tie-break numbers: row t decides for round t + 1 (from 0)."""
    return np.stack([np.asarray(prng.uniform(jax.random.key(t + 2), K)) for t in range(ROUNDS)])


CASES = [
    eiffel.Options(),
    eiffel.Options(scaling="raw", weights=(0.1, 0.001, 2.0, 0.5)),
    eiffel.Options(loss="high", kappa=0.25),
    eiffel.Options(pools="work_conserving", kappa=0.7, budget=5.0),
    eiffel.Options(kappa=0.0, budget=3.0),
    eiffel.Options(weights=(0.0, 0.0, 0.0, 1.0), kappa=1.0),
]


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_every_round_is_that_of_the_reference(options, seed):
    rng = np.random.default_rng(seed)
    loss = rng.uniform(0.01, 2, (ROUNDS, K))
    loss[rng.uniform(size=loss.shape) < 0.1] = 0.0  # below the floor, and equal
    d, c, r = rng.integers(5, 300, K), rng.choice([1.0, 1.5, 2.0], K), rng.uniform(0.5, 1.5, K)
    c, r = c / c.mean(), r / r.mean()
    with jax.enable_x64(True):
        selected, importance, age, last = walk(options, loss, d, c, r)
        drawn = ties()
    expected = reference.run(
        loss, d.astype(float), c, r, 4.0 if options.budget is None else options.budget, options.kappa, drawn,
        index_weights=options.weights, normalise=options.scaling == "min_max", high_loss=options.loss == "high",
        work_conserving=options.pools == "work_conserving",
    )  # fmt: skip
    np.testing.assert_array_equal(selected, expected["selected"])
    np.testing.assert_allclose(importance, expected["alpha"], rtol=1e-12)
    np.testing.assert_array_equal(age, expected["age"])
    np.testing.assert_allclose(last, expected["loss"], rtol=1e-12)
    assert selected[0].all() and not selected[2:].all()
    assert ((selected[1:] * r).sum(1) <= (options.budget or 4.0) * (1 + 1e-9)).all()


FILL = jax.jit(eiffel.fill)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), room=st.floats(0, 9.0))
def test_a_pool_is_filled_in_order_and_never_overfull(seed, room):
    rng = np.random.default_rng(seed)
    demand, among, order = rng.uniform(0.5, 1.5, K), rng.uniform(size=K) < 0.7, rng.permutation(K)
    taken, used = FILL(order, among, jnp.asarray(demand), jnp.float32(room), jnp.float32(0))
    taken = np.asarray(taken)
    assert not (taken & ~among).any() and float(used) <= room
    np.testing.assert_allclose(demand[taken].sum(), float(used), rtol=1e-5)
    for place, client in enumerate(order):  # a client that was passed over did not fit after those before it
        if among[client] and not taken[client]:
            before = order[:place]
            assert demand[before[taken[before]]].sum() + demand[client] > room - 1e-5


def test_who_is_never_heard_of_comes_first_among_losses():
    """A client that fails in every round has the best loss factor, is always selected, and its age grows."""
    failed = np.zeros((ROUNDS, K), bool)
    failed[:, 0] = True
    ones = np.ones(K)
    options = eiffel.Options(weights=(1.0, 0.0, 0.0, 0.0))
    selected, importance, age, last = walk(options, np.arange(1.0, K + 1) + np.zeros((ROUNDS, 1)), np.full(K, 9), ones,
                                           ones, failed)  # fmt: skip
    assert selected[:, 0].all() and np.isneginf(last[:, 0]).all()
    np.testing.assert_array_equal(age[:, 0], np.arange(2, ROUNDS + 2))
    np.testing.assert_array_equal(importance[:, 0], np.arange(1, ROUNDS + 1))


@pytest.mark.parametrize(
    ("delta", "sentence"),
    [
        ({"kappa": 1.5}, r"kappa must lie in \[0, 1\], found 1.5"),
        ({"kappa": -0.1}, r"kappa must lie in \[0, 1\], found -0.1"),
        (
            {"weights": (0.0, 0.0, 0.0, 0.0)},
            r"Eiffel's weights must not be negative, nor all of them zero, found \(0.0, 0.0",
        ),
        (
            {"weights": (1.0, -1.0, 0.0, 0.0)},
            r"Eiffel's weights must not be negative, nor all of them zero, found \(1.0, -1.0",
        ),
        ({"budget": 0.0}, "budget of a round must be positive"),
        (
            {"budget": 0.4},
            "never select a client: each demands at least 0.5, and a pool has at most 0.2: raise budget",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(delta, sentence):
    with pytest.raises(ConfigError, match=sentence):
        eiffel.Options(**delta).params(Problem(K, 4, ROUNDS, demand=(0.5, 1.5)))


def test_a_demand_above_the_pools_is_said_once(caplog):
    problem = Problem(K, 4, ROUNDS, demand=(0.5, 1.75))
    with caplog.at_level(logging.WARNING, "jfed"):
        for _ in range(3):
            eiffel.Options(budget=3.0).params(problem)
    assert len(caplog.records) == 1
    assert "up to 1.75 times the average, and Eiffel's larger pool has 1.5" in caplog.text
