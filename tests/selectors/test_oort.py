"""Oort against the NumPy reference, by hand, and what it is for: large losses, speed, and no client for ever."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import oort as ref
from stepping import Rounds, drawn, on_device, view, walk
from telling import telling

from jfed.core import ops, prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import oort

K, ROUNDS = 9, 60
QUICK = {"pacer_rounds": 4, "exploration": 0.7, "exploration_decay": 0.9}
MODES = {mode: oort.Options(**QUICK, **getattr(oort.Options.modes, mode)) for mode in ("faithful", "corrected")}
MEMBERS = {mode: telling(options.make(Dims(K, K)), "loss_sq", square=True) for mode, options in MODES.items()}
HERE, IMAGES = np.ones((ROUNDS, K), bool), np.ones((ROUNDS, K), np.int32)
CORRECTED = pytest.param("corrected", marks=pytest.mark.check)  # another program
BACK = {"returns": HERE, "num_samples": IMAGES}  # given in all rounds, so that all walks share a program


def walked(mode, params, rounds, seed=0):
    """Return the states and cohorts in double precision, so that each mode compiles once."""
    with jax.enable_x64(True):
        return walk(MEMBERS[mode], params, rounds, seed)


def draws(key):
    """Return the numbers that order equals, and the races of exploitation and exploration, whose clients differ."""
    race = ops.exponential(prng.at(key, 1), K)
    return jnp.stack([prng.uniform(prng.at(key, 0), K), race, race])


def referee(mode, k, **settings):
    """Return the reference with the settings of a mode, and others by its own names."""
    own = {"rounds": 4, "epsilon": 0.7, "decay": 0.9} | settings
    if mode == "corrected":
        own = {"cut_off": 0.95, "banned_after": 10, "percentile": 30.0, "by_paper": True} | own
    return ref.Oort(K, k, **own)


def rows(seed, rounds=ROUNDS):
    """Return made-up rounds in which clients are away, fail, have no images or lose their loss."""
    rng = np.random.default_rng(seed)
    there, back = rng.uniform(size=(rounds, K)) < 0.7, rng.uniform(size=(rounds, K)) < 0.7
    there[5], there[9], there[13] = True, False, np.arange(K) == 3
    loss = rng.uniform(0.1, 3, (rounds, K)) * np.linspace(1, 0.3, rounds)[:, None]
    loss[7, :4], loss[11] = np.nan, np.inf
    waited = np.geomspace(1, 20, K)[rng.permutation(K)] * rng.uniform(0.8, 1.2, (rounds, K))
    images = np.broadcast_to(np.array([20, 3, 0, 8, 1, 5, 40, 11, 9], np.int32), (rounds, K))
    return Rounds(there, returns=back, loss=loss, waited_s=waited, num_samples=images)


@pytest.mark.parametrize("mode", ["faithful", CORRECTED])
def test_it_follows_the_reference(mode):
    settings = {"faithful": {"percentile": 45.0, "blacklist_after": 3}, "corrected": {"blacklist_after": 3}}[mode]
    options = oort.Options(**{**QUICK, **getattr(oort.Options.modes, mode), **settings})
    seen, banned = set(), 0
    for seed, k in ((0, 4), (1, 3), (2, 6)):
        now = rows(seed)
        states, cohort = walked(mode, options.params(Problem(K, k, ROUNDS)), now, seed)
        with jax.enable_x64(True):
            told = drawn(draws, seed, 1, ROUNDS)
        more = {"banned_after": 3} | ({"percentile": 45.0} if mode == "faithful" else {})
        other = referee(mode, k, **more)
        for t in range(ROUNDS):
            images = now.num_samples[t]
            assert states.utility[t].tolist() == pytest.approx([other.utility.get(i, 0) for i in range(K)], rel=1e-9)
            assert states.duration_s[t].tolist() == [other.duration.get(i, -1) for i in range(K)]
            assert states.times[t].tolist() == [other.returns.get(i, 0) for i in range(K)]
            chosen = other.select(t + 1, now.available[t], images, told[t][0], (told[t][1], told[t][2]))
            assert set(np.flatnonzero(cohort.selected[t]).tolist()) == chosen, t
            assert len(chosen) == min(k, now.available[t].sum())
            assert set(np.flatnonzero(states.exploited[t]).tolist()) == set(other.exploited)
            assert states.percentile[t] == other.percentile
            assert states.exploration[t] == pytest.approx(other.epsilon, abs=1e-12)
            seen.add(other.percentile)
            banned += len(other.blacklist(told[t][0]))
            other.update(t + 1, chosen, now.returns[t], now.waited_s[t], now.loss[t] ** 2, images)
    assert len(seen) > 1 and banned > ROUNDS  # the pacer moved, and clients were left out


def test_modes_have_the_settings_of_the_code_and_the_paper():
    code, paper = (MODES[mode].params(Problem(K, 4, ROUNDS)) for mode in MODES)
    assert (code.cut_off, code.percentile, code.blacklist_after) == (0.7, 101, oort.NEVER)
    assert (paper.cut_off, paper.percentile, paper.blacklist_after, paper.blacklisted) == (0.95, 30, 10, 2)
    plain = oort.Options().params(Problem(100, 20, ROUNDS))
    assert (plain.exploration, plain.exploration_decay, plain.exploration_min) == (0.9, 0.98, 0.2)
    assert (plain.window, plain.clip, plain.alpha, plain.pacer_points, plain.pacer_rounds) == (5, 0.95, 2, 10, 20)
    assert plain.blacklisted == 30


@jax.jit
def many_cohorts(params, start, seen, keys):
    after, cohort = jax.vmap(lambda key: MEMBERS["faithful"].select(key, start, params, seen))(keys)
    return cohort.selected, after.exploited


def chosen(state, t, k, images=(1,) * K, **settings):
    """Return the cohorts of round t from a state, for 2000 keys, and their exploited clients."""
    with jax.enable_x64(True):
        params = on_device(oort.Options(**settings).params(Problem(K, k, ROUNDS)))
        start = MEMBERS["faithful"].init(jax.random.key(0), params)
        start = start._replace(**{name: jnp.asarray(x, getattr(start, name).dtype) for name, x in state.items()})
        seen = view(jnp.int32(t), ROUNDS, Rounds(jnp.ones(K, bool), num_samples=jnp.asarray(images, jnp.int32)))
        keys = jax.vmap(jax.random.key)(jnp.arange(2000))
        return [np.asarray(x) for x in many_cohorts(params, start, seen, keys)]


EXPLORED = {"times": np.ones(K), "last": np.ones(K), "duration_s": np.ones(K)}


def test_a_draw_by_hand():
    """Epsilon is 0.6 x 1, so that 10 x 0.4 = 4 of 9 clients seen are exploited; T is infinite, ln R = 0 in round 1.

    Utilities 1 .. 9 become (U - .999) / 8.001, as the clip at place int(9 x .95) = 8 is the largest. The fifth largest
    is 5, at .5; with a cut-off of .9 utilities of at least 4.6, clients 4 to 8, are drawn from.
    """
    state = EXPLORED | {"utility": np.arange(1.0, 10), "exploration": 0.6}
    _, exploited = chosen(state, 1, 10, exploration_decay=1.0, cut_off=0.9)
    assert (exploited.sum(1) == 4).all() and not exploited[:, :4].any()
    # One of five is left out; the scores are .5001 .. 1, and the client of chance p is last in a draw without
    # replacement more often the smaller p is: against the exact law, by enumeration.
    scores = (np.arange(5.0, 10) - 0.999) / 8.001
    left = np.zeros(5)
    for order in itertools.permutations(range(5)):
        chance, rest = 1.0, scores.sum()
        for i in order[:-1]:
            chance, rest = chance * scores[i] / rest, rest - scores[i]
        left[order[-1]] += chance
    got = 1 - exploited[:, 4:].mean(0)
    assert (np.abs(got - left) < 4 * np.sqrt(left * (1 - left) / 2000)).all()


@pytest.mark.parametrize("mode", ["faithful", CORRECTED])
def test_large_losses_come_first(mode):
    losses = np.array([0.1] * 5 + [3.0] * 4)
    now = Rounds(HERE, loss=np.tile(losses, (ROUNDS, 1)), waited_s=np.ones((ROUNDS, K)), **BACK)
    params = MODES[mode].params(Problem(K, 4, ROUNDS))._replace(blacklist_after=np.int32(oort.NEVER))
    selected = walked(mode, params, now)[1].selected[20:]
    assert selected[:, 5:].mean() > 0.75 and selected[:, :5].mean() < 0.2


def test_slow_clients_are_avoided_beyond_the_preferred_time():
    """All losses are equal: with T at the 45th percentile, the four slow ones of nine lose a factor (1 / 10)^2."""
    slow = np.array([10.0] * 4 + [1.0] * 5)
    now = Rounds(HERE, loss=np.ones((ROUNDS, K)), waited_s=np.tile(slow, (ROUNDS, 1)), **BACK)
    shares = {}
    for alpha in (0.0, 2.0):
        options = oort.Options(**QUICK, percentile=45.0, pacer_points=0.0, alpha=alpha)
        selected = walked("faithful", options.params(Problem(K, 4, ROUNDS)), now)[1].selected[20:]
        shares[alpha] = selected[:, :4].mean()
    assert shares[2.0] < 0.02 and 0.3 < shares[0.0] < 0.6


def test_a_client_that_returned_too_often_is_left_out():
    losses = np.tile([9.0, 8.0, 7.0, *[1.0] * 6], (ROUNDS, 1))
    now = Rounds(HERE, loss=losses, waited_s=np.ones((ROUNDS, K)), **BACK)
    options = oort.Options(**QUICK, cut_off=0.95, blacklist_after=10)
    states, cohort = walked("faithful", options.params(Problem(K, 3, ROUNDS)), now)
    # Two clients, 30 % of nine, are banned at most: those with the most returns, once these are above ten.
    for t in range(1, ROUNDS):
        times = states.times[t]
        over = np.flatnonzero(times > 10)
        if len(over) <= 2:
            assert not cohort.selected[t][over].any()
        else:
            least = np.sort(times)[-2]
            assert not cohort.selected[t][times > least].any()
    assert (states.times[-1] > 10).sum() > 2
    free = walked("faithful", options.params(Problem(K, 3, ROUNDS))._replace(blacklisted=np.int32(0)), now)[1]
    assert free.selected[-20:, 0].mean() > 0.8 > cohort.selected[-20:, 0].mean()


@pytest.mark.parametrize(
    ("mode", "factor", "moves"),
    [
        ("faithful", 1.0, 10),
        ("faithful", 0.9, 0),
        pytest.param("corrected", 0.9, 10, marks=pytest.mark.check),
        pytest.param("corrected", 1.02, 0, marks=pytest.mark.check),
    ],
)
def test_the_pacer_moves_by_the_sums_of_two_windows(mode, factor, moves):
    """Losses that stay or fall raise T by ten points every four rounds, each by its own rule."""
    loss = np.ones((ROUNDS, K)) * factor ** np.arange(ROUNDS)[:, None]
    options = oort.Options(**{**QUICK, **getattr(oort.Options.modes, mode), "percentile": 40.0, "blacklist_after": -1})
    now = Rounds(HERE, loss=loss, waited_s=np.ones((ROUNDS, K)), **BACK)
    percentile = walked(mode, options.params(Problem(K, 4, ROUNDS)), now)[0].percentile
    steps = np.diff(percentile)[19:-1]  # by then all clients are exploited in all rounds
    assert set(steps.tolist()) <= {0.0, float(moves)}
    ends = np.arange(2, ROUNDS + 1)[19:-1] % 4 == 0  # step j is made in round j + 2
    if moves:
        np.testing.assert_array_equal(steps != 0, ends & (percentile[19:-2] < 100))
        assert (steps != 0).any() or percentile[19] == 100


def test_a_window_without_exploitation_lowers_the_time():
    """As in the code: a sum of 0 is exceeded by five times itself."""
    loss = np.ones((ROUNDS, K))
    options = oort.Options(pacer_rounds=2, percentile=40.0, exploration=1.0, exploration_decay=0.9)
    now = Rounds(HERE, loss=loss, waited_s=np.ones((ROUNDS, K)), **BACK)
    states, _ = walked("faithful", options.params(Problem(K, 3, ROUNDS)), now)
    first = int(np.argmax(states.exploited.any(1)))
    assert (
        first > 1
        and (states.percentile[: first - 1] >= 40).all()
        and states.percentile.min() < states.percentile[first]
    )


def test_exploration_prefers_images_and_ends_when_all_were_seen():
    images = [100, 90, 80, *[1] * 6]
    selected, exploited = chosen({"exploration": 1.0}, 1, 2, images, window=1.5, exploration_decay=1.0)
    assert not exploited.any() and not selected[:, 3:].any() and selected[:, :3].any(0).all()  # 1.5 x 2 = 3 of them
    now = Rounds(HERE, loss=np.ones((ROUNDS, K)), waited_s=np.ones((ROUNDS, K)), **BACK)
    states, _ = walked("faithful", MODES["faithful"].params(Problem(K, 3, ROUNDS)), now)
    everybody = int(np.argmax((states.times > 0).all(1)))
    assert (states.exploration[:everybody] >= 0.2).all() and not states.exploration[everybody:].any()
    assert everybody > 2 and (states.exploited[everybody + 1 :].sum(1) == 3).all()


@pytest.mark.check
def test_without_facts_it_selects_and_learns_nothing_else():
    options = MODES["corrected"]
    states, cohort = walk(options.make(Dims(K, K)), options.params(Problem(K, 4, ROUNDS)), rows(4))
    assert all(np.isfinite(x).all() for x in states)
    np.testing.assert_array_equal(cohort.selected.sum(1), np.minimum(4, rows(4).available.sum(1)))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"cut_off": 1.5}, r"cut_off must lie in \[0, 1\], found 1.5"),
        ({"exploration": -0.1}, r"exploration must lie in \[0, 1\]"),
        ({"window": 0.5}, "explore among at least as many as it draws, found 0.5"),
        ({"alpha": float("inf")}, "alpha must not be negative, found inf"),
        ({"percentile": -1.0}, "percentile of T must not be negative"),
        ({"pacer_points": 101.0}, "move by 0 to 100 percentile points"),
        ({"pacer_rounds": 0}, "windows of at least a round, found 0"),
        ({"blacklist_after": -2}, "at least 0, or -1, found -2"),
    ],
)
def test_impossible_settings(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        oort.Options(**settings).params(Problem(K, 4, ROUNDS))
