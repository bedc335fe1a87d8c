"""Tests of figures: they describe their content, clip nothing, and leave matplotlib's settings unchanged."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from jfed.analysis import (
    box_by_class,
    compare,
    draw_lines,
    forest,
    lines,
    save,
    stacked_lines,
)
from jfed.report.figures.curves import MOST_POINTS
from jfed.report.figures.ranks import rank_diagram
from jfed.report.figures.style import mark

SCHEMES = ["uniform", "fedcs", "e3cs-0.5 (corrected)", "e3cs-inc"]


def curves(seeds: int = 4, points: int = 50) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {s: i + rng.normal(size=(seeds, points)) for i, s in enumerate(SCHEMES)}


def texts(figure: Figure) -> str:
    return " ".join(
        text.get_text().replace("\n", " ") for text in figure.findobj(mpl.text.Text) if isinstance(text, mpl.text.Text)
    )


def assert_nothing_clipped(figure: Figure) -> None:
    figure.canvas.draw()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


def test_lines_draw_the_mean_and_its_t_interval():
    values = np.array([[1.0, 2.0], [3.0, 2.0]])
    figure = lines([0, 1], {"a": values}, xlabel="Round", ylabel="Accuracy", title="Digits")
    axes = figure.axes[0]
    assert axes.lines[0].get_ydata().tolist() == [2.0, 2.0]
    # The standard error is sqrt(2) / sqrt(2 seeds) = 1, so the half-width is t(0.975, 1) = 12.7062.
    ends = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-3)
    assert "Mean over 2 seeds; band: pointwise 95 % t interval of the mean." in texts(figure)
    assert "Digits" in texts(figure)
    assert_nothing_clipped(figure)


def test_range_band_one_seed_and_gaps():
    figure = lines([0, 1], {"a": [[1, 2], [3, 2]]}, xlabel="x", ylabel="y", title="t", band="range")
    ends = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == (1.0, 3.0)
    assert "lowest to highest seed" in texts(figure)
    figure = lines([0, 1], {"a": [[1.0, 2.0]]}, xlabel="x", ylabel="y", title="t")
    assert len(figure.axes[0].collections) == 0
    assert "no band" in texts(figure)
    broken = np.array([[1.0, 2.0, 3.0], [1.0, np.inf, 3.0]])
    figure = lines([0, 1, 2], {"a": broken}, xlabel="x", ylabel="y", title="t")
    assert np.isnan(figure.axes[0].lines[0].get_ydata()[1])
    assert "A curve ends, or has a gap, where one of its runs has no value." in texts(figure)


def test_long_curves_are_thinned_to_their_ends():
    x = np.arange(1, 2501)
    figure = lines(x, curves(3, 2500), xlabel="Round", ylabel="CEP", title="World E3CS")
    drawn = figure.axes[0].lines[0].get_xdata()
    assert len(drawn) == MOST_POINTS
    assert (drawn[0], drawn[-1]) == (1, 2500)


def test_stacked_panels_share_one_legend():
    panels = {"Success ratio": curves(), "Cumulative effective participation": curves()}
    title = "World E3CS, selection only: a title that is too long for one line of a column"
    figure = stacked_lines(np.arange(50), panels, xlabel="Round", title=title)
    assert len(figure.axes) == 2
    assert len(figure.legends) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == SCHEMES
    assert title in texts(figure)
    assert_nothing_clipped(figure)
    for handle, line in zip(figure.legends[0].legend_handles, figure.axes[0].lines, strict=True):
        assert handle.get_color() == line.get_color()
        assert handle.get_marker() == line.get_marker()
    legend = figure.legends[0].get_window_extent()
    assert legend.y0 >= figure.axes[0].get_window_extent().y1


def test_marks_differ_without_colour():
    grey = [(str(mark(i).dash), mark(i).marker) for i in range(45)]
    assert len(set(grey)) == 45


def test_draw_lines_uses_the_callers_axes():
    axes = Figure().subplots()
    draw_lines(axes, np.arange(50), curves(), ylabel="Accuracy")
    assert [line.get_label() for line in axes.lines] == SCHEMES


def test_box_by_class():
    rng = np.random.default_rng(0)
    by_class = {"0.1": rng.poisson(20, (3, 25)), "0.9": rng.poisson(90, (3, 25))}
    panels = {f"scheme {i}": by_class for i in range(7)}
    figure = box_by_class(panels, "Times selected (of 2500 rounds)", "World E3CS")
    assert [axes.get_title() for axes in figure.axes] == list(panels)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["0.1", "0.9"]
    assert_nothing_clipped(figure)
    assert_nothing_clipped(box_by_class({"one": by_class}, "Times selected", "World E3CS"))


def test_forest_shows_every_row_and_verdict():
    rng = np.random.default_rng(0)
    base = rng.normal(size=8)
    shifts = dict(zip(SCHEMES, (0, -3, 0.01, 2), strict=True))
    rows = [
        {"scheme": s, "seed": i, "acc": base[i] + shifts[s] + 0.5 * rng.normal()} for s in SCHEMES for i in range(8)
    ]
    rows += [{"scheme": "constant", "seed": i, "acc": rows[i]["acc"] + 1} for i in range(7)]
    rows += [{"scheme": "once", "seed": 0, "acc": 3.0}, {"scheme": "never", "seed": 0, "acc": None}]
    result = compare(pd.DataFrame(rows), "acc", baseline="uniform")
    figure = forest(result, "Digits")
    words = texts(figure)
    for text in (*SCHEMES[1:], "better", "worse", "no difference shown", "missing runs",
                 "constant: missing runs", "failed runs", "acc minus uniform",
                 "over 6 comparisons"):  # fmt: skip
        assert text in words
    assert_nothing_clipped(figure)
    assert_nothing_clipped(forest(compare(pd.DataFrame(rows[:32]), "acc"), "Digits, all pairs"))


def test_ranks_of_a_long_name_fit():
    rng = np.random.default_rng(0)
    names = ["uniform", "a scheme with a very long name indeed", *(f"scheme {i}" for i in range(8))]
    rows = [(s, i, rng.normal()) for s in names for i in range(6)]
    assert_nothing_clipped(
        rank_diagram(compare(pd.DataFrame(rows, columns=["scheme", "seed", "acc"]), "acc"), "Digits")
    )


def test_save_is_reproducible_and_leaves_matplotlib_alone(tmp_path):
    before = dict(mpl.rcParams)
    figures = [lines(np.arange(50), curves(), xlabel="x", ylabel="y", title="t") for _ in range(2)]
    png, pdf = save(figures[0], tmp_path / "figures", "a")
    again = save(figures[1], tmp_path, "b")
    assert (png.name, pdf.name) == ("a.png", "a.pdf")
    assert png.read_bytes() == again[0].read_bytes()
    assert pdf.read_bytes() == again[1].read_bytes()
    assert pdf.stat().st_size < 60_000
    assert not re.search(rb"/Subtype\s*/Type3", pdf.read_bytes())
    assert dict(mpl.rcParams) == before


def test_bad_input():
    x = np.arange(3)
    with pytest.raises(ValueError, match=r"'a' has shape \(3,\), not \(seeds, 3\)"):
        lines(x, {"a": np.zeros(3)}, xlabel="x", ylabel="y", title="t")
    with pytest.raises(ValueError, match="there are no curves to draw"):
        lines(x, {}, xlabel="x", ylabel="y", title="t")
    with pytest.raises(ValueError, match="band must be 'ci' or 'range', got 'sd'"):
        lines(x, {"a": np.zeros((1, 3))}, xlabel="x", ylabel="y", title="t", band="sd")  # type: ignore[arg-type]
    one, two = {"a": np.zeros((1, 3))}, {"b": np.zeros((1, 3))}
    with pytest.raises(ValueError, match="there must be a panel, and all must hold the same curves in order"):
        stacked_lines(x, {"p": one, "q": two}, xlabel="x", title="t")
    with pytest.raises(ValueError, match="there are no schemes to draw"):
        box_by_class({}, "y", "t")
    with pytest.raises(ValueError, match=r"class '0\.1' of 'a' has no values, or one that is not finite"):
        box_by_class({"a": {"0.1": np.array([])}}, "y", "t")
