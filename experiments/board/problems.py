"""The problems of the leaderboard: worlds, and data sets with a heterogeneity and a small model.

A problem is a world and a data set. All schemes have the same number of clients, cohort size, rounds and local steps in
it, so that a round costs the same whoever is selected.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jfed
from jfed.config import Config, Training
from jfed.controllers import fixed
from jfed.core.errors import unknown
from jfed.envs import composed
from jfed.envs.parts.joules import Joules

STEPS, BATCH = 10, 10  # local steps in a round, and images in each
JOULES = Joules(step_j=(0.005, 0.01, 0.015), bit_j=(1e-6,), model_bits=5e5)  # three kinds of devices; 1 J an exchange


@dataclass(frozen=True)
class Data:
    """A data set as the leaderboard has it.

    Attributes:
        about: one line that says what it is and how clients differ.
        num_clients: K.
        target: accuracy to which rounds, time and energy are counted.
        training: settings of the training that differ from the leaderboard's.
    """

    about: str
    num_clients: int
    target: float
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """A world as the leaderboard has it.

    Attributes:
        about: one line that says what it is.
        settings: settings of the config that make it, by path.
    """

    about: str
    settings: Mapping[str, Any]


DATA = {
    "digits": Data(
        "digits, 80 % of a client's images with one label", 30, 0.8,
        {"dataset": "digits", "partition": "primary", "samples_per_client": 47},
    ),
    "digits-iid": Data(
        "digits, every client with all labels alike", 30, 0.8,
        {"dataset": "digits", "partition": "iid", "samples_per_client": 47},
    ),
    "synthetic": Data(
        "Synthetic(1, 1): clients with features, models and sizes of their own", 30, 0.6,
        {"dataset": "synthetic-1-1", "test_fraction": 0.2},
    ),
    "synthetic-iid": Data(
        "Synthetic-IID: one model for all, sizes of their own", 30, 0.8,
        {"dataset": "synthetic-iid", "test_fraction": 0.2},
    ),
    "smartwatch": Data(
        "smartwatch: each arm of ten people is a client", 20, 0.6,
        {"dataset": "smartwatch", "test_fraction": 0.2},
    ),
}  # fmt: skip

WORLDS = {
    name: World(about, {"environment": name})
    for name, about in {
        "volatility": "each returns by a fixed rate, .1 to .9 in four classes",
        "markov": "on and off for rounds on end, and returns by a fixed rate",
        "jumping": "the classes' rates are reversed in the middle of the run",
        "shocks": "clients of a region fail together",
        "heavy-tails": "all return, and some take very long",
        "phones": "days and nights, speeds that go with sizes, a deadline, and failures",
        "exchange": "times are linear in what clients tell, and some are away",
        "wireless": "times follow positions and fading of a radio cell",
        "drifting": "rates wander in the course of the run",
        "over-selection": "a round ends with the first that return",
    }.items()
}
SIX, SMALL = tuple(WORLDS)[:6], ("digits", "synthetic", "smartwatch")


def problem(world: str, data: str, num_rounds: int, share: float) -> Config:
    """Return a problem's config, but for the scheme and what is tuned.

    Args:
        world: a name in `WORLDS`, or of a world that the catalogue knows.
        data: a name in `DATA`.
        num_rounds: T.
        share: k / K.

    Raises:
        ConfigError: a name is unknown.
    """
    if data not in DATA:
        raise unknown("data set", data, DATA)
    own = DATA[data]
    training = Training(
        **{"batch_size": BATCH, "average_over": "returned", "model": "linear"} | dict(own.training),
    )
    base = Config(
        num_clients=own.num_clients,
        cohort_size=max(1, round(share * own.num_clients)),
        num_rounds=num_rounds,
        eval_every=max(1, num_rounds // 50),
        training=training,
        controller=fixed.Options(steps=STEPS),
    )
    settings = WORLDS[world].settings if world in WORLDS else {"environment": world}
    made = jfed.replace(base, {**settings, "training.algorithm.momentum": 0.0})
    counts_joules = isinstance(made.environment, composed.Options)
    return jfed.replace(made, {"environment.energy": JOULES}) if counts_joules else made
