"""Settings and axes as command lines give them."""

import math
from dataclasses import dataclass, field

import pytest

from jfed.core.errors import ConfigError
from jfed.paths import parse_axes, parse_settings, problem_axes, scheme_axes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("(0.5,inf)", (0.5, math.inf)),
        ("inc", "inc"),
        ("synthetic-1-1", "synthetic-1-1"),
        ("/data/inf.npz", "/data/inf.npz"),
        ("a==b", "a==b"),
        ("None", None),
    ],
)
def test_a_value(text, value):
    assert parse_settings([f"x.y={text}"]) == {"x.y": value}


def test_nan_is_a_number():
    assert math.isnan(parse_settings(["x=nan"])["x"])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1,inf", [0.1, math.inf]),
        ("0.5,inc", [0.5, "inc"]),
        ("[inc,0.5]", ["inc", 0.5]),
        ("(0.1,0.5),inc", [(0.1, 0.5), "inc"]),
        ("[(0.2,0.8)]", [(0.2, 0.8)]),
        ("e3cs-0.5,e3cs-inc", ["e3cs-0.5", "e3cs-inc"]),
        ("/data/a.npz,b.npz", ["/data/a.npz", "b.npz"]),
        ("3", [3]),
    ],
)
def test_an_axis(text, values):
    assert parse_axes([f"x={text}"]) == {"x": values}


@dataclass
class Flags:
    num_clients: int = 3
    world: str = ""
    partitions: tuple = ()
    average_over: str = ""
    momentum: float = 0.0
    tau: int = 1
    set: tuple = ()


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        ("num_clients", "--num-clients"),
        ("environment", "--world"),
        ("training.partition", "--partitions"),
        ("training.average_over", "--average-over"),
        ("training.algorithm.momentum", "--momentum"),
    ],
)
def test_a_setting_with_a_flag_of_its_own(path, flag):
    with pytest.raises(ConfigError, match=f"^{path} has a flag of its own here: give {flag} in place of --set.$"):
        parse_settings([f"{path}=1"], Flags())
    assert parse_settings([f"{path}=1"]) == {path: 1}


def test_flags_may_stand_in_groups():
    @dataclass
    class Groups:
        these: Flags = field(default_factory=Flags)

    with pytest.raises(ConfigError, match="give --momentum in place of --set"):
        parse_settings(["training.algorithm.momentum=1"], Groups())
    assert parse_settings(["these=1"], Groups()) == {"these": 1}


def test_members_have_settings_of_the_same_names_as_flags():
    for path in ("selector.tau", "environment.momentum", "controller.num_clients", "cohort_size"):
        assert parse_settings([f"{path}=1"], Flags()) == {path: 1}


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: parse_settings(["a=1", "a=2"]), "a is given twice, as 1 and as 2: write it once"),
        (lambda: parse_axes(["a=1", "a=2,3"]), "a is given twice, as 1 and as 2,3: write it once"),
        (lambda: parse_axes(["a=1,2"], fixed={"a": 1}), "a is both set and swept: leave it out of --set or of --sweep"),
        (lambda: parse_axes(["a=1,,2"]), "an empty value was found for a"),
        (lambda: parse_axes(["a="]), r"An axis is written PATH=VALUE,VALUE, such as selector.eta=0.1,0.5, found 'a='"),
        (lambda: parse_settings(["a"]), "A setting is written PATH=VALUE, such as selector.eta=0.1, found 'a'"),
        (lambda: parse_settings(["=1"]), "A setting is written PATH=VALUE, such as selector.eta=0.1, found '=1'"),
    ],
)
def test_settings_that_say_nothing_or_too_much(action, words):
    with pytest.raises(ConfigError, match=words):
        action()


def test_axes_of_schemes_and_of_problems():
    paths = ["selector.eta", "cohort_size", "controller.phi", "training.algorithm.learning_rate", "training.algorithm"]
    paths += ["environment.availability", "training.dataset", "selector"]
    assert scheme_axes(paths) == ["selector.eta", "controller.phi", "training.algorithm.learning_rate"]
    assert problem_axes(paths) == [
        "cohort_size", "training.algorithm", "environment.availability", "training.dataset", "selector"
    ]  # fmt: skip
