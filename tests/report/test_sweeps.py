"""The table and the pictures of a sweep: what they show of known points."""

import numpy as np
import pandas as pd
import pytest

from jfed.comparisons.ranking import rank
from jfed.report.figures.sweeps import Heat, setting_curves, setting_heat
from jfed.report.sweep_pictures import sweep_picture
from jfed.report.sweeps import MOST_ROWS, ranking_table


def frame(points, seeds=4):
    """Return runs of points (scheme, eta, quota, mean): seeds lie around the mean."""
    rows = [(*point[:3], s, point[3] + 0.01 * (s - 1.5)) for point in points for s in range(seeds)]
    return pd.DataFrame(rows, columns=["scheme", "eta", "quota", "seed", "accuracy"])


GRID = frame([("a", e, q, e + q) for e in (1.0, 2.0, 3.0) for q in (0.0, 0.5)] + [("uniform", np.nan, np.nan, 0.25)])
AXES = ["eta", "quota"]


def test_the_table_of_a_sweep():
    made = ranking_table(rank(GRID, "accuracy", AXES), "accuracy (digits): 7 points")
    assert made.columns[:5] == ("rank", "scheme", "eta", "quota", "mean") and made.columns[-1] == "standing"
    assert [row[:4] for row in made.rows[:2]] == [("1", "a", "3", "0.5"), ("2", "a", "3", "0")]
    assert made.rows[-1][1:4] == ("uniform", "-", "-") and made.rows[0][6] == "-" and made.rows[0][-1] == "best"
    assert made.bold == {(0, 4)} and "Bold: 1 of 7 points" in " ".join(made.notes) and len(made.data) == 7
    assert made.data["table"].unique().tolist() == [made.title]


def test_a_long_table_shows_its_first_rows_and_keeps_all():
    many = frame([("a", float(e), 0.0, float(e)) for e in range(1, 41)])
    made = ranking_table(rank(many, "accuracy", AXES), "t")
    assert len(made.rows) == MOST_ROWS and len(made.data) == 40
    assert "Shown: the first 20 of 40 points. The CSV file has all." in made.notes


def test_failed_runs_are_named():
    runs = GRID.assign(accuracy=GRID.accuracy.mask((GRID.scheme == "uniform") & (GRID.seed == 2)))
    made = ranking_table(rank(runs, "accuracy", AXES), "t")
    assert "n" in made.columns and any(note.startswith("Failed runs of uniform") for note in made.notes)


def test_two_settings_are_a_heat_map_with_the_best_point():
    figure = sweep_picture(GRID, "accuracy", AXES, "accuracy (digits)", rank(GRID, "accuracy", AXES))
    axes, bar = figure.axes
    (mesh,) = axes.collections
    np.testing.assert_allclose(mesh.get_array().reshape(2, 3), [[1, 2, 3], [1.5, 2.5, 3.5]])
    (star,) = axes.lines
    assert (star.get_xdata()[0], star.get_ydata()[0], star.get_marker()) == (2.5, 1.5, "*")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3"] and bar.get_ylabel() == "accuracy"
    assert any("Without both settings: uniform 0.25." in " ".join(t.get_text().split()) for t in figure.texts)


def test_one_setting_is_a_curve_and_a_scheme_without_it_a_level():
    runs = GRID[(GRID.quota != 0.5)]
    figure = sweep_picture(runs, "accuracy", AXES, "accuracy (digits)", rank(runs, "accuracy", AXES))
    (axes,) = figure.axes
    a, uniform = (line for line in axes.lines if line.get_label() != "_seed")
    assert a.get_xdata().tolist() == [1, 2, 3] and a.get_ydata().tolist() == pytest.approx([1, 2, 3])
    assert uniform.get_ydata().tolist() == pytest.approx([0.25] * 3) and axes.get_xlabel() == "eta"
    assert any("Mean over 4 seeds; thin: each seed." in t.get_text() for t in figure.texts)


def test_of_three_settings_each_panel_has_the_best_of_the_others():
    runs = pd.concat([GRID.assign(gamma=g, accuracy=GRID.accuracy - g) for g in (1, 2)])
    runs.loc[runs.scheme == "uniform", "gamma"] = np.nan
    runs = runs.drop_duplicates(["scheme", "eta", "quota", "gamma", "seed"])
    axes = [*AXES, "gamma"]
    figure = sweep_picture(runs, "accuracy", axes, "t", rank(runs, "accuracy", axes))
    assert [panel.get_xlabel() for panel in figure.axes] == axes
    assert [panel.lines[0].get_ydata().tolist() for panel in figure.axes] == [
        pytest.approx([0.5, 1.5, 2.5]), pytest.approx([2.0, 2.5]), pytest.approx([2.5, 1.5])
    ]  # fmt: skip


def test_texts_stand_side_by_side_and_wide_numbers_are_logarithmic():
    curves = {"a": np.ones((2, 3))}
    figure = setting_curves({"quota": (["0.5", "2", "inc"], curves), "eta": ([0.01, 1.0, 9.0], curves)},
                            ylabel="y", title="t")  # fmt: skip
    quota, eta = figure.axes
    assert [tick.get_text() for tick in quota.get_xticklabels()] == ["0.5", "2", "inc"]
    assert eta.get_xscale() == "log" and quota.get_xscale() == "linear"


def test_without_a_sweep_there_is_no_picture():
    one = frame([("a", 1.0, 0.0, 1.0)])
    assert sweep_picture(one, "accuracy", AXES, "t", rank(one, "accuracy", AXES)) is None


def test_bad_figures():
    with pytest.raises(ValueError, match="there are no schemes to draw"):
        setting_heat({}, ("x", [1]), ("y", [1]), label="z", title="t")
    with pytest.raises(ValueError, match=r"means of 'a' have shape \(2, 1\), not \(second setting, first setting\)"):
        setting_heat({"a": Heat(np.zeros((2, 1)))}, ("x", [1, 2]), ("y", [1]), label="z", title="t")
    with pytest.raises(ValueError, match="there must be a panel, and all must hold the same schemes in order"):
        setting_curves({}, ylabel="y", title="t")
