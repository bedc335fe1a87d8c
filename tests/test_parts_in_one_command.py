"""A part and one of its own numbers in one command, in any order and at every door."""

import itertools
import re

import pytest

import jfed
from jfed.commands import run, studyfile
from jfed.commands.flags import Settings, changed
from jfed.core.errors import ConfigError
from jfed.core.options import ordered
from jfed.envs import composed
from jfed.envs.composed import All, Deadline, First, Jump, Still, Tempo
from jfed.sweep import changed as with_settings

BASE = jfed.Config(8, 3, 10, selector="uniform", environment="composed", training=jfed.Training())
POINTS = jfed.methods(BASE, ["uniform"])
TOGETHER = {
    "environment": "composed",
    "environment.waiting": "deadline",
    "environment.waiting.deadline_s": 2.5,
    "environment.speed": "tempo",
    "environment.speed.jitter": 0.1,
    "training.algorithm": "fedprox",
    "training.algorithm.prox": 0.1,
    "cohort_size": 4,
}


def of(config):
    world = config.environment
    return world.waiting, world.speed, config.training.algorithm.prox, config.cohort_size


MEANT = (Deadline(2.5), Tempo(jitter=0.1), 0.1, 4)


@pytest.mark.parametrize("turn", range(len(TOGETHER)))
def test_a_part_is_set_before_its_numbers(turn):
    items = [*TOGETHER.items()]
    for order in (items[turn:] + items[:turn], (items[turn:] + items[:turn])[::-1]):
        assert of(jfed.replace(BASE, dict(order))) == MEANT
        assert [of(point.config) for point in with_settings(POINTS, dict(order))] == [MEANT]


def test_a_scheme_and_its_number():
    config = jfed.replace(BASE, {"selector.V": 5.0, "selector": "rbcs-f-20"})
    assert config.selector.V == 5.0 and type(config.selector).__module__ == "jfed.selectors.rbcs_f"
    config = jfed.replace(BASE, {"training.model.hidden": (7,), "training.model": "mlp", "training": jfed.Training()})
    assert config.training.model.hidden == (7,)


def test_training_and_what_is_in_it():
    bare = jfed.replace(BASE, {"training": None})
    both = {"training.batch_size": 7, "training": jfed.Training()}
    (point,) = with_settings(jfed.methods(bare, ["uniform"]), both)
    assert jfed.replace(bare, both).training == point.config.training == jfed.Training(batch_size=7)


def test_the_order_is_that_given_but_for_parts():
    assert ordered(["b.c", "a", "b.d", "b", "bc"]) == ["b", "b.c", "a", "b.d", "bc"]
    assert ordered(["b.c.d", "b.c", "b"]) == ["b", "b.c", "b.c.d"]
    assert ordered(["a.b", "ab", "a.bc"]) == ["a.b", "ab", "a.bc"]


SWEPT = {"environment.waiting.deadline_s": [1.0, 2.0], "environment.waiting": ["all", "deadline", "first"]}


@pytest.mark.parametrize("turned", [False, True])
def test_a_swept_part_and_its_swept_number(turned):
    axes = dict(reversed(SWEPT.items())) if turned else SWEPT
    found = jfed.product(POINTS, axes)
    assert [point.config.environment.waiting for point in found] == [
        All(), Deadline(1.0), Deadline(2.0), First(deadline_s=1.0), First(deadline_s=2.0)
    ]  # fmt: skip
    assert [point.coords.get("deadline_s") for point in found] == [None, 1.0, 2.0, 1.0, 2.0]
    rows = {"environment.waiting.deadline_s": [1.0, 2.0], "environment.waiting": ["first", "deadline"]}
    zipped = jfed.zipped(POINTS, dict(reversed(rows.items())) if turned else rows)
    assert [point.config.environment.waiting for point in zipped] == [First(deadline_s=1.0), Deadline(2.0)]


def test_a_swept_world_a_part_of_it_and_its_number():
    axes = {
        "environment.speed.jitter": [0.1, 0.3],
        "environment.speed": ["unit", "tempo"],
        "environment": ["composed", "volatility"],
    }
    found = [point.config.environment for point in jfed.product(POINTS, axes)]
    assert found[:3] == [composed.Options(), *(composed.Options(speed=Tempo(jitter=jitter)) for jitter in (0.1, 0.3))]
    assert len(found) == 4 and type(found[3]).__module__ == "jfed.envs.volatility"


def test_the_order_of_points_is_that_of_the_axes():
    axes = {"environment.success.rates": [(0.1,), (0.2,)], "cohort_size": [2, 3], "num_clients": [8, 9]}
    found = [(p.config.environment.success.rates, p.config.cohort_size, p.config.num_clients)
             for p in jfed.product(POINTS, axes)]  # fmt: skip
    assert found == [*itertools.product(*axes.values())]


WRONG = {
    "a number that the part lacks": (
        lambda: with_settings(POINTS, {"environment.waiting.over": 2.0, "environment.waiting": "deadline"}),
        r"unknown setting in 'environment\.waiting\.over': 'over'",
    ),
    "a number that no swept part has": (
        lambda: jfed.product(POINTS, {"environment.waiting.over": [2.0], "environment.waiting": ["all", "deadline"]}),
        r"unknown setting in 'environment\.waiting\.over': 'over'",
    ),
    "a number that the part of its row lacks": (
        lambda: jfed.zipped(POINTS, {"environment.waiting.over": [2.0, 2.0], "environment.waiting": ["first", "all"]}),
        r"unknown setting in 'environment\.waiting\.over': 'over'",
    ),
    "an unknown part": (
        lambda: jfed.replace(BASE, {"environment.waiting.over": 2.0, "environment.waiting": "frist"}),
        r"unknown part waiting 'frist' \(did you mean 'first'",
    ),
    "no training": (
        lambda: with_settings(jfed.methods(jfed.replace(BASE, {"training": None}), ["uniform"]), {
            "training.algorithm.prox": 0.1, "training.algorithm": "fedprox",
        }),
        r"There is no setting 'training\.algorithm' without training",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_go_together_is_refused(case):
    action, words = WRONG[case]
    with pytest.raises(ConfigError, match=words):
        action()


def worlds(**flags):
    settings = changed(Settings(), schemes=("uniform",), world="composed", num_clients=8, cohort_size=3, **flags)
    return [point.config.environment for point in run.asked(settings).points]


@pytest.mark.parametrize("turned", [False, True])
def test_flags_and_study_files(turned, tmp_path):
    given = ("environment.waiting=deadline", "environment.waiting.deadline_s=2.5")
    given = given[::-1] if turned else given
    assert worlds(set=given) == [composed.Options(waiting=Deadline(2.5))]
    settings = changed(Settings(), schemes=("uniform",), world="composed", set=given, out=tmp_path)
    again = studyfile.read(studyfile.write(settings))
    assert [point.config.environment.waiting for point in run.asked(again).points] == [Deadline(2.5)]


def test_a_set_part_and_its_swept_number_and_the_other_way_round():
    of_number = worlds(set=("environment.waiting=deadline",), sweep=("environment.waiting.deadline_s=1.0,2.5",))
    assert of_number == [composed.Options(waiting=Deadline(1.0)), composed.Options(waiting=Deadline(2.5))]
    of_part = worlds(set=("environment.waiting.deadline_s=2.5",), sweep=("environment.waiting=all,deadline",))
    assert of_part == [composed.Options(), composed.Options(waiting=Deadline(2.5))]
    both = worlds(sweep=("environment.waiting.deadline_s=1.0,2.5", "environment.waiting=all,deadline"))
    assert both == [composed.Options(), *of_number]


def test_a_swept_member_keeps_its_name():
    def asked(sweep, given):
        settings = changed(Settings(), schemes=("uniform",), dataset="digits", sweep=(sweep,), set=(given,))
        return [point.config for point in run.asked(settings).points]

    algorithms = "training.algorithm=fedavg,fedprox"
    words = "training.algorithm.prox cannot be set here, since the name fedprox determines it: sweep it, too, so that"
    with pytest.raises(ConfigError, match=re.escape(words)):
        asked(algorithms, "training.algorithm.prox=0.1")
    with pytest.raises(ConfigError, match="since the name jumping determines it: sweep it, too, so that"):
        asked("environment=composed,jumping", "environment.change=drift")
    assert len(asked("environment=composed,jumping", "environment.change.at=(0.25,)")) == 2  # still a jump
    timed = asked("environment=composed,jumping", "environment.speed=tempo")
    assert [(config.environment.change, config.environment.speed) for config in timed] == [
        (Still(), Tempo()), (Jump(), Tempo())
    ]  # fmt: skip


def test_an_algorithm_has_its_flag_and_its_number_a_path():
    settings = changed(
        Settings(), schemes=("uniform",), dataset="digits", algorithm="fedprox", set=("training.algorithm.prox=0.1",)
    )
    (point,) = run.asked(settings).points
    assert point.config.training.algorithm.prox == 0.1
