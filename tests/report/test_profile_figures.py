"""Tests of the figures of performance profiles and of each seed's difference: what they draw, and that it fits."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.analysis import compare
from jfed.report.figures.marks import marks
from jfed.report.figures.profiles import profile_curves
from jfed.report.figures.seeds import seed_differences
from jfed.report.figures.style import save
from jfed.stats.profiles import performance_profiles

NAMES = ["uniform", "fedcs", "e3cs-0.5 (corrected)", *(f"scheme-{i}" for i in range(17))]
TITLE = "Digits, non-iid over a hundred clients: a title that is too long for one line of a column"


def texts(figure):
    found = [t.get_text().replace("\n", " ") for t in figure.findobj(mpl.text.Text)]
    return " ".join(found).replace("\N{NO-BREAK SPACE}", " ")


def assert_nothing_clipped(figure):
    figure.canvas.draw()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -0.02


def profiles(count=3, seeds=6, tasks=2, **options):
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(0.7 + 0.02 * i, 0.05, (seeds, tasks)) for i, name in enumerate(NAMES[:count])}
    return performance_profiles(scores, np.linspace(0.5, 1, 50), resamples=99, **options)


def frame(differences):
    """Return a frame in which the scheme's score is the difference from a baseline that varies over seeds."""
    base = np.random.default_rng(1).normal(size=max(map(len, differences.values())))
    rows = [("base", seed, score) for seed, score in enumerate(base)]
    rows += [(s, seed, base[seed] + x) for s, values in differences.items() for seed, x in enumerate(values)]
    return pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"])


def test_profile_curves():
    drawn = profiles()
    figure = profile_curves(drawn, xlabel="test accuracy", title=TITLE)
    (axes,) = figure.axes
    looks = marks(drawn.schemes)
    for line, band, (name, one) in zip(axes.lines, axes.collections, drawn.schemes.items(), strict=True):
        assert (line.get_color(), line.get_marker()) == (looks[name].color, looks[name].marker)
        assert (line.get_ydata() == one.share).all() and (line.get_xdata() == drawn.thresholds).all()
        ends = band.get_paths()[0].vertices[:, 1]
        assert (ends.min(), ends.max()) == (np.nanmin(one.low), np.nanmax(one.high))
    assert [t.get_text() for t in figure.legends[0].get_texts()] == NAMES[:3]
    words = texts(figure)
    for text in (TITLE, "share of runs ≥ x", "test accuracy", "pointwise 95 % bootstrap interval",
                 "6 seeds per scheme and each of 2 tasks", "seeds resampled in each task"):  # fmt: skip
        assert text in words


def test_profiles_of_few_seeds_and_of_a_falling_metric():
    words = texts(profile_curves(profiles(seeds=2, tasks=1, higher_is_better=False), xlabel="x", title="t"))
    assert "2 seeds per scheme; no band: too few." in words and "share of runs ≤ x" in words
    assert "tasks" not in words


@pytest.mark.parametrize("count", [1, 20])
def test_profiles_fit(count, tmp_path):
    figure = profile_curves(profiles(count), xlabel="test accuracy after 400 rounds, share", title=TITLE)
    assert_nothing_clipped(figure)
    assert figure.legends[0].get_window_extent().y0 >= figure.axes[0].get_window_extent().y1
    assert len(save(figure, tmp_path, "profiles")) == 2


def drawn_of(runs, title, **choices):
    return seed_differences(compare(runs, "accuracy", baseline="base", **choices), title)


def test_seed_differences():
    """Of the differences 1, 2, 3, 2, 2 the mean is 2 and the standard error sqrt(0.5 / 5)."""
    figure = drawn_of(frame({"a": [1, 2, 3, 2, 2], "b": [0, -1, 0, -1, 0]}), "t")
    (axes,) = figure.axes
    dots, interval, mean = axes.lines[:3]
    assert dots.get_xdata() == pytest.approx([1, 2, 3, 2, 2])
    assert (np.diff(dots.get_ydata()) > 0).all() and abs(dots.get_ydata()).max() < 0.5
    half = stats.t.ppf(0.975, 4) * np.sqrt(0.1)
    assert interval.get_xdata() == pytest.approx([2 - half, 2 + half])
    assert mean.get_xdata() == pytest.approx([2])
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    words = texts(figure)
    assert "accuracy minus base (higher is better)" in words and "Dots: 5 seeds" in words
    assert "Failed" not in words and not [t for t in axes.texts if t.get_text()]


def test_only_outliers_are_named_and_failed_runs_are_left_out():
    rng = np.random.default_rng(2)
    values = {"even": rng.normal(size=12), "odd": np.append(rng.normal(size=11), 30.0)}
    drawn = frame(values)
    drawn["seed"] += 100
    drawn.loc[drawn.scheme.eq("even") & drawn.seed.eq(104), "accuracy"] = np.nan
    figure = drawn_of(drawn, "t", higher_is_better=False, alpha=0.1)
    assert [t.get_text() for t in figure.axes[0].texts] == ["111"]
    assert len(figure.axes[0].lines[0].get_xdata()) == 11
    words = texts(figure)
    assert "11 to 12 seeds" in words and "Failed and missing runs are left out." in words
    assert "lower is better" in words and "pointwise 90 % t interval" in words


@pytest.mark.parametrize("count", [1, 20])
def test_seed_differences_fit(count, tmp_path):
    rng = np.random.default_rng(3)
    values = {name: np.append(rng.normal(size=9), -50.0 if i % 2 else 50.0) for i, name in enumerate(NAMES[:count])}
    figure = drawn_of(frame(values), TITLE)
    assert_nothing_clipped(figure)
    inside = figure.axes[0].get_window_extent()
    for label in figure.axes[0].texts:
        box = label.get_window_extent()
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1
    assert len(save(figure, tmp_path, "seeds")) == 2


def test_one_seed_has_no_interval():
    figure = drawn_of(frame({"a": [0.5]}), "t")
    dots, interval, _ = figure.axes[0].lines[:3]
    assert dots.get_xdata() == pytest.approx([0.5]) and np.isnan(interval.get_xdata()).all()


def test_all_pairs_and_schemes_without_a_common_seed():
    one = frame({"a": [0.5, 1.0], "b": [0.1, 0.3]})
    every = seed_differences(compare(one, "accuracy"), "t")
    assert [t.get_text() for t in every.axes[0].get_yticklabels()] == ["base – a", "base – b", "a – b"]
    one.loc[one.scheme.eq("a"), "accuracy"] = np.nan
    assert [t.get_text() for t in drawn_of(one, "t").axes[0].get_yticklabels()] == ["b"]
    with pytest.raises(ValueError, match="independent runs have no difference of a seed"):
        drawn_of(frame({"a": [0.5, 1.0]}), "t", paired=False)
