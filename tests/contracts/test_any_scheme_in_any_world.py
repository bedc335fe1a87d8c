"""Every scheme runs in every world by one line of config, and what cannot be is refused in a sentence."""

import jax
import numpy as np
import pytest
from support import run

import jfed
from jfed import schemes
from jfed.engine import simulate
from jfed.envs import ENVIRONMENTS, edge, exchange, volatility, wireless
from jfed.errors import ConfigError
from jfed.selectors import cs_ucb_q, rbcs_f

K, SIZE, T = 8, 2, 4
BASE = jfed.Config(num_clients=K, cohort_size=SIZE, num_rounds=T)
WORLDS = {
    "volatility": volatility.Options(availability=0.75),
    "exchange": exchange.Options(),
    "wireless": wireless.Options(availability=0.75, model_bits=5e4),
    "edge": edge.Options(),
}
ALONE = ("uniform", "everybody", "round-robin", "dirichlet-0.5", "fedcs", "fedcs-3", "e3cs-0.5", "best-0.5",
         "rbcs-f-20", "cs-ucb", "cs-ucb-q-0.01",
         "lls", "agnostic", "eiffel")  # fmt: skip
NEED_TRAINING = ("pow-d", "local-accuracy")
LAYOUT = jfed.Layout(block_size=2, chunk_rounds=T, record_selected=True)


@pytest.fixture(autouse=True, scope="module")
def quickly():
    """Some fifty programs that each run once need not be fast."""
    simulate.program.cache_clear()
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    simulate.program.cache_clear()


def point(name, world, **delta):
    selector = schemes.method(name)
    if isinstance(selector, rbcs_f.Options):
        selector = jfed.replace(selector, {"beta": 0.125})
    config = jfed.replace(BASE, {"environment": WORLDS[world], "selector": selector, **delta})
    return jfed.Point(config, {"method": name})


def test_every_kind_of_scheme_is_here():
    kinds = {type(schemes.method(name)) for name in (*ALONE, *NEED_TRAINING)}
    assert kinds == {type(o) for o in schemes.METHODS.values()} | {type(schemes.method(n)) for n in schemes.examples()}
    assert set(WORLDS) == set(ENVIRONMENTS)


# Each scheme in one world, each world with some schemes; all other pairs with what is slow.
PAIRS = [
    pytest.param(name, world, marks=() if i % len(WORLDS) == j else pytest.mark.proof)
    for i, name in enumerate(ALONE)
    for j, world in enumerate(WORLDS)
]


@pytest.mark.parametrize(("name", "world"), PAIRS)
def test_a_pair_runs(name, world):
    results = run([point(name, world)], [0, 1], LAYOUT)
    assert results.sizes["run"] == 2
    time, many = results["round_time_s"].values, results["num_selected"].values
    assert np.isfinite(time).all() and (time >= 0).all() and (time[many > 0] > 0).all()
    unlimited = name in ("fedcs-3", "everybody", "agnostic")
    assert (many[:, name == "eiffel" :] <= (K if unlimited else SIZE)).all() and many.any()  # at first Eiffel has all
    assert (results["num_succeeded"].values <= many).all()
    if world == "volatility":
        assert (time == 1).all()  # a round lasts until its deadline


@pytest.mark.parametrize("name", NEED_TRAINING)
def test_schemes_that_ask_for_a_loss_need_training(name):
    for world in WORLDS:
        with pytest.raises(ConfigError, match="asks clients for their loss, which a selection-only run does not have"):
            run([point(name, world)], [0], LAYOUT)


@pytest.mark.proof
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NEED_TRAINING)
def test_with_training_they_run_too(name, world):
    training = jfed.Training(samples_per_client=20, batch_size=8, test_set="official")
    results = run([point(name, world, training=training)], [0], LAYOUT)
    assert np.isfinite(results["test_accuracy"].values).all() and (results["num_probed"].values > 0).any()


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        (
            rbcs_f.Options(beta=0.3),
            "cannot promise 0.3 of the rounds to each of 8 clients: that is 2.4 a round, and k = 2",
        ),
        (cs_ucb_q.Options(quota=0.3), "cannot keep quotas of 2.4 clients a round in all with k = 2"),
        (
            cs_ucb_q.Options(quota=(0.76, *[0.0] * 7)),
            "cannot promise 0.76 of the rounds to a client that is available in 0.75",
        ),
        (cs_ucb_q.Options(quota=(0.1, 0.2)), "There are 2 quotas for 8 clients"),
        (cs_ucb_q.Options(beta=1.5), "beta must lie in"),
    ],
)
def test_promises_that_cannot_be_kept(selector, sentence):
    where = jfed.Point(jfed.replace(BASE, {"environment": WORLDS["wireless"], "selector": selector}), {})
    with pytest.raises(ConfigError, match=sentence):
        run([where], [0], LAYOUT)


@pytest.mark.parametrize("name", ["uniform", "cs-ucb-q-0.01", "rbcs-f-20", "e3cs-0.5"])
def test_nobody_is_there(name):
    """An empty cohort: the clock moves as the world says."""
    worlds = {"volatility": 1.0, "exchange": 0.0, "wireless": 5.0}
    for world, seconds in worlds.items() if name == "uniform" else [("wireless", 5.0)]:
        changed = {"environment": jfed.replace(WORLDS[world], {"availability": 0.0})}
        if name == "cs-ucb-q-0.01":
            changed["selector"] = cs_ucb_q.Options(quota=0.0)
        if name == "rbcs-f-20":
            changed["selector"] = rbcs_f.Options(beta=0.0)
        results = run([point(name, world, **changed)], [0], LAYOUT)
        assert not results["num_selected"].values.any()
        assert (results["round_time_s"].values == seconds).all()


def test_the_model_stays_where_nobody_is_there():
    training = jfed.Training(samples_per_client=20, batch_size=8, test_set="official")
    world = wireless.Options(availability=0.0)
    results = run([point("uniform", "wireless", environment=world, training=training)], [0], LAYOUT)
    assert len(set(results["test_loss"].values[0].tolist())) == 1 and not results["num_steps"].values.any()
    assert (results["round_time_s"].values == 5.0).all()
