"""Tests of the least-loss scheme by hand, with last reported and with polled losses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stepping import Rounds, view

from jfed.core.types import Dims, Feedback, Problem, View
from jfed.selectors import least_loss

K = 5


def one_round(options, k, available, probed=None, last=(-jnp.inf,) * K, sizes=(1,) * K):
    """Return the selected clients, the probe, and a function that feeds losses back and returns the last known ones."""
    member = options.make(Dims(K, K))
    params = jax.tree.map(jnp.asarray, options.params(Problem(K, k, 10)))
    nothing = jnp.full(K, jnp.nan)
    view = View(
        round=jnp.int32(1),
        horizon=jnp.int32(10),
        available=jnp.asarray(available),
        num_samples=jnp.asarray(sizes, jnp.int32),
        context=jnp.ones((K, 1)),
        probed=nothing if probed is None else jnp.asarray(probed),
        probed_accuracy=nothing,
        oracle=None,
    )
    state, cohort = member.select(jax.random.key(0), least_loss.State(jnp.asarray(last)), params, view)
    asked = None if member.probe is None else member.probe(jax.random.key(0), state, params, view)

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
    options = least_loss.Options()
    member = options.make(Dims(K, K))
    params = jax.tree.map(jnp.asarray, options.params(Problem(K, 1, 10)))
    seen = view(jnp.int32(1), 10, Rounds(jnp.asarray(ALL)))
    start = member.init(jax.random.key(0), params)  # no client has reported
    keys = jax.vmap(jax.random.key)(jnp.arange(40))
    selected = np.asarray(jax.jit(jax.vmap(lambda key: member.select(key, start, params, seen)[1].selected))(keys))
    assert (selected.sum(1) == 1).all() and selected.any(0).all()


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


@pytest.mark.parametrize("loss", ["last", "polled"])
def test_who_has_no_images_comes_last(loss):
    """It comes last although it has never reported a loss, and would report a loss of 0 to a poll."""
    probed, last = [0.5, 0.0, 0.4, 0.2, 0.3], [0.5, -np.inf, 0.4, 0.2, 0.3]
    sizes = [3, 0, 4, 9, 1]
    assert one_round(least_loss.Options(loss), 2, ALL, probed, last, sizes=sizes)[0] == [3, 4]
    assert one_round(least_loss.Options(loss), 4, ALL, probed, last, sizes=sizes)[0] == [0, 2, 3, 4]
