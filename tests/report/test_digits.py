"""Tests of printed numbers: rounding noise is 0, p close to 1 is ">0.99", and small real differences keep a digit."""

import math

import numpy as np
import pandas as pd

from jfed.analysis import compare, comparisons_table, summarise, summary_table
from jfed.report.digits import format_p, is_noise, without_noise

BASE = np.array([0.81, 0.79, 0.84, 0.80, 0.82, 0.78, 0.83, 0.80])


def table(scores, base=BASE):
    rows = [("a", i, x) for i, x in enumerate(base)] + [("b", i, x) for i, x in enumerate(scores)]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"])
    made = comparisons_table(compare(frame, "accuracy", baseline="a"), "digits")
    return dict(zip(made.columns, made.rows[1], strict=True)), made


def test_a_difference_of_float_noise_is_0_and_its_p_above_099():
    turned = BASE + np.array([0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.0, 8e-8])
    cells, made = table(turned)
    assert made.data["difference"].item() > 0 and 0.99 < made.data["p_t_adjusted"].item() < 1
    assert (cells["difference"], cells["p (t)"]) == ("0.000", ">0.99")


def test_scores_that_differ_by_float_noise_do_not_add_digits():
    cells, _ = table(BASE.astype(np.float32).astype(float))
    assert (cells["mean"], cells["difference"], cells["95 % interval"]) == ("0.809", "0.000", "[0.000, 0.000]")
    frame = pd.DataFrame({"scheme": "a", "seed": range(2), "accuracy": [0.8, 0.8 + 1e-8]})
    assert summary_table(summarise(frame, "accuracy"), "digits").rows[0][3:5] == ("0.800", "0.000")


def test_a_small_difference_that_is_real_keeps_a_digit():
    shift = np.array([1e-5, -1e-5, 2e-5, -3e-5, 1e-5, 1e-5, 0, 1e-5])
    assert table(BASE + shift)[0]["difference"] not in ("0.000", "0")
    cells, _ = table(BASE + 1e-8 * np.arange(10, 18))  # shown by the test: its sign stays visible
    assert cells["verdict"] == "better" and cells["difference"] == "1e-07"
    assert without_noise(1e-8, 3, 1e-8) == 1e-8 and without_noise(100.0, 3, 1e9) == 100.0
    assert not is_noise(math.nan, 1.0) and not is_noise(1.0)


def test_p_close_to_1():
    assert [format_p(p) for p in (0.9999996, 0.991, 0.99, 0.5, 1.0, math.nan)] == [
        ">0.99", ">0.99", "0.99", "0.50", "1", ""
    ]  # fmt: skip
    assert not format_p(0.995, alpha=0.999).startswith(">")
