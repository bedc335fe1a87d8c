"""Tests of `jfed plot`: which figures there are, of which values, in which order and width."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from rich.console import Console

from jfed import analysis
from jfed.commands import plot
from jfed.core.errors import ConfigError
from jfed.results import load

SCHEMES, K, T = ("e3cs-0", "fedcs", "uniform"), 4, 3


def results(etas=(0.5,), training=False) -> xr.Dataset:
    """Return three schemes on seeds 0 to 6, of which fedcs, an oracle, lacks the first, at each eta."""
    runs = [(s, seed, eta) for eta in etas for s in SCHEMES for seed in range(s == "fedcs", 7)]
    schemes, seeds, eta = map(list, zip(*runs, strict=True))
    one = np.array([[1.0, 2.0, 3.0]]) * [[1 + SCHEMES.index(s) + 10 * seed] for s, seed, _ in runs]
    data = {
        "num_succeeded": (("run", "round"), one),
        "round_time_s": (("run", "round"), 2 * one),
        "times_selected": (("run", "client"), np.tile([3, 2, 1, 0], (len(runs), 1))),
        "client_class": (("run", "client"), np.tile([1, 0, 1, 0], (len(runs), 1))),
    }
    if training:
        data["test_accuracy"] = (("run", "eval_round"), np.full((len(runs), 2), [0.25, 0.5]))
    about = {"mode": "faithful", "dataset": "none", "world": "volatility"}
    coords = {"method": ("run", schemes), "seed": ("run", seeds), "eta": ("run", eta), "round": [1, 2, 3],
              "oracle": ("run", [int(s == "fedcs") for s in schemes])}  # fmt: skip
    coords |= {name: ("run", [value] * len(runs)) for name, value in about.items()}
    return xr.Dataset(data, coords | ({"eval_round": [1, 3]} if training else {}))


@pytest.fixture
def drawn(monkeypatch):
    """Draw without saving; return the figures by name."""
    found: dict[str, Figure] = {}

    def run(whole, **settings):
        monkeypatch.setattr(load, "load", lambda source: whole)
        plot.main(plot.Settings(out=settings.pop("out"), results=settings.pop("results"), **settings), Console())
        return found

    monkeypatch.setattr(analysis, "save", lambda figure, folder, stem: found.update({stem: figure}) or [folder / stem])
    return run


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_curves_differences_and_selections_are_drawn(drawn, tmp_path):
    figures = drawn(results(training=True), out=tmp_path, results=tmp_path)
    assert list(figures) == ["num_succeeded", "num_succeeded_differences", "test_accuracy",
                             "test_accuracy_differences", "selections", "selections_by_class"]  # fmt: skip
    curves = figures["num_succeeded"]
    assert labels(curves) == ["uniform", "e3cs-0", "fedcs (oracle)"]  # uniform first, the others as stored
    assert curves.axes[0].get_ylabel().replace("\n", " ") == "clients of the cohort that returned"
    means = [line.get_ydata()[0] for line in curves.axes[0].lines]
    assert means == pytest.approx([3 + 30, 1 + 30, 2 + 35])  # seeds 0 to 6 have the mean 3, seeds 1 to 6 have 3.5
    differences = figures["num_succeeded_differences"]
    assert labels(differences) == ["e3cs-0", "fedcs (oracle)"]
    assert [line.get_ydata().tolist() for line in differences.axes[0].lines] == [[-2, -4, -6], [-1, -2, -3]]
    (mesh,) = figures["selections"].axes[0].collections
    assert np.asarray(mesh.get_array())[0] == pytest.approx(np.array([2, 0, 3, 1]) / 3)  # class 0, then class 1
    colors = {line.get_label(): line.get_color() for line in curves.axes[0].lines}
    assert colors["e3cs-0"] == differences.axes[0].lines[0].get_color()


def test_settings_choose_metrics_schemes_sums_and_widths(drawn, tmp_path):
    figures = drawn(results((0.1, 0.5)), out=tmp_path, results=tmp_path, metric=("round_time_s",), so_far="mean",
                    schemes=("fedcs", "uniform"), width="one", title=False)  # fmt: skip
    assert [name for name in figures if "differences" not in name and "selections" not in name] == [
        "round_time_s_mean_eta_0.1",
        "round_time_s_mean_eta_0.5",
    ]
    curves = figures["round_time_s_mean_eta_0.5"]
    assert labels(curves) == ["fedcs (oracle)", "uniform"]
    assert curves.axes[0].lines[1].get_ydata() == pytest.approx(2 * 33 * np.array([1, 1.5, 2]))
    assert "mean so far" in curves.axes[0].get_ylabel().replace("\n", " ")
    assert {figure.get_size_inches()[0] for figure in figures.values()} == {3.3}
    assert {figure.get_suptitle() for figure in figures.values()} == {""}
    total = drawn(results(), out=tmp_path, results=tmp_path, so_far="sum")["num_succeeded_sum"]
    assert total.axes[0].lines[0].get_ydata() == pytest.approx(33 * np.array([1, 3, 6]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"metric": ("num_sucseeded",)}, "unknown metric 'num_sucseeded'.*num_succeeded"),
        ({"schemes": ("fedsc",)}, "unknown scheme 'fedsc'.*e3cs-0, fedcs, uniform"),
    ],
)
def test_bad_names_end_before_any_figure(drawn, tmp_path, settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        drawn(results(), out=tmp_path / "new", results=tmp_path, **settings)
    assert not (tmp_path / "new").exists()


def test_bad_places(drawn, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is a file: --out names a folder for figures"):
        drawn(results(), out=tmp_path / "file", results=tmp_path)
    with pytest.raises(ConfigError, match="jfed plot RESULTS --out FOLDER"):
        plot.main(plot.Settings(out=tmp_path), Console())
