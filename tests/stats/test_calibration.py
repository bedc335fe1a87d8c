"""Tests of simulated error rates and coverage against what theory promises; `make proof`."""

import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import compare
from tools import calibration
from tools.simulated.model import SHAPES, Group, Study, contrast, least, most, simulate
from tools.simulated.tables import TESTS, alone, family, frame, pairs

pytestmark = pytest.mark.proof

REPETITIONS = 160
ROWS = {
    (group.title, row.name): (row, study)
    for group in calibration.GROUPS
    for study in group.studies
    for row in study.rows
}
SURE = [key for key, (row, _) in ROWS.items() if row.sure]
# Exact for normal scores, so neither too high nor too low.
EXACT = (
    ("Equal schemes", "t: verdict, one comparison"),
    ("Equal schemes", "t: interval of one holds"),
    ("Power", "t: found, at the effect that can be detected"),
    ("Power", "Welch: found, at the effect that can be detected"),
    ("Functions beside the tables", "TOST at the margin"),
    ("Functions beside the tables", "interval of d_z"),
)


def beyond(row, rate):
    """Return by how much a rate is on the wrong side of what is wanted."""
    return row.percent / 100 - rate if row.wanted == "at least" else rate - row.percent / 100


@pytest.fixture(scope="module")
def cells():
    """Return the lines of the committed document: the largest error, and the rates of all sizes by shape."""
    found, group, shapes = {}, "", []
    for line in (calibration.HERE / "CALIBRATION.md").read_text().splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        if line.startswith("| "):
            name, _, sizes, _, error, *rates = (cell.strip() for cell in line.split("|")[1:-1])
            if not name:
                shapes = rates
                continue
            assert (group, name) not in found
            numbers = {shape: cell.split(calibration.SLASH) for shape, cell in zip(shapes, rates, strict=True) if cell}
            assert all(len(of) == len(sizes.split(calibration.SLASH)) for of in numbers.values())
            found[group, name] = float(error) / 100, {shape: [read(x) for x in of] for shape, of in numbers.items()}
    return found


def read(cell):
    return math.nan if cell == "–" else float(cell.rstrip("*")) / 100


def test_the_document_has_every_row_and_note(cells):
    text = (calibration.HERE / "CALIBRATION.md").read_text()
    assert cells.keys() == ROWS.keys()
    assert all(tuple(cells[key][1]) == study.shapes for key, (_, study) in ROWS.items())
    assert all(part in text for part in (calibration.INTRODUCTION, *(group.note for group in calibration.GROUPS)))


@pytest.mark.parametrize("key", SURE, ids=": ".join)
def test_the_document_keeps_what_theory_promises(cells, key):
    (row, study), (error, rates) = ROWS[key], cells[key]
    for shape in set(row.sure) & set(study.shapes):
        assert not any(beyond(row, rate) > 4 * error + 0.0005 for rate in rates[shape]), shape


@pytest.mark.parametrize("key", EXACT, ids=": ".join)
def test_none_is_idle(cells, key):
    error, rates = cells[key]
    assert all(abs(beyond(ROWS[key][0], rate)) <= 4 * error + 0.0005 for rate in rates["normal"])


@pytest.mark.parametrize("key", [key for key, (row, _) in ROWS.items() if not row.wanted], ids=": ".join)
def test_wrong_uses_are_seen_to_be_wrong(cells, key):
    wrong = [1 - rate if "holds" in key[1] else rate for rate in cells[key][1]["normal"]]
    assert max(wrong) > 0.1


def test_bootstrap_intervals_of_few_seeds_are_seen_to_be_short(cells):
    assert cells["Functions beside the tables", "percentile bootstrap interval of the mean"][1]["normal"][0] < 0.9


@pytest.fixture(scope="module")
def rates():
    """Return new rates of the cells of which theory promises something."""
    groups = []
    for group in calibration.GROUPS:
        sure = [(s, [shape for shape in s.shapes if any(shape in row.sure for row in s.rows)]) for s in group.studies]
        groups.append(replace(group, studies=tuple(replace(s, shapes=tuple(shapes)) for s, shapes in sure if shapes)))
    return simulate(groups, REPETITIONS, seed=1)


@pytest.mark.parametrize("key", SURE, ids=": ".join)
def test_nothing_errs_more_than_theory_promises(rates, key):
    row, study = ROWS[key]
    own = rates[(rates["group"] == key[0]) & (rates["row"] == key[1]) & rates["shape"].isin(row.sure)]
    assert len(own) == len(set(row.sure) & set(study.shapes)) * len(study.sizes)
    variance = row.percent / 100 * (1 - row.percent / 100)  # at most: no outcome in [0, 1] varies more than a yes or no
    for cell in own[own["repetitions"] > 0].itertuples():
        assert beyond(row, cell.rate) <= 4 * math.sqrt(variance / cell.repetitions) + 1e-12, cell


def test_rates_do_not_depend_on_the_number_of_processes():
    group = replace(calibration.GROUPS[0], studies=calibration.GROUPS[0].studies[:1])
    one, two = (simulate([group], 8, processes=processes) for processes in (1, 2))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "choices", [{}, {"correction": "bh"}, {"margin": 0.8}, {"failed": "drop"}], ids=lambda choices: str(choices)
)
def test_studies_start_from_the_rows_of_compare(test, shape, choices):
    rng = np.random.default_rng(3)
    for n in (5, 10):
        scores = SHAPES[shape].scores(rng, (4, n), np.array([[0.0], [0.0], [1.0], [3.0]]))
        if "failed" in choices:
            scores[1, 2] = math.nan
        asked, paired = TESTS[test]
        beforehand = {"baseline": "baseline", "test": asked, "paired": paired} | choices
        made = pairs(scores, test)
        same(family(made, **choices), compare(frame(scores), "accuracy", **beforehand).rows)
        if "correction" not in choices:  # of which a single comparison needs none
            same(alone(made, **choices)[:1], compare(frame(scores[:2]), "accuracy", **beforehand).rows)


def same(rows, others):
    assert len(rows) == len(others)
    for row, other in zip(rows, others, strict=True):
        np.testing.assert_equal(asdict(row), asdict(other))


def test_missing_rows_are_those_of_compare():
    scores = SHAPES["normal"].scores(np.random.default_rng(4), (2, 10))
    kept = pd.Series(scores[1])[[0, 1, 2, 4, 5, 7, 8, 9]]
    whole = frame(scores)
    same(alone(pairs([scores[0], kept], "t")), compare(whole.drop([13, 16]), "accuracy", baseline="baseline").rows)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_have_mean_0_and_their_standard_deviation(shape):
    x = SHAPES[shape].scores(np.random.default_rng(5), (1_000_000,))
    assert abs(x.mean()) <= 4 * x.std() / 1000
    assert x.std() == pytest.approx(SHAPES[shape].sd, rel=0.03)  # the variance of t3's square is infinite


def test_a_rate_that_misses_is_marked():
    rows = most("too often"), least("too rarely"), contrast("unpromised"), most("never said"), most("as wanted")

    def one(rng, shape, size):
        return rng.random() < 0.1, rng.random() < 0.9, rng.random() < 0.5, math.nan, rng.random() < 0.05

    study = Study(one, rows, {"4": 4}, ("normal",), thin=2)
    found = simulate([Group("toy", "", (study,))], 2000).set_index("row")
    assert found["misses"].to_dict() == {row.name: row.name.startswith("too") for row in rows}
    assert found["repetitions"].tolist() == [1000, 1000, 1000, 0, 1000]
    assert found.loc["too often", "error"] == pytest.approx(math.sqrt(0.1 * 0.9 / 1000), rel=0.1)
