"""Tests of the critical-difference diagram, Kaplan-Meier curves and heat map: their content and their refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.analysis import arrivals, compare, kaplan_meier, rank_diagram, save, selection_heat

RNG = np.random.default_rng(0)


def family(means, n=12):
    rows = [(s, i, m + RNG.normal()) for s, m in means.items() for i in range(n)]
    return compare(pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"]), "accuracy")


def texts(figure):
    axes = figure.axes[0]
    return [t.get_text().strip() for t in axes.texts]


def caption(figure):
    return " ".join(t.get_text().replace("\n", " ") for t in figure.texts)


def test_rank_diagram(tmp_path):
    compared = family({"far": 10.0, "near": 0.1, "nearer": 0.0})
    figure = rank_diagram(compared, "digits")
    labels = texts(figure)
    ranks = dict(zip(("far", "near", "nearer"), compared.omnibus.mean_ranks, strict=True))
    assert ranks["far"] == 1.0 and "far  1.00" in labels
    assert all(any(name in label and f"{rank:.2f}" in label for label in labels) for name, rank in ranks.items())
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() == 2.2]
    (bar,) = bars  # over the two near schemes only
    assert bar.get_xdata()[0] == pytest.approx(min(ranks["near"], ranks["nearer"]) - 0.04)
    assert len(save(figure, tmp_path, "ranks")) == 2
    with pytest.raises(
        ValueError, match="ranks need at least three schemes that finished at least two seeds in common"
    ):
        rank_diagram(family({"a": 0.0, "b": 1.0}), "digits")


def test_kaplan_meier_is_scipys_without_censoring_before_the_horizon():
    times = np.array([3.0, 5.0, 5.0, np.inf, 8.0, np.inf])
    steps, shares = kaplan_meier(times, 10)
    data = stats.CensoredData(uncensored=times[np.isfinite(times)], right=np.full(2, 10.0))
    expected = stats.ecdf(data).cdf
    assert steps.tolist() == [0, 3, 5, 8]
    assert shares[1:] == pytest.approx(expected.evaluate(steps[1:]))
    assert kaplan_meier([np.inf, np.inf], 10)[1].tolist() == [0.0]


NUMBERS = "times need one number per run, inf where the target was never reached"


@pytest.mark.parametrize(
    ("times", "sentence"),
    [([], NUMBERS), ([np.nan], NUMBERS), ([11.0], "a run reaches the target at 11, after the horizon of 10")],
)
def test_times_that_cannot_be(times, sentence):
    with pytest.raises(ValueError, match=sentence):
        kaplan_meier(times, 10)


def test_arrivals(tmp_path):
    times = {"uniform": [3, 4, np.inf], "fedcs": [1, 2, 2]}
    figure = arrivals(times, 10, xlabel="round", target="65 %", title="digits")
    assert figure.axes[0].get_ylabel() == "share of runs at 65 %"
    steps = [line for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert [line.get_ydata()[-1] for line in steps] == pytest.approx([2 / 3, 1.0])
    assert len(save(figure, tmp_path, "arrivals")) == 2
    with pytest.raises(ValueError, match="there are no schemes to draw"):
        arrivals({}, 10, xlabel="round", target="65 %", title="digits")


def test_heat_map(tmp_path):
    shares = {"uniform": np.full((2, 4), 0.5), "fedcs": np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]])}
    figure = selection_heat(shares, [0.9, 0.1, 0.9, 0.1], xlabel="success rate", title="a world")
    (mesh,) = figure.axes[0].collections
    assert np.asarray(mesh.get_array()).tolist() == [[0.5] * 4, [1.0, 0.5, 0.0, 0.0]]  # clients by rate
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["0.1", "0.9"]
    assert mesh.get_clim() == (0, 1) and "Colours end" not in caption(figure)
    assert [path.suffix for path in save(figure, tmp_path, "heat")] == [".png", ".pdf", ".csv"]
    oracle = np.zeros((2, 10))
    oracle[:, -1] = 1
    figure = selection_heat({"uniform": np.full((2, 10), 0.1), "oracle": oracle}, range(10), xlabel="number", title="")
    assert figure.axes[0].collections[0].get_clim() == pytest.approx((0, 0.3))  # three times the mean, 0.1
    assert "Colours end at 3 times the mean share; the largest is 1." in caption(figure)
    with pytest.raises(ValueError, match=r"shares of 'x' have shape \(4,\), not \(seeds, 4\)"):
        selection_heat({"x": np.zeros(4)}, [1, 2, 3, 4], xlabel="x", title="x")
