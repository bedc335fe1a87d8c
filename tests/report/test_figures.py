"""Tests of figures: they describe their content, clip nothing, and leave matplotlib's settings unchanged."""

import itertools
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

from jfed.analysis import (
    box_by_class,
    compare,
    draw_lines,
    for_paper,
    forest,
    lines,
    save,
    selection_heat,
    stacked_lines,
)
from jfed.report.figures.curves import MOST_POINTS
from jfed.report.figures.marks import mark, marks
from jfed.report.figures.ranks import rank_diagram
from jfed.report.figures.seeds import seed_differences

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


def band(figure: Figure, i: int = 0) -> tuple[float, float]:
    ends = figure.axes[0].collections[i].get_paths()[0].vertices[:, 1]
    return ends.min(), ends.max()


def test_lines_draw_the_mean_and_its_t_interval():
    values = np.array([[2.0 + d, 2.0] for d in (-1, -1, -1, 1, 1, 1)])
    figure = lines([0, 1], {"a": values}, xlabel="Round", ylabel="reward", title="Digits")
    assert figure.axes[0].lines[0].get_ydata().tolist() == [2.0, 2.0]
    # The standard error is sqrt(6 / 5) / sqrt(6 seeds) = 0.44721, and t(0.975, 5) = 2.57058.
    assert band(figure) == pytest.approx((2 - 1.14960, 2 + 1.14960), abs=1e-4)
    assert "Mean over 6 seeds; band: pointwise 95 % t interval of the mean." in texts(figure)
    assert "Digits" in texts(figure)
    assert_nothing_clipped(figure)


@pytest.mark.parametrize("kind", ["ci", "range"])
def test_a_band_stays_within_what_is_possible(kind):
    values = np.array([[0.0, 0.9]] * 5 + [[0.1, 1.0]])
    half = stats.t.ppf(0.975, 5) * values.std(0, ddof=1)[0] / np.sqrt(6)
    free = (0.1 / 6 - half, 1 - 0.5 / 6 + half) if kind == "ci" else (0.0, 1.0)
    assert free[0] < 0 or kind == "range"
    for ylabel, ends in {
        "test accuracy": (max(free[0], 0), min(free[1], 1)), "final loss": (max(free[0], 0), free[1]),
        "reward": free, "accuracy minus uniform's": free,
    }.items():  # fmt: skip
        figure = lines([0, 1], {"a": values}, xlabel="x", ylabel=ylabel, title="t", band=kind)
        assert band(figure) == pytest.approx(ends), ylabel


def test_few_seeds_are_drawn_one_by_one():
    figure = lines([0, 1], {"a": [[1, 2], [3, 2]]}, xlabel="x", ylabel="y", title="t")
    mean, *seeds = figure.axes[0].lines
    assert mean.get_ydata().tolist() == [2.0, 2.0]
    assert [line.get_ydata().tolist() for line in seeds] == [[1, 2], [3, 2]]
    assert {line.get_color() for line in seeds} == {mean.get_color()}
    assert not figure.axes[0].collections and "Mean over 2 seeds; thin: each seed." in texts(figure)
    six = np.ones((6, 2)) * np.arange(6)[:, None]
    figure = lines([0, 1], {"a": six, "b": six[:5]}, xlabel="x", ylabel="y", title="t")
    assert "thin: each seed where there are fewer than 6." in texts(figure)


def test_range_band_one_seed_and_gaps():
    figure = lines([0, 1], {"a": [[1, 2], [3, 2]] * 3}, xlabel="x", ylabel="y", title="t", band="range")
    assert band(figure) == (1.0, 3.0)
    assert "lowest to highest seed" in texts(figure)
    figure = lines([0, 1], {"a": [[1.0, 2.0]]}, xlabel="x", ylabel="y", title="t")
    assert len(figure.axes[0].collections) == 0 and len(figure.axes[0].lines) == 1
    assert "One seed." in texts(figure)
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
    means = [line for line in figure.axes[0].lines if line.get_label() in SCHEMES]
    for handle, line in zip(figure.legends[0].legend_handles, means, strict=True):
        assert handle.get_color() == line.get_color()
        assert handle.get_marker() == line.get_marker()
    legend = figure.legends[0].get_window_extent()
    assert legend.y0 >= figure.axes[0].get_window_extent().y1


def test_marks_differ_without_colour():
    grey = [(str(mark(i).dash), mark(i).marker) for i in range(45)]
    assert len(set(grey)) == 45


names = st.lists(st.sampled_from([f"s-{i}" for i in range(15)] + [f"s-{i} (mode)" for i in range(5)]), unique=True)


@given(names, st.permutations([f"s-{i}" for i in range(15)]))
def test_a_schemes_look_depends_neither_on_the_figure_nor_on_its_position(labels, study):
    whole = marks(sorted(study))
    drawn = marks(labels, study)
    assert list(drawn) == labels
    assert len({(look.color, str(look.dash)) for look in drawn.values()}) == len(labels)
    for label, look in drawn.items():
        scheme = label.removesuffix(" (mode)")
        assert look.color == whole[scheme].color
        assert look == whole[label] if not any("(" in name for name in labels) else True


def test_curves_on_each_other_get_a_panel_of_differences():
    x, base = np.arange(50), np.linspace(0, 1, 50)
    seeds = np.random.default_rng(0).normal(0, 0.1, (6, 1))
    made = {"a": base + seeds, "far": 3 * base + seeds, "b": base + seeds + 0.01, "c": base + seeds - 0.02}
    figure = lines(x, made, xlabel="round", ylabel="utility", title="t")
    above, below = figure.axes
    assert [line.get_label() for line in above.lines] == ["a", "far", "b", "c"]
    assert [line.get_label() for line in below.lines[:2]] == ["b", "c"] and below.get_ylabel() == "minus a"
    assert below.lines[0].get_ydata() == pytest.approx(np.full(50, 0.01))  # paired: what seeds share is gone
    assert below.lines[0].get_color() == above.lines[2].get_color()
    assert "differences, seed by seed, of curves within 3 % of their panel's height" in texts(figure)
    assert_nothing_clipped(figure)
    for apart in ({"a": base + seeds, "b": 2 * base + seeds}, {"a": made["a"], "b": made["b"][:5]}, {"a": made["a"]}):
        assert len(lines(x, apart, xlabel="round", ylabel="utility", title="t").axes) == 1


@pytest.mark.parametrize(("width", "inches"), [("one", 3.3), ("two", 7.0)])
def test_figures_for_a_paper_have_its_widths_and_no_titles(width, inches):
    by_class = {f"scheme {i}": {"0.1": np.arange(9), "0.9": np.arange(9)} for i in range(5)}
    title = "the words of a title"
    with for_paper(width, title=False):
        drawn = [lines(np.arange(50), curves(), xlabel="Round", ylabel="y", title=title),
                 box_by_class(by_class, "times selected", title, xlabel="success rate"),
                 selection_heat({"uniform": np.full((2, 4), 0.5)}, range(4), xlabel="number", title=title)]  # fmt: skip
    for figure in drawn:
        assert figure.get_size_inches()[0] == inches and title not in texts(figure)
        assert_nothing_clipped(figure)
        shown = [t for t in figure.findobj(mpl.text.Text) if isinstance(t, mpl.text.Text) and t.get_text().strip()]
        assert min(t.get_fontsize() for t in shown) >= 6.5
    assert lines(np.arange(50), curves(), xlabel="Round", ylabel="y", title=title).get_suptitle() == title
    with pytest.raises(ValueError, match="width must be one or two, got 'three'"), for_paper("three"):  # type: ignore[arg-type]
        pass


def test_odd_names_are_shown_as_they_are():
    odd = ["_hidden", "$x^2$ and $", "a\x1b[31mred\x07", "x" * 90]
    values = {name: i + np.zeros((6, 2)) for i, name in enumerate(odd)}
    figure = lines([0, 1], values, xlabel="x", ylabel="y", title="t")
    said = [text.get_text().strip() for text in figure.legends[0].get_texts()]
    assert said[:3] == ["_hidden", "$x^2$ and $", "ared"] and said[3].replace("\n", "") == odd[3]
    assert_nothing_clipped(figure)


def test_draw_lines_uses_the_callers_axes():
    axes = Figure().subplots()
    draw_lines(axes, np.arange(50), curves(6), ylabel="Accuracy")
    assert [line.get_label() for line in axes.lines] == SCHEMES


def test_box_by_class():
    rng = np.random.default_rng(0)
    by_class = {"0.1": rng.poisson(20, (3, 25)), "0.9": rng.poisson(90, (3, 25))}
    panels = {f"scheme {i}": by_class for i in range(7)}
    figure = box_by_class(panels, "Times selected (of 2500 rounds)", "World E3CS")
    assert [axes.get_title() for axes in figure.axes] == list(panels)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["0.1", "0.9"]
    assert "n\xa0=\xa075 values in each box" in texts(figure)
    assert_nothing_clipped(figure)
    uneven = box_by_class({"one": {"a": np.arange(3), "b": np.arange(4)}}, "y", "t", xlabel="kind")
    assert [t.get_text() for t in uneven.axes[0].get_xticklabels()] == ["a\nn = 3", "b\nn = 4"]
    assert uneven.axes[0].get_xlabel() == "kind"
    assert_nothing_clipped(uneven)
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


@pytest.mark.parametrize("draw", [forest, seed_differences, rank_diagram])
def test_long_names_stay_apart(draw):
    rng = np.random.default_rng(0)
    names = [f"Fed{x} + power-of-choice (d = 20, stale losses, warm-up of ten rounds)" for x in ("Avg", "Prox", "Dyn")]
    rows = [(s, i, rng.normal()) for s in names for i in range(6)]
    figure = draw(compare(pd.DataFrame(rows, columns=["scheme", "seed", "acc"]), "acc"), "Digits")
    assert_nothing_clipped(figure)
    every = [text for text in figure.axes[0].findobj(mpl.text.Text) if "power-of-choice" in text.get_text()]
    boxes = [text.get_window_extent() for text in every if text.get_visible()]
    assert len(boxes) == 3 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_save_is_reproducible_and_leaves_matplotlib_alone(tmp_path):
    before = dict(mpl.rcParams)
    figures = [lines(np.arange(50), curves(), xlabel="x", ylabel="y", title="t") for _ in range(2)]
    png, pdf, csv = save(figures[0], tmp_path / "figures", "a")
    again = save(figures[1], tmp_path, "b")
    assert (png.name, pdf.name, csv.name) == ("a.png", "a.pdf", "a.csv")
    assert png.read_bytes() == again[0].read_bytes()
    assert pdf.read_bytes() == again[1].read_bytes()
    assert csv.read_bytes() == again[2].read_bytes()
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
