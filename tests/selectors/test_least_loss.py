"""Least loss first, by hand: what clients told last, and what they tell now."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed.core.types import Dims, Feedback, Problem, View
from jfed.selectors import least_loss

K = 5


def one_round(options, k, available, probed=None, last=(-jnp.inf,) * K, seed=0):
    """Who is selected, and the function that hears from them."""
    member = options.make(Dims(K, K))
    params = jax.tree.map(jnp.asarray, options.params(Problem(K, k, 10)))
    nothing = jnp.full(K, jnp.nan)
    view = View(
        round=jnp.int32(1),
        horizon=jnp.int32(10),
        available=jnp.asarray(available),
        num_samples=jnp.ones(K, jnp.int32),
        context=jnp.ones((K, 1)),
        probed=nothing if probed is None else jnp.asarray(probed),
        probed_accuracy=nothing,
        oracle=None,
    )
    state, cohort = member.select(jax.random.key(seed), least_loss.State(jnp.asarray(last)), params, view)
    asked = None if member.probe is None else member.probe(jax.random.key(seed), state, params, view)

    def hear(loss, came):
        feedback = Feedback(
            selected=cohort.selected,
            succeeded=jnp.asarray(came) & cohort.selected,
            latency_s=nothing,
            loss=jnp.asarray(loss),
        )
        return np.asarray(member.update(state, params, view, cohort, feedback).last_loss)

    return np.flatnonzero(cohort.selected).tolist(), asked, hear


ALL = np.ones(K, bool)


def test_the_last_told_losses_decide_and_nobody_is_asked():
    last = [0.5, 0.1, 0.4, 0.2, 0.3]
    chosen, asked, hear = one_round(least_loss.Options(), 2, ALL, last=last)
    assert chosen == [1, 3] and asked is None
    told = hear([9.0, 0.7, 9.0, 0.05, 9.0], [True, True, True, False, True])
    np.testing.assert_allclose(told, [0.5, 0.7, 0.4, 0.2, 0.3], rtol=1e-6)  # client 3 did not return
    assert one_round(least_loss.Options(), 2, ALL, last=told)[0] == [3, 4]


def test_who_never_told_comes_first_and_who_is_away_does_not():
    last = [0.5, -np.inf, 0.4, -np.inf, 0.3]
    assert one_round(least_loss.Options(), 3, ALL, last=last)[0] == [1, 3, 4]
    assert one_round(least_loss.Options(), 3, ALL & (np.arange(K) != 1), last=last)[0] == [2, 3, 4]


def test_ties_are_broken_at_random():
    first = [one_round(least_loss.Options(), 1, ALL, seed=seed)[0][0] for seed in range(40)]
    assert set(first) == set(range(K))


def test_polled_losses_decide_whatever_was_told_before():
    available = ALL & (np.arange(K) != 1)
    probed = np.where(available, [0.5, 0.1, 0.4, 0.2, 0.3], np.nan)
    last = [0.0, 0.0, 9.0, 9.0, 9.0]
    chosen, asked, _ = one_round(least_loss.Options("polled"), 2, available, probed, last)
    assert chosen == [3, 4]
    np.testing.assert_array_equal(asked.asked, available)
    assert int(asked.num_images) > 10**9  # all of them


@pytest.mark.parametrize("loss", ["last", "polled"])
def test_fewer_available_than_wanted_are_all_selected(loss):
    available = np.array([True, False, False, True, False])
    probed = np.where(available, 0.5, np.nan)
    assert one_round(least_loss.Options(loss), 4, available, probed)[0] == [0, 3]
