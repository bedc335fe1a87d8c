"""Every scheme runs in every world by one line of config, and impossible settings are refused in a sentence."""

import itertools

import jax
import numpy as np
import pytest
from support import run

import jfed
from jfed import catalog
from jfed import config as configs
from jfed.core.errors import ConfigError
from jfed.core.options import static_half
from jfed.core.types import Dims
from jfed.engine import simulate
from jfed.envs import composed, volatility, wireless
from jfed.selectors import cs_ucb_q, rbcs_f

pytestmark = pytest.mark.check

K, SIZE, T = 8, 2, 4
BASE = jfed.Config(num_clients=K, cohort_size=SIZE, num_rounds=T)
# Of the ready-made combinations of parts, those whose parts differ; the others are checked by themselves.
COMBINED = ("composed", "markov", "jumping", "heavy-tails", "over-selection", "phones")
SINGLE = [n for n in catalog.names("environment") if not isinstance(catalog.find("environment", n), composed.Options)]
WORLDS = {name: catalog.find("environment", name) for name in (*SINGLE, *COMBINED)} | {
    "volatility": volatility.Options(availability=0.75),
    "wireless": wireless.Options(availability=0.75, model_bits=5e4),
}
IDLE_S = {"volatility": 1.0, "exchange": 0.0, "wireless": 5.0}  # length of a round in which no client is available
LAYOUT = jfed.Layout(block_size=2, chunk_rounds=T, record_selected=True)

# Schemes that are tried with no available client, in which world, and with promises that can be kept there.
EMPTY = {
    "everybody": "volatility",
    "uniform": "exchange",
    "cs-ucb-q-0.001": "exchange",
    "rbcs-f-20": "wireless",
    "e3cs-0.5": "wireless",
}
NO_PROMISE = {"cs-ucb-q-0.001": cs_ucb_q.Options(quota=0.0), "rbcs-f-20": rbcs_f.Options(beta=0.0)}


def asks(name):
    """Return whether a scheme polls clients, or wants facts of their training: both need training."""
    made = catalog.scheme(name).make(Dims(K, K))
    return made.probe is not None or len(made.wants) > 0


NAMES = catalog.names("selector")
NEED_TRAINING = [name for name in NAMES if asks(name)]
ALONE = [name for name in NAMES if name not in NEED_TRAINING]


def program(name):
    return static_half(catalog.scheme(name))


# Each scheme has one world, and those that differ in numbers only share it and its program; other pairs are slow.
OWN = {program(name): world for name, world in EMPTY.items()}
OTHERS = [one for one in dict.fromkeys(map(program, ALONE)) if one not in OWN]
TAKEN_LAST = sorted(WORLDS, key=lambda world: world in EMPTY.values())  # so that each world is a home
HOMES = OWN | dict(zip(OTHERS, itertools.cycle(TAKEN_LAST), strict=False))


def pairs(names, worlds):
    return [
        pytest.param(name, world, marks=() if world == HOMES[program(name)] else pytest.mark.proof)
        for name in names
        for world in worlds
    ]


@pytest.fixture(autouse=True, scope="module")
def quickly():
    """Compile without most optimisations: some fifty programs that each run once need not be fast."""
    simulate.program.cache_clear()
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    simulate.program.cache_clear()


def point(name, world, **delta):
    selector = catalog.scheme(name)
    if isinstance(selector, rbcs_f.Options):
        selector = jfed.replace(selector, {"beta": 0.125})
    config = jfed.replace(BASE, {"environment": WORLDS[world], "selector": selector, **delta})
    return jfed.Point(config, {"method": name})


def test_nothing_is_forgotten():
    """Every selector has a name, every name with a number an example, every scheme and world a pair."""
    assert {type(catalog.scheme(name)) for name in NAMES} == set(catalog.members("selector"))
    assert all(entry.name.examples for entry in catalog.entries("selector").values() if entry.name.number)
    assert set(WORLDS) == set(HOMES.values()) <= set(catalog.names("environment"))
    assert {type(world) for world in WORLDS.values()} == set(catalog.members("environment"))
    assert set(EMPTY.values()) == set(IDLE_S)
    assert {"pow-d", "local-accuracy"} <= set(NEED_TRAINING) and {"uniform", "cs-ucb-best", "rpow-d"} <= set(ALONE)


@pytest.mark.parametrize(("name", "world"), pairs(ALONE, WORLDS))
def test_a_pair_runs(name, world):
    where = point(name, world)
    results = run([where], [0, 1], LAYOUT)
    assert results.sizes["run"] == 2
    time, many = results["round_time_s"].values, results["num_selected"].values
    assert np.isfinite(time).all() and (time >= 0).all() and (time[many > 0] > 0).all()
    most = SIZE if name == "eiffel" else where.config.selector.slots(configs.problem(where.config))
    assert (many[:, name == "eiffel" :] <= most).all()  # Eiffel's first round selects all clients
    # FedCS with a deadline of 3 s selects nobody where failures keep the server waiting for longer on average.
    late = name == "fedcs-3" and (jfed.outcomes(where.config, [0, 1]).expected_latency_s >= 3).all()
    assert many.any() != late
    assert (results["num_succeeded"].values <= many).all()
    if world == "volatility":
        assert (time == 1).all()  # a round lasts until its deadline


@pytest.mark.parametrize("name", NEED_TRAINING)
def test_schemes_that_ask_for_a_loss_or_for_facts_need_training(name):
    for world in WORLDS:
        sentence = "(asks clients for their loss|of the clients' training), which a selection-only run does not have"
        with pytest.raises(ConfigError, match=sentence):
            run([point(name, world)], [0], LAYOUT)


@pytest.mark.proof
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NEED_TRAINING)
def test_with_training_they_run_too(name, world):
    training = jfed.Training(samples_per_client=20, batch_size=8, test_set="official")
    results = run([point(name, world, training=training)], [0], LAYOUT)
    polls = catalog.scheme(name).make(Dims(K, K)).probe is not None and name != "tifl"  # which polls every 20 rounds
    assert np.isfinite(results["test_accuracy"].values).all() and (results["num_probed"].values > 0).any() == polls


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


@pytest.mark.parametrize(("name", "world"), pairs(EMPTY, IDLE_S))
def test_nobody_is_there(name, world):
    """With an empty cohort, the clock moves as the world says."""
    changed = {"environment": jfed.replace(WORLDS[world], {"availability": 0.0})}
    if name in NO_PROMISE:
        changed["selector"] = NO_PROMISE[name]
    results = run([point(name, world, **changed)], [0], LAYOUT)
    assert not results["num_selected"].values.any()
    assert (results["round_time_s"].values == IDLE_S[world]).all()


def test_the_model_stays_where_nobody_is_there():
    training = jfed.Training(samples_per_client=20, batch_size=8, test_set="official")
    world = wireless.Options(availability=0.0)
    results = run([point("uniform", "wireless", environment=world, training=training)], [0], LAYOUT)
    assert len(set(results["test_loss"].values[0].tolist())) == 1 and not results["num_steps"].values.any()
    assert (results["round_time_s"].values == 5.0).all()
