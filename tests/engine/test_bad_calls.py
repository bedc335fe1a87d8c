"""Calls that name no scheme, setting, seed or layout are refused in one sentence, before anything compiles."""

import dataclasses

import pytest
from refusals import attempt, refused
from support import LAYOUT, SELECTION, TRAINING, points

import jfed
from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.controllers import epochs
from jfed.envs import volatility
from jfed.models import dense
from jfed.runner.units import Layout
from jfed.selectors import e3cs, uniform

pytestmark = pytest.mark.usefixtures("types_unchecked")

NOTHING = "There is nothing to run: give at least one scheme and one seed."


SEED = "A seed is a whole number from 0 to 2^32 - 1, found "


def test_seeds_and_points():
    refused(attempt(seeds=(0, 1, 0)), "A seed is listed twice.")
    refused(attempt(seeds=()), NOTHING)
    refused(lambda: jfed.run([], [0], progress=False), NOTHING)
    refused(attempt(seeds=(-1,)), SEED + "-1.")
    refused(attempt(seeds=(2**32,)), SEED + "4294967296.")
    refused(attempt(seeds=(1.5,)), SEED + "1.5.")


def test_the_same_point_twice():
    twice = points(SELECTION, "uniform", "random")
    refused(
        lambda: jfed.run(twice, [0], layout=LAYOUT, progress=False),
        "Two points of the sweep have the same name {'method': 'uniform', 'mode': 'faithful'}, so results could not"
        ' tell them apart: give jfed.methods names of your own, as in {"one": Mine(0.1), ',
    )


def test_a_point_without_names_runs_under_its_schemes_own():
    done = jfed.run([jfed.Point(SELECTION)], [0, 1], layout=LAYOUT, progress=False)
    assert done["method"].values.tolist() == ["e3cs-0.5", "e3cs-0.5"]


def test_layouts():
    refused(attempt(layout=Layout(lane="parallel")), "unknown lane 'parallel'; the choices are: sequential, vmapped")
    refused(attempt(layout=Layout(block_size=0)), "block_size must be at least 1, found 0.")
    refused(attempt(layout=Layout(chunk_rounds=-1)), "chunk_rounds must be at least 1, found -1.")
    refused(attempt(layout=Layout(block_size="a")), "Layout.block_size must be int | None, found 'a'.")  # type: ignore[arg-type]
    refused(attempt(layout={"lane": "x"}), "The layout must be a jfed.Layout, found {'lane': 'x'}.")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("e3sc-0.5", "unknown scheme 'e3sc-0.5' (did you mean 'e3cs-NUMBER' or "),
        ("fedc", "unknown scheme 'fedc' (did you mean 'fedcs' or "),
        ("e3cs", "unknown scheme 'e3cs' (did you mean 'e3cs-NUMBER'?)"),
        ("e3cs-", "unknown scheme 'e3cs-' (did you mean 'e3cs-NUMBER'?)"),
        ("e3cs-1.2.3", "unknown scheme 'e3cs-1.2.3' (did you mean 'e3cs-NUMBER'?)"),
        ("e3cs-.", "unknown scheme 'e3cs-.' (did you mean 'e3cs-NUMBER'?)"),
        ("", "unknown scheme ''; the choices are: active-fl, "),
    ],
)
def test_unknown_schemes(name, words):
    refused(lambda: jfed.methods(SELECTION, [name]), words)
    refused(lambda: catalog.scheme(name), words)


def test_unknown_mode():
    refused(lambda: catalog.scheme("e3cs-0", "correct"), "unknown mode 'correct' (did you mean 'corrected'?)")  # type: ignore[arg-type]
    refused(
        lambda: jfed.methods(SELECTION, ["uniform"], "literal"),
        "unknown mode 'literal'; the choices are: corrected, faithful",
    )  # type: ignore[arg-type]


def test_settings_that_do_not_exist():
    refused(
        lambda: jfed.replace(SELECTION, {"selector.etta": 0.1}),
        "unknown setting in 'selector.etta': 'etta' (did you mean 'eta'?)",
    )
    refused(
        lambda: jfed.replace(SELECTION, {"num_client": 3}),
        "unknown setting in 'num_client': 'num_client' (did you mean 'num_clients' or ",
    )
    refused(
        lambda: jfed.replace(SELECTION, {"num_rounds.x": 3}),
        "There is no setting 'num_rounds.x': the part before 'x' has no settings of its own.",
    )
    nothing = "There is no setting 'training.batch_size' without training: set training=jfed.Training(...) in Python"
    refused(lambda: jfed.replace(SELECTION, {"training.batch_size": 3}), nothing)
    for change in (jfed.product, jfed.sweep.changed, jfed.zipped):
        refused(lambda change=change: change(points(SELECTION, "uniform"), {"training.batch_size": [3]}), nothing)
    refused(lambda: jfed.replace(SELECTION, {"": 3}), "unknown setting in '': ''; the choices are: cohort_size, ")
    none = "There is no setting 'selector.eta': selector has no settings of its own here."
    refused(lambda: jfed.product(points(SELECTION, "uniform"), {"selector.eta": [1]}), none)
    axes = {"cohort_size": [1, 2], "eval_every": [1, 2, 3]}
    refused(
        lambda: jfed.zipped(points(SELECTION, "uniform"), axes),
        "Axes that go together must be equally long, found {'cohort_size': 2, 'eval_every': 3}.",
    )


POINTS = points(SELECTION, "uniform")
SWEEPS = {"product": jfed.product, "zipped": jfed.zipped}
BASE = "The base of a sweep must be a jfed.Config, found "
SEEDS = "Seeds must be a list of whole numbers or of jfed.seeds(...), such as range(5), found "
SCHEMES = 'Schemes must be a list, such as ["uniform"], or a mapping from names to schemes, found '
LIST = ': give a list such as jfed.methods(jfed.Config(), ["uniform"]) or [jfed.Point(jfed.Config())].'
CALLS = {
    "seeds: a number": (lambda: jfed.run(POINTS, 5), SEEDS + "5."),
    "seeds: one of jfed.seeds": (lambda: jfed.run(POINTS, jfed.seeds(3)), SEEDS + "Seeds(seed="),
    "seeds: a text": (lambda: jfed.run(POINTS, "01"), SEEDS + "'01'."),
    "seeds: of outcomes": (lambda: jfed.outcomes(SELECTION, 5), SEEDS + "5."),
    "points: a config": (lambda: jfed.run(SELECTION, [0]), "Points must be a list, found Config(...)" + LIST),
    "points: a point": (lambda: jfed.run(POINTS[0], [0]), "Points must be a list, found Point(...)" + LIST),
    "points: configs": (lambda: jfed.run([SELECTION], [0]), "A point must be a jfed.Point, found Config(...)" + LIST),
    "points: names": (lambda: jfed.run(["uniform"], [0]), "A point must be a jfed.Point, found 'uniform'" + LIST),
    "a point of a name": (lambda: jfed.run([jfed.Point("uniform")], [0]), "A config must be a jfed.Config, found 'uni"),
    "a point with a name": (
        lambda: jfed.run([jfed.Point(SELECTION, "mine")], [0]),
        """The coords of a point must be a mapping, such as {"method": "mine"}, found 'mine'.""",
    ),
    "schemes: a name": (lambda: jfed.methods(SELECTION, "uniform"), SCHEMES + "'uniform'."),
    "schemes: options": (lambda: jfed.methods(SELECTION, uniform.Options()), SCHEMES + "Options(...)."),
    "base: a name": (lambda: jfed.methods("uniform", ["uniform"]), BASE + "'uniform'."),
    "base: points": (lambda: jfed.methods(POINTS, ["uniform"]), BASE + "[Point(...)]."),
    "changes: a list": (
        lambda: jfed.replace(SELECTION, ["k"]),
        "a mapping, such as {\"cohort_size\": 10}, found ['k'].",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls_with_something_else(case):
    action, words = CALLS[case]
    refused(action, words)


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_of_something_else(name):
    sweep = SWEEPS[name]
    for axis in (3, "uniform", [], {"a": 1}):
        words = f"The axis cohort_size must be a list of one or more values, found {axis!r}."
        refused(lambda axis=axis: sweep(POINTS, {"cohort_size": axis}), words)
    mapping = 'Axes must be a mapping from settings to lists, such as {"cohort_size": [10, 20]}, found '
    refused(lambda: sweep(POINTS, ["cohort_size"]), mapping + "['cohort_size'].")
    refused(lambda: sweep(SELECTION, {"cohort_size": [3]}), "Points must be a list, found Config(...)" + LIST)


def nothing(kind, method="make"):
    """Return options like those of a class, whose `make` returns nothing."""
    return dataclasses.dataclass(frozen=True)(type("Mine", (kind,), {method: lambda self, *given: None}))()


MADE = {
    "selector": (SELECTION, nothing(uniform.Options), "Mine.make must return a jfed.Selector, found None."),
    "environment": (SELECTION, nothing(volatility.Options), "Mine.make must return a jfed.Environment, found None."),
    "controller": (SELECTION, nothing(epochs.Options), "Mine.make must return a jfed.Controller, found None."),
    "training.algorithm": (TRAINING, nothing(local_sgd.Options), "Mine.make must return a jfed.Algorithm, found None."),
    "training.model": (TRAINING, nothing(dense.Options, "module"), "must return a flax.linen.Module, found None."),
}


@pytest.mark.parametrize("path", MADE)
def test_members_that_make_nothing(path):
    base, options, words = MADE[path]
    refused(attempt(base, {path: options}), words)
    if path == "environment":
        refused(lambda: jfed.outcomes(jfed.replace(base, {path: options}), [0]), words)


def test_own_names_tell_options_of_one_class_apart():
    found = jfed.methods(SELECTION, {"one": e3cs.Options(eta=0.1), "two": e3cs.Options(eta=0.2)})
    assert [p.coords["method"] for p in found] == ["one", "two"]
