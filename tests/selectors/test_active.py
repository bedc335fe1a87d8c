"""Active federated learning against the NumPy reference, by hand, and the share that is disqualified."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import losses as ref
from stepping import Rounds, drawn, on_device, view, walk
from telling import telling

from jfed.core import ops, prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import active

K, ROUNDS = 12, 40
OPTIONS = active.Options(disqualified=0.4, temperature=0.5, uniform=0.3)
PLAIN = OPTIONS.make(Dims(K, K))
SELECTOR = telling(PLAIN, "loss_before")
N = np.array([20, 3, 0, 8, 1, 5, 40, 11, 9, 2, 30, 7], np.int32)


def draws(key):
    races = [ops.exponential(prng.at(key, i), K) for i in (0, 2)]
    return jnp.stack([prng.uniform(prng.at(key, 1), K), *races])


def test_it_follows_the_reference():
    for seed, k in ((0, 4), (1, 7), (2, 1)):
        rng = np.random.default_rng(seed)
        there, back = rng.uniform(size=(2, ROUNDS, K)) < 0.7
        there[5], there[9], there[13] = True, False, np.arange(K) == 3
        loss = rng.uniform(0, 3, (ROUNDS, K))
        loss[7, :5], loss[11] = np.nan, np.inf
        with jax.enable_x64(True):
            rounds = Rounds(there, returns=back, loss=loss, num_samples=np.broadcast_to(N, (ROUNDS, K)))
            states, cohort = walk(SELECTOR, OPTIONS.params(Problem(K, k, ROUNDS)), rounds, seed)
            told = drawn(draws, seed, 1, ROUNDS)
        v: list = [None] * K
        for t in range(ROUNDS):
            known = [np.inf if x is None else x for x in v]
            np.testing.assert_allclose(states.valuation[t], known, rtol=1e-12)
            tie, *races = told[t]
            first, rest = ref.active(v, there[t], k, (0.4, 0.5, 0.3), tie, races)
            assert set(np.flatnonzero(cohort.selected[t]).tolist()) == first | rest, t
            assert len(first | rest) == min(k, there[t].sum())
            for i in first | rest:
                if back[t, i]:
                    v[i] = ref.valuation(loss[t, i], N[i], v[i])
        assert k == 1 or (v[2] == 0 and None not in v)


@jax.jit
def many_cohorts(params, valuation, keys):
    seen = view(jnp.int32(1), 1, Rounds(jnp.ones(K, bool)))
    return jax.vmap(lambda key: PLAIN.select(key, active.State(valuation), params, seen)[1].selected)(keys)


def chosen(valuation, k, **settings):
    """Return the cohorts for 2000 keys."""
    params = on_device(active.Options(**settings).params(Problem(K, k, 1)))
    keys = jax.vmap(jax.random.key)(jnp.arange(2000))
    return np.asarray(many_cohorts(params, jnp.asarray(valuation, jnp.float32), keys))


def test_three_quarters_are_disqualified_from_the_first_draw():
    """Of 12 clients 3 qualify; with k = 2 and alpha_3 = 0 both places are theirs. A new client is one of them."""
    assert (active.Options().disqualified, active.Options().temperature, active.Options().uniform) == (0.75, 0.01, 0.1)
    v = np.arange(K, dtype=float)
    selected = chosen(v, 2, uniform=0.0)
    assert not selected[:, :9].any() and selected[:, 9:].any(0).all()
    v[4] = np.inf
    selected = chosen(v, 2, uniform=0.0)
    assert set(np.flatnonzero(selected.any(0)).tolist()) == {4, 10, 11}
    # With k = 6 the three qualified are all taken, and the other three places are uniform among nine.
    selected = chosen(np.arange(K), 6, uniform=0.0)
    assert selected[:, 9:].all() and (abs(selected[:, :9].mean(0) - 1 / 3) < 4 * np.sqrt(2 / 9 / 2000)).all()


def test_chances_of_the_first_draw_by_hand():
    """Nobody is disqualified and one client is drawn, with chances exp(alpha_2 v)."""
    v = np.array([0.0] * 10 + [2.0, 4.0])
    selected = chosen(v, 1, disqualified=0.0, temperature=0.5, uniform=0.0)
    p = np.exp(0.5 * v) / np.exp(0.5 * v).sum()
    assert (abs(selected.mean(0) - p) < 4 * np.sqrt(p * (1 - p) / 2000)).all()
    assert (chosen(v * 1e4, 1, disqualified=0.0, temperature=0.5, uniform=0.0)[:, 11]).all()  # exp(2e4) does not fit


@pytest.mark.parametrize("settings", [{"uniform": 1.0}, {"temperature": 0.0, "disqualified": 0.0}])
def test_limits_are_uniform_selection(settings):
    selected = chosen(np.arange(K), 4, **settings)
    assert (abs(selected.mean(0) - 1 / 3) < 4 * np.sqrt(2 / 9 / 2000)).all()


@pytest.mark.check
def test_losses_of_training_need_no_facts():
    options = active.Options(loss="training")
    selector = options.make(Dims(K, K))
    assert selector.wants == () and PLAIN.wants == ("loss_before",)
    loss = np.tile(np.linspace(0.1, 1, K), (20, 1))
    states, _ = walk(selector, options.params(Problem(K, K, 20)), Rounds(np.ones((20, K), bool), loss=loss))
    np.testing.assert_allclose(states.valuation[-1], loss[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"disqualified": 1.5}, r"disqualified of active-fl must lie in \[0, 1\], found 1.5"),
        ({"uniform": -0.1}, r"uniform of active-fl must lie in \[0, 1\]"),
        ({"temperature": float("nan")}, "temperature of active-fl must not be negative, found nan"),
    ],
)
def test_impossible_settings(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        active.Options(**settings).params(Problem(K, 4, ROUNDS))
