"""Loss-proportional sampling against the NumPy reference, by hand, and that its weights are unbiased."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import losses as ref
from stepping import Rounds, drawn, on_device, view, walk
from telling import polled

from jfed.algorithms.deadline import share
from jfed.core import ops, prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import loss_proportional as lp

K, SLOTS, ROUNDS = 9, 7, 40
N = np.array([20, 3, 0, 8, 1, 5, 40, 11, 9], np.int32)
FORMS = {
    "mean": lp.Options(uniform=0.2),
    "mean last": lp.Options(uniform=0.2, loss="last"),
    "unbiased": lp.Options(weights="unbiased"),
    "unbiased last": lp.Options(weights="unbiased", loss="last"),
}


def member(options):
    """Return the selector, for which the accuracies of the driver are the polled losses."""
    made = options.make(Dims(K, SLOTS))
    return made if options.loss == "last" else polled(made)


MEMBERS = {form: member(options) for form, options in FORMS.items()}


def race_and_points(key):
    return ops.exponential(key, K), prng.uniform(key, SLOTS)


@pytest.mark.parametrize("form", ["mean", pytest.param("mean last", marks=pytest.mark.check), "unbiased last",
                                  pytest.param("unbiased", marks=pytest.mark.check)])  # fmt: skip
def test_it_follows_the_reference(form):
    options = FORMS[form]
    uniform = 0.2 if options.weights == "mean" else 0.1
    for seed, k in ((0, 3), (1, SLOTS), (2, 1)):
        rng = np.random.default_rng(seed)
        there, back = rng.uniform(size=(2, ROUNDS, K)) < 0.7
        there[5], there[9], there[13], there[14] = True, False, np.arange(K) == 3, N == 0
        loss = rng.uniform(0, 3, (ROUNDS, K))
        loss[7, :4], loss[11], loss[15], loss[16, 6] = np.nan, np.inf, 0.0, np.inf
        with jax.enable_x64(True):
            rounds = Rounds(there, accuracy=np.where(there, loss, np.nan), returns=back, loss=loss,
                            num_samples=np.broadcast_to(N, (ROUNDS, K)))  # fmt: skip
            states, cohort = walk(MEMBERS[form], options.params(Problem(K, k, ROUNDS)), rounds, seed)
            races, points = drawn(race_and_points, seed, 1, ROUNDS)
        last = np.full(K, np.inf)
        for t in range(ROUNDS):
            np.testing.assert_array_equal(states.last_loss[t], last)
            q = ref.loss_chances(last if options.loss == "last" else loss[t], N, there[t], uniform)
            if options.weights == "mean":
                chosen = ref.draw_one_by_one(q, there[t], k, races[t])
                assert len(chosen) == min(k, there[t].sum()) and np.isnan(cohort.inclusion[t]).all()
                np.testing.assert_allclose(cohort.importance[t], N.mean() / np.maximum(N, 1))
            else:
                times = ref.draw_with_replacement(q, points[t], k)
                chosen = {i for i in range(K) if times[i]}
                weight = [c / (k * p) if c else 0.0 for c, p in zip(times, q, strict=True)]
                np.testing.assert_allclose(cohort.importance[t], weight, rtol=1e-9)
                np.testing.assert_allclose(cohort.inclusion[t], 1 - (1 - np.array(q)) ** k, rtol=1e-9)
                assert sum(times) == (k if (there[t] & (N > 0)).any() else 0)
            assert set(np.flatnonzero(cohort.selected[t]).tolist()) == chosen, t
            came = cohort.selected[t] & back[t] & ~np.isnan(loss[t])
            last[came] = loss[t][came]


@jax.jit
def chances(loss, uniform, here):
    return lp.chances(loss, uniform, view(jnp.int32(1), 1, Rounds(here, num_samples=jnp.asarray(N))))


def test_chances_by_hand():
    """n F: 20, 6, (no images), away, 1, 5 x 3 (unknown: the largest), 0, 11, 9 x 3 (not finite): 80 in all."""
    loss = jnp.array([1.0, 2.0, 9.0, 7.0, 1.0, jnp.nan, 0.0, 1.0, jnp.inf])
    loss = loss.at[1].set(3.0)  # the largest of those that are there: 3 x 3 = 9
    here = jnp.arange(K) != 3
    wanted = np.array([20, 9, 0, 0, 1, 15, 0, 11, 27]) / 83
    np.testing.assert_allclose(chances(loss, 0.0, here), wanted, rtol=1e-6)
    even = np.where((N > 0) & np.asarray(here), 1 / 7, 0)
    np.testing.assert_allclose(chances(loss, 0.25, here), 0.75 * wanted + 0.25 * even, rtol=1e-6)
    np.testing.assert_allclose(chances(0 * jnp.ones(K), 0.0, here), even, rtol=1e-6)
    np.testing.assert_allclose(chances(loss * jnp.nan, 0.0, here), np.where(even > 0, N, 0) / 89, rtol=1e-6)
    np.testing.assert_allclose(chances(jnp.where(loss > 1, loss, 0) * 1e37, 0.0, here).sum(), 1, rtol=1e-6)
    assert not chances(loss, 0.3, here & False).any()


def test_weights_are_unbiased():
    """The mean of the clients' shares in the average is p_i, in the reading "unscaled"; that of "returned" is not."""
    options, draws = FORMS["unbiased"], 20_000
    params = on_device(options.params(Problem(K, 3, 1)))
    selector = options.make(Dims(K, SLOTS))
    seen = view(jnp.int32(1), 1, Rounds(jnp.ones(K, bool), num_samples=jnp.asarray(N)))
    seen = seen._replace(probed=jnp.array([0.1, 3.0, 0.0, 1.0, 9.0, 0.0, 0.2, 1.0, 2.0]))

    @jax.jit
    def shares(keys):
        def one(key):
            cohort = selector.select(key, selector.init(key, params), params, seen)[1]
            come = cohort.selected
            return [
                share(reading, seen.num_samples, come, come, cohort.importance) for reading in ("unscaled", "returned")
            ]

        return jax.lax.map(jax.vmap(one), keys.reshape(20, -1))

    found, scaled = (
        np.asarray(x).reshape(draws, K).astype(float) for x in shares(jax.vmap(jax.random.key)(jnp.arange(draws)))
    )
    found, scaled = np.where(found > 0, found, 0), np.where(scaled > 0, scaled, 0)
    p = N / N.sum()
    error = found.std(0) / np.sqrt(draws)
    assert (abs(found.mean(0) - p) <= 4 * error).all() and (error < 0.01).all()
    assert (abs(scaled.mean(0) - p) > 4 * scaled.std(0) / np.sqrt(draws)).any()


def test_models_of_the_mean_count_alike_in_each_reading():
    options = FORMS["mean last"]
    params = on_device(options.params(Problem(K, 4, 1)))
    seen = view(jnp.int32(1), 1, Rounds(jnp.arange(K) != 3, num_samples=jnp.asarray(N)))
    start = lp.State(jnp.ones(K))
    chosen = jax.jit(MEMBERS["mean last"].select)(jax.random.key(0), start, params, seen)[1]
    weights = {"all": 1 / 8, "unscaled": 1 / 9, "selected": 1 / 4, "returned": 1 / 4}  # 8 of 9 have images
    for reading, one in weights.items():
        found = share(reading, seen.num_samples, chosen.selected, chosen.selected, chosen.importance)
        np.testing.assert_allclose(found[chosen.selected], one, rtol=1e-6)


def test_large_losses_are_drawn_more_often_by_the_mean():
    loss = np.tile(np.where(np.arange(K) < 4, 4.0, 1.0), (ROUNDS, 1))
    rounds = Rounds(np.ones((ROUNDS, K), bool), accuracy=loss, returns=np.ones((ROUNDS, K), bool), loss=loss,
                    num_samples=np.ones((ROUNDS, K), np.int32))  # fmt: skip
    with jax.enable_x64(True):
        cohort = walk(MEMBERS["mean"], lp.Options().params(Problem(K, 2, ROUNDS)), rounds)[1]
    assert cohort.selected[:, :4].sum() > 2 * cohort.selected[:, 4:].sum()


def test_all_available_clients_are_polled_unless_last_losses_count():
    here = jnp.arange(K) % 2 == 0
    probe = FORMS["mean"].make(Dims(K, SLOTS)).probe
    assert probe is not None and FORMS["mean last"].make(Dims(K, SLOTS)).probe is None
    params = on_device(lp.Options().params(Problem(K, 3, 1)))
    asked = probe(jax.random.key(0), lp.State(jnp.zeros(K)), params, view(jnp.int32(1), 1, Rounds(here)))
    np.testing.assert_array_equal(asked.asked, here)
    assert int(asked.num_images) > 10**9


def test_shares_by_default_and_impossible_ones():
    assert lp.Options().params(Problem(K, 3, 1)).uniform == 0
    assert lp.Options(weights="unbiased").params(Problem(K, 3, 1)).uniform == 0.1
    with pytest.raises(ConfigError, match=r"uniform share of a draw must lie in \[0, 1\], found 1.1"):
        lp.Options(uniform=1.1).params(Problem(K, 3, 1))
