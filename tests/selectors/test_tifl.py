"""TiFL against the NumPy reference, by hand, and what tiers, credits and probabilities do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import tifl as ref
from stepping import Rounds, drawn, on_device, view, walk
from telling import telling

from jfed.core import ops, prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import tifl

K, N, ROUNDS = 10, 3, 60
IMAGES = np.array([20, 3, 0, 8, 1, 5, 40, 11, 9, 2], np.int32)
FORMS = {form: tifl.Options(tiers=N, accuracy=form) for form in ("probed", "reported", "none")}  # type: ignore[arg-type]
MEMBERS = {form: options.make(Dims(K, K)) for form, options in FORMS.items()}
MEMBERS["reported"] = telling(MEMBERS["reported"], "accuracy")


def draws(key):
    tie, equal = (prng.uniform(prng.at(key, i), K) for i in (1, 2))
    return ops.exponential(prng.at(key, 0), N), tie, equal


def walked(form, rounds, k, seed=0, **settings):
    options = tifl.Options(tiers=N, accuracy=form, **settings)
    with jax.enable_x64(True):
        return walk(MEMBERS[form], options.params(Problem(K, k, ROUNDS)), rounds, seed)


@pytest.mark.parametrize(
    "form", ["probed", *(pytest.param(form, marks=pytest.mark.check) for form in ("reported", "none"))]
)
def test_it_follows_the_reference(form):
    changed = 0
    for seed, k, some in ((0, 3, {}), (1, 2, {"measurements": 2}), (2, 5, {"credits": 4, "profile_rounds": 3})):
        rng = np.random.default_rng(seed)
        there, back = rng.uniform(size=(2, ROUNDS, K)) < 0.7
        there[5], there[9], there[33], there[:, 8] = True, False, np.arange(K) == 3, seed == 0
        accuracy = rng.uniform(size=(ROUNDS, K))
        accuracy[:, IMAGES == 0] = np.nan
        waited = rng.choice([1.0, 2.0, 4.0, 8.0], (ROUNDS, K))  # of which many means are equal
        asked = there & (np.arange(1, ROUNDS + 1) % 4 == 0)[:, None]
        rounds = Rounds(there, returns=back, loss=accuracy, accuracy=np.where(asked, accuracy, np.nan),
                        waited_s=waited, num_samples=np.broadcast_to(IMAGES, (ROUNDS, K)))  # fmt: skip
        states, cohort = walked(form, rounds, k, seed, interval=4, **some)
        with jax.enable_x64(True):
            told = drawn(draws, seed, 1, ROUNDS)
        needed = 2 * -(-K * some.get("measurements", 1) // k)
        other = ref.Tifl(K, k, N, 4, some.get("credits", 20), some.get("measurements", 1),
                         some.get("profile_rounds", needed), form != "none")  # fmt: skip
        for t in range(ROUNDS):
            race, tie, equal = (x[t] for x in told)
            polled = rounds.accuracy[t] if form == "probed" else None
            chosen = other.select(t + 1, there[t], IMAGES, race, tie, equal, polled)
            assert set(np.flatnonzero(cohort.selected[t]).tolist()) == chosen, t
            assert len(chosen) == min(k, there[t].sum())
            assert states.tier[t].tolist() == (other.tier or [-1] * K)
            assert states.credits[t].tolist() == other.credits
            np.testing.assert_allclose(states.chance[t], other.chance, rtol=1e-12)
            assert states.drawn[t] == (-1 if other.drawn is None else other.drawn)
            known = [other.accuracy.get(i, -1) if IMAGES[i] else -1 for i in range(K)]
            np.testing.assert_allclose(states.accuracy[t], known, rtol=1e-12)
            other.update(chosen, back[t], waited[t], accuracy[t] if form == "reported" else None)
        changed += other.chance != [1 / N] * N
        assert (other.credits == [0] * N) == ("credits" in some)
    assert (changed > 1) == (form != "none")


def test_probabilities_by_hand():
    """Of four tiers one has no credits: m = 3, the least accurate has 3/6; of equals the faster one comes first."""
    changed, accuracy = jax.jit(tifl.changed), jnp.array([0.5, 0.1, 0.5, 0.9])
    np.testing.assert_allclose(changed(accuracy, jnp.array([1, 0, 7, 3])), [3 / 6, 0, 2 / 6, 1 / 6], rtol=1e-6)
    np.testing.assert_allclose(changed(accuracy, jnp.array([0, 2, 0, 0])), [0, 1, 0, 0])
    assert not changed(accuracy, jnp.array([0, 0, 0, 0])).any()


def test_tiers_by_hand():
    mean, known = jnp.array([5.0, 1.0, 3.0, 0.0, 2.0, 4.0, 6.0]), jnp.array([1, 1, 1, 0, 1, 1, 1], bool)
    # In order 1, 4, 2, 5, 0, 6 and 3, which was not measured; places times 3 over 7: 0 0 0 1 1 2 2.
    found = jax.jit(tifl.tiers_of, static_argnums=3)(mean, known, jnp.zeros(7), 3)
    assert found.tolist() == [1, 0, 0, 2, 0, 1, 2]


EVERYBODY = {"available": np.ones((ROUNDS, K), bool), "returns": np.ones((ROUNDS, K), bool)}
SPEED = np.array([1.0, 9, 5, 1.1, 9.1, 5.1, 1.2, 9.2, 5.2, 1.3])  # four fast clients, and three of each other kind
KIND = np.array([0, 2, 1, 0, 2, 1, 0, 2, 1, 0])


def poll(accuracy):
    """Return rounds in which all are there and answer with an accuracy each."""
    told = np.broadcast_to(accuracy, (ROUNDS, K)).copy()
    return Rounds(**EVERYBODY, loss=told, accuracy=told, waited_s=np.tile(SPEED, (ROUNDS, 1)),
                  num_samples=np.ones((ROUNDS, K), np.int32))  # fmt: skip


def test_each_client_is_measured_and_then_cohorts_have_one_tier():
    states, cohort = walked("probed", poll(0.5 + np.zeros(K)), 3)
    assert (cohort.selected[:4].sum(0) >= 1).all() and (states.tier[3] == -1).all() and (states.tier[4:] == KIND).all()
    for row in cohort.selected[4:]:
        assert len(set(KIND[row].tolist())) == 1 and row.sum() == 3
    assert {int(KIND[row][0]) for row in cohort.selected[4:]} == {0, 1, 2}


def test_credits_bound_the_rounds_of_a_tier():
    """With 20 credits each, 56 rounds after the profile take at least 16 of each tier, whatever the probabilities."""
    falling = np.linspace(0.9, 0.1, ROUNDS)[:, None] * np.where(KIND == 2, 0.1, 1)  # the slow tier is poor
    states, _ = walked("probed", poll(falling), 3, interval=2)
    used = 20 - states.credits[-1]
    assert used.sum() == ROUNDS - 4 and used[2] == 20 and used.min() >= 16 and states.credits.min() == 0
    assert states.chance[7][2] == pytest.approx(1 / 2)  # 3/6: the least accurate tier


@pytest.mark.parametrize(("form", "way"), [("probed", 1), pytest.param("none", -1, marks=pytest.mark.check)])
def test_probabilities_stay_while_the_accuracy_rises_or_is_not_asked_for(form, way):
    rising = np.linspace(0.1, 0.9, ROUNDS)[:, None] * np.where(KIND == 2, 0.1, 1)
    states, _ = walked(form, poll(rising[::way]), 3, interval=2)
    np.testing.assert_allclose(states.chance, 1 / N)


def test_a_small_tier_is_filled_up_with_faster_ones_first():
    there = EVERYBODY["available"].copy()
    there[10:, [4, 7]] = False  # one slow client is left
    rounds = poll(0.5 + np.zeros(K))._replace(available=there)
    states, cohort = walked("probed", rounds, 3)
    for t in range(10, ROUNDS):
        kinds = sorted(KIND[cohort.selected[t]].tolist())
        assert kinds == {0: [0, 0, 0], 1: [1, 1, 1], 2: [1, 1, 2]}[int(states.drawn[t])]
    assert (states.drawn[10:] == 2).any()


def test_accuracy_is_asked_for_every_so_many_rounds_after_the_profile():
    probe, options = MEMBERS["probed"].probe, FORMS["probed"]
    assert probe is not None and MEMBERS["none"].probe is None and MEMBERS["reported"].probe is None
    assert [MEMBERS[form].wants for form in FORMS] == [(), ("accuracy",), ()]
    params = on_device(options.params(Problem(K, 3, ROUNDS)))  # I = 20, and a profile of 8 rounds at most
    here = jnp.arange(K) % 2 == 0

    def asked(t, times):
        state = MEMBERS["probed"].init(jax.random.key(0), params)._replace(times=jnp.full(K, times))
        return probe(jax.random.key(0), state, params, view(jnp.int32(t), ROUNDS, Rounds(here)))

    np.testing.assert_array_equal(asked(20, 0).asked, here)
    assert int(asked(20, 0).num_images) > 10**9 and not asked(21, 1).asked.any()
    small = params._replace(interval=jnp.int32(4))
    state = MEMBERS["probed"].init(jax.random.key(0), small)
    seen = view(jnp.int32(4), ROUNDS, Rounds(here))
    assert not probe(jax.random.key(0), state, small, seen).asked.any()  # still in the profile
    done = state._replace(times=state.times + 1)
    np.testing.assert_array_equal(probe(jax.random.key(0), done, small, seen).asked, here)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tiers": 0}, "between one tier and one for each of 10 clients, found 0"),
        ({"tiers": 11}, "between one tier and one for each of 10 clients, found 11"),
        ({"interval": 0}, "interval must be at least one round, found 0"),
        ({"measurements": 0}, "measure each client at least once, found 0"),
        ({"credits": -1}, "credits of TiFL's tiers must not be negative, found -1"),
        ({"profile_rounds": 0}, "profile must last at least one round, found 0"),
    ],
)
def test_impossible_settings(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        tifl.Options(**settings).params(Problem(K, 4, ROUNDS))
