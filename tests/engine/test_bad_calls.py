"""Calls that name no scheme, setting, seed or layout are refused in one sentence, before anything compiles."""

import pytest
from refusals import attempt, refused
from support import LAYOUT, SELECTION, points

import jfed
from jfed import catalog
from jfed.runner.units import Layout

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
        "Two points of the sweep have the same name {'method': 'uniform', 'mode': 'faithful'}",
    )


def test_a_point_without_names_runs_under_its_schemes_own():
    done = jfed.run([jfed.Point(SELECTION)], [0, 1], layout=LAYOUT, progress=False)
    assert done["method"].values.tolist() == ["e3cs-0.5", "e3cs-0.5"]


def test_layouts():
    refused(attempt(layout=Layout(lane="parallel")), "unknown lane 'parallel'; the choices are: sequential, vmapped")
    refused(attempt(layout=Layout(block_size=0)), "block_size must be at least 1, found 0.")
    refused(attempt(layout=Layout(chunk_rounds=-1)), "chunk_rounds must be at least 1, found -1.")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("e3sc-0.5", "unknown scheme 'e3sc-0.5' (did you mean 'e3cs-0.5' or "),
        ("fedc", "unknown scheme 'fedc' (did you mean 'fedcs' or "),
        ("e3cs", "unknown scheme 'e3cs' (did you mean 'e3cs-0' or "),
        ("e3cs-", "unknown scheme 'e3cs-' (did you mean 'e3cs-0' or "),
        ("e3cs-1.2.3", "unknown scheme 'e3cs-1.2.3' (did you mean"),
        ("e3cs-.", "unknown scheme 'e3cs-.' (did you mean"),
        ("", "unknown scheme ''; the choices are: agnostic, "),
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
    nothing = "There is no setting 'training.batch_size': the part before 'batch_size' has no settings of its own."
    refused(lambda: jfed.replace(SELECTION, {"training.batch_size": 3}), nothing)  # there is no training
    refused(lambda: jfed.replace(SELECTION, {"": 3}), "unknown setting in '': ''; the choices are: cohort_size, ")
    none = "unknown setting in 'selector.eta': 'eta'; the choices are: none"
    refused(lambda: jfed.product(points(SELECTION, "uniform"), {"selector.eta": [1]}), none)
    axes = {"cohort_size": [1, 2], "eval_every": [1, 2, 3]}
    refused(
        lambda: jfed.zipped(points(SELECTION, "uniform"), axes),
        "Axes that go together must be equally long, found {'cohort_size': 2, 'eval_every': 3}.",
    )
