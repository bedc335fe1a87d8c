"""Bandits on success bits against the NumPy references, where some clients are away, fail or have no data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import bandits as ref
from scipy import stats
from stepping import Rounds, drawn, on_device, view, walk

from jfed import catalog
from jfed.core import ops, prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import discounted_ucb, epsilon_greedy, sliding_window_ucb, thompson, ucb

K, ROUNDS, PROPOSALS = 8, 60, 24
CASES = ((0, 3), (1, 2), (2, 5))  # seeds and cohort sizes
RATES = np.array([0.1, 0.9, 0.3, 0.6, 0.9, 0.1, 0.6, 0.3])


def events(seed):
    """Return the masks of available and of returning clients; there are rounds with all, no and one available client.

    Client 6 never returns, and client 7 is away for 25 rounds.
    """
    rng = np.random.default_rng(seed)
    there, back = rng.uniform(size=(ROUNDS, K)) < 0.7, rng.uniform(size=(ROUNDS, K)) < RATES
    there[5], there[9], there[13] = True, False, np.arange(K) == 3
    there[20:45, 7], back[:, 6] = False, False
    return there, back


def stepped(selector, options, seed, k, there, back):
    sizes = np.where(np.arange(K) == 2, 0, 5).astype(np.int32)
    rounds = Rounds(
        there, returns=back, num_samples=np.broadcast_to(sizes, (ROUNDS, K)), loss=np.full((ROUNDS, K), np.nan)
    )
    return walk(selector, options.params(Problem(K, k, ROUNDS)), rounds, seed)


def tie(key):
    return prng.uniform(key, K)


def slots(key):
    coin, order, race = (prng.at(key, i) for i in range(3))
    return prng.uniform(coin, K), prng.uniform(order, K), ops.log_exponential(race, K)


def proposals(key):
    words = jax.vmap(lambda i: prng.words(prng.at(prng.at(key, 0), i), 2 * K))(jnp.arange(PROPOSALS))
    return words, prng.uniform(prng.at(key, 1), K)


def test_epsilon_greedy_is_that_of_the_reference():
    selector = epsilon_greedy.Options().make(Dims(K, K))
    with jax.enable_x64(True):
        for (seed, k), epsilon in zip(CASES, (0.1, 0.4, 0.8), strict=True):
            there, back = events(seed)
            states, cohort = stepped(selector, epsilon_greedy.Options(epsilon), seed, k, there, back)
            coins, ties, race = drawn(slots, seed, 1, ROUNDS)
            expected = ref.epsilon_greedy(there, back, k, epsilon, coins, ties, race)
            np.testing.assert_array_equal(cohort.selected, expected)
            np.testing.assert_array_equal(states.wins[1:], np.cumsum(expected & back, 0)[:-1])


BOUNDS = {
    "ucb1": (ucb.Options(), {"xi": 2.0}),
    "discounted": (discounted_ucb.Options(gamma=0.8), {"xi": 0.6, "gamma": 0.8}),
    "window": (sliding_window_ucb.Options(tau=7), {"xi": 0.6, "tau": 7}),
}


@pytest.mark.parametrize("form", BOUNDS)
def test_upper_confidence_bounds_are_those_of_the_reference(form):
    options, settings = BOUNDS[form]
    selector = options.make(Dims(K, K))
    with jax.enable_x64(True):
        for seed, k in CASES:
            there, back = events(seed)
            _, cohort = stepped(selector, options, seed, k, there, back)
            expected = ref.ucb(there, back, k, ties=drawn(tie, seed, 1, ROUNDS), form=form, **settings)
            np.testing.assert_array_equal(cohort.selected, expected)


def test_without_forgetting_all_bounds_are_those_of_ucb1():
    found = []
    for options in (ucb.Options(), discounted_ucb.Options(1.0, 0.5), sliding_window_ucb.Options(ROUNDS, 2.0)):
        there, back = events(3)
        with jax.enable_x64(True):
            found.append(stepped(options.make(Dims(K, K)), options, 3, 3, there, back)[1].selected)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_window_keeps_the_last_rounds_only():
    options, (there, back) = sliding_window_ucb.Options(tau=7), events(0)
    selector = options.make(Dims(K, K))
    with jax.enable_x64(True):
        states, cohort = stepped(selector, options, 0, 3, there, back)
    for t in (1, 6, 7, 8, 30, ROUNDS - 1):
        past = cohort.selected[max(0, t - 7) : t]
        np.testing.assert_array_equal(states.seen.times[t], past.sum(0))
        np.testing.assert_array_equal(states.seen.wins[t], (past & back[max(0, t - 7) : t]).sum(0))


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_thompson_sampling_is_that_of_the_reference(gamma):
    options = thompson.Options(gamma)
    with jax.enable_x64(True):
        for seed, k in CASES:
            there, back = events(seed)
            states, cohort = stepped(THOMPSON, options, seed, k, there, back)
            words, ties = drawn(proposals, seed, 1, ROUNDS)
            u = (words.astype(float) + 0.5) / 2**32
            selected, wins, losses = ref.thompson(there, back, k, gamma, u[:, :, :K], u[:, :, K:], ties)
            np.testing.assert_array_equal(cohort.selected, selected)
            np.testing.assert_allclose(states.wins[1:], wins[:-1], rtol=1e-10)
            np.testing.assert_allclose(states.losses[1:], losses[:-1], rtol=1e-10)


THOMPSON = thompson.Options().make(Dims(K, K))
POSTERIORS = [(0, 0), (3, 0), (0, 5), (0.4, 7.3), (250, 120), (1e-6, 0), (1e-38, 1e-38), (2000, 0), (3e4, 1e4)]


def test_draws_have_the_law_of_the_posterior():
    """Each comparison would reject correct draws for one seed in 10,000; the seed is fixed."""
    many = 4000
    s, f = np.repeat(np.array(POSTERIORS, np.float32), many, 0).T
    odds = np.asarray(jax.jit(thompson.log_odds)(jax.random.key(4), s, f), float).reshape(-1, many)
    for (wins, losses), own in zip(POSTERIORS, odds, strict=True):
        theta = 1 / (1 + np.exp(-own))
        assert stats.kstest(theta, stats.beta(1 + wins, 1 + losses).cdf).pvalue > 1e-4, (wins, losses)
        assert len(np.unique(own)) > 0.98 * many  # no ties, even where theta is close to 1


def test_a_choice_of_each_policy_by_hand():
    # s / n: 8/10, 1/2, 5/10 and none; after 10 rounds UCB1 adds sqrt(2 ln 10 / n): 1.479, 2.017, 1.179 and infinity.
    seen = ucb.State(jnp.array([8, 1, 5, 0]), jnp.array([10, 2, 10, 0]))
    score = ucb.index(*seen, 2 * ucb.log_rounds(view(jnp.int32(11), 20, Rounds(jnp.ones(4, bool)))))
    np.testing.assert_allclose(score, [1.478614, 2.017427, 1.178614, np.inf], rtol=1e-5)
    np.testing.assert_allclose(ucb.index(*seen, jnp.zeros(())), [0.8, 0.5, 0.5, np.inf], rtol=1e-6)
    first = view(jnp.int32(1), 20, Rounds(jnp.ones(4, bool)))
    assert ucb.log_rounds(first) == 0 and ucb.log_rounds(first._replace(round=jnp.int32(99)), 1) == 0


def test_ties_are_broken_evenly_among_those_who_are_there():
    """All clients tie in the first round, and one of eight is away: each other is first in about 1/7 of 2000 draws."""
    options = ucb.Options()
    selector, params = options.make(Dims(K, K)), on_device(options.params(Problem(K, 1, 9)))
    seen = view(jnp.int32(1), 9, Rounds(jnp.arange(K) != 4))
    start = selector.init(jax.random.key(0), params)
    choose = jax.jit(jax.vmap(lambda key: selector.select(key, start, params, seen)[1].selected))
    counts = np.asarray(choose(jax.random.split(jax.random.key(1), 2000))).sum(0)
    assert counts[4] == 0 and stats.chisquare(np.delete(counts, 4)).pvalue > 1e-4


def test_names_with_whole_numbers_and_beside_others():
    window = catalog.scheme("sw-ucb-40")
    assert window == sliding_window_ucb.Options(40) and type(window.tau) is int
    assert catalog.scheme("thompson") == thompson.Options(1.0)
    for name in ("sw-ucb-40", "thompson", "discounted-thompson-0.95", "d-ucb-0.9", "eps-greedy-0.2", "ucb1"):
        assert catalog.label(catalog.scheme(name)) == name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (epsilon_greedy.Options(1.5), "epsilon must lie in"),
        (ucb.Options(-1.0), "xi must not be negative"),
        (discounted_ucb.Options(0.0), "gamma must lie in"),
        (discounted_ucb.Options(0.9, float("nan")), "xi must not be negative"),
        (sliding_window_ucb.Options(0), "must have at least one round"),
        (thompson.Options(1.01), "discount of Thompson sampling must"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        options.params(Problem(K, 3, ROUNDS))
