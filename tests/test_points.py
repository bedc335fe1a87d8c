"""Points and sweeps: a name never says another number than the one that runs, at any door."""

import re

import numpy as np
import pytest

import jfed
from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.core.errors import ConfigError
from jfed.points import TAKEN, WATCHED, listed
from jfed.results import load, meaning
from jfed.selectors import e3cs, fedcs
from jfed.sweep import changed

BASE = jfed.Config(8, 3, 6)
E3CS = jfed.methods(BASE, ["e3cs-0.5"])


def names(points):
    return [p.coords["method"] for p in points]


@pytest.mark.parametrize("sweep", [jfed.product, jfed.zipped])
def test_a_number_that_is_swept_leaves_the_name(sweep):
    found = sweep(E3CS, {"selector.quota": [0.1, 0.8]})
    assert [(p.coords["method"], p.coords["quota"], p.config.selector.quota) for p in found] == [
        ("e3cs", 0.1, 0.1),
        ("e3cs", 0.8, 0.8),
    ]
    assert names(sweep(E3CS, {"selector.eta": [0.1, 0.8]})) == ["e3cs-0.5"] * 2  # the name does not speak of eta
    mine = jfed.methods(BASE, {"mine": e3cs.Options(0.5)})
    assert names(sweep(mine, {"selector.quota": [0.1]})) == ["mine"]


def test_a_family_whose_bare_name_is_another_scheme_keeps_its_field():
    three = jfed.methods(BASE, ["fedcs-3"])
    (found,) = jfed.product(three, {"selector.deadline_s": [5.0]})
    assert found.coords["method"] == "fedcs-deadline_s" and found.config.selector == fedcs.Options("deadline", 5.0)
    assert names(jfed.product(jfed.methods(BASE, ["rbcs-f-true-20"]), {"selector.V": [5.0]})) == ["rbcs-f-true"]


def point(delta, **coords):
    return [jfed.Point(jfed.replace(E3CS[0].config, delta), coords)]


DOORS = {
    "set": (lambda: changed(E3CS, {"selector.quota": 0.8}), "selector.quota cannot be set here, since the name of a"),
    "set the scheme": (lambda: changed(E3CS, {"selector": "uniform"}), "selector cannot be set here, since the name"),
    "product over schemes": (lambda: jfed.product(E3CS, {"selector": ["uniform"]}), "Schemes and modes are no axes"),
    "product over a mode": (
        lambda: jfed.product(E3CS, {"selector.sampler": ["exact"]}),
        "selector.sampler cannot be swept, since the name 'e3cs-0.5' or its mode says it: list such schemes.",
    ),
    "zipped over a mode": (
        lambda: jfed.zipped(E3CS, {"selector.sampler": ["exact"]}),
        "selector.sampler cannot be swept, since the name 'e3cs-0.5' or its mode says it: list such schemes.",
    ),
    "a point": (
        lambda: listed(point({"selector.quota": 0.8}, method="e3cs-0.5")),
        "The point called 'e3cs-0.5' (faithful) has quota 0.8, which its name does not say: call it 'e3cs-0.8', or",
    ),
    "a point of a mode": (
        lambda: listed(point({"selector.sampler": "exact"}, method="e3cs-0.5")),
        "The point called 'e3cs-0.5' (faithful) has sampler 'exact', which its name does not say: give it another",
    ),
    "a point of another scheme": (
        lambda: jfed.run(jfed.methods(BASE, {"uniform": e3cs.Options()}), [0]),
        "The point called 'uniform' (faithful) is e3cs-0.5, which its name does not say: call it 'e3cs-0.5', or",
    ),
    "two names of one number": (
        lambda: jfed.product(jfed.methods(BASE, ["e3cs-0", "e3cs-0.5"]), {"selector.quota": [0.1], "cohort_size": [2]}),
        "e3cs-0 and e3cs-0.5 are the same scheme once selector.quota is swept: list one",
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_name_that_would_lie_is_refused(door):
    action, words = DOORS[door]
    with pytest.raises(ConfigError, match=re.escape(words)):
        action()


def test_names_that_say_what_runs_or_nothing_are_kept():
    exact = point({"selector.sampler": "exact", "selector.clip_exponent": True}, method="e3cs-0.5", mode="corrected")
    for points in (point({}, method="e3cs-0.50"), point({"selector.quota": 0.8}, method="mine"), exact):
        assert listed(points) == points
    told = point({"selector.quota": 0.8}, method="e3cs-0.5", quota=0.8)  # a coordinate says it
    assert listed(told) == told and catalog.untold("E3CS-0.5", "faithful", e3cs.Options(0.5), ()) == ""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([0.5, "inc"], ["0.5", "inc"]),
        ([1, 0.5], [1.0, 0.5]),
        ([np.int64(1), 2], [1, 2]),
        ([(0.1, 0.2), "inc", 1], ["(0.1, 0.2)", "inc", "1"]),
        ([None, 3.0], ["None", "3.0"]),
    ],
)
def test_coordinates_have_one_type(given, kept):
    found = [p.coords["x"] for p in listed([jfed.Point(BASE, {"x": value}) for value in given])]
    assert found == kept and list(map(type, found)) == list(map(type, kept))


@pytest.mark.check
@pytest.mark.parametrize("block_size", [1, 2])
def test_a_quota_and_a_schedule_in_one_sweep(tmp_path, block_size):
    points = jfed.product([*jfed.methods(BASE, ["uniform"]), *E3CS], {"selector.quota": [0.5, "inc"]})
    layout = jfed.Layout(block_size=block_size)
    done = jfed.run(points, [0, 1], out=tmp_path, layout=layout, progress=False)
    for results in (done, jfed.load(tmp_path)):
        assert sorted(results["quota"].values.tolist()) == ["", "", "0.5", "0.5", "inc", "inc"]
        assert results["quota"].attrs["path"] == "selector.quota"


def test_all_names_of_results_are_taken():
    names = {*meaning.NAMES, *load.STANDARD} - {"method", "mode"}
    assert {name for name in names if not name.startswith(WATCHED)} <= TAKEN


@pytest.mark.parametrize("name", ["seed", "round", "num_succeeded", "scheme", "selector_cap", "world_energy_j"])
def test_a_name_of_results_is_no_coordinate(name):
    with pytest.raises(ConfigError, match=f"Results use the name '{name}' themselves: give points a coordinate of ano"):
        listed([jfed.Point(BASE, {name: 1})])


@pytest.mark.parametrize("name", ["a/b", "", 3, "two words", "1st"])
def test_a_coordinate_has_a_name(name):
    with pytest.raises(ConfigError, match="A coordinate needs a name of letters, digits and _, found "):
        listed([jfed.Point(BASE, {name: 1})])


def test_members_are_named_by_their_names():
    training = jfed.replace(BASE, {"training": jfed.Training()})
    points = jfed.methods(training, ["uniform"])
    found = jfed.product(points, {"training.algorithm": ["FedAvg", local_sgd.Options(prox=0.5)]})
    assert [p.coords["algorithm"] for p in found] == ["fedavg", "fedprox"]


def test_two_axes_of_one_name():
    base = jfed.replace(BASE, {"training": jfed.Training(algorithm="fedavgm")})
    points = jfed.methods(base, ["rbcs-f-20"])
    words = "selector.beta and training.algorithm.beta would both be called beta in results: sweep one of them"
    with pytest.raises(ConfigError, match=words):
        jfed.product(points, {"selector.beta": [0.1], "training.algorithm.beta": [0.1]})
