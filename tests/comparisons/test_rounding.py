"""Tests of scores that are large, tiny, or equal up to rounding: only ranks may tie."""

import numpy as np
import pytest
from scipy import stats
from test_compare import noisy, tidy

from jfed.analysis import compare


def test_rounding_ties_ranks_and_wins_alone():
    base = np.array([0.3, 0.6, 0.7, 0.9, 0.11, 0.37, 0.59])
    single = base.astype(np.float32)
    noise = np.nextafter(single, np.float32(2)).astype(float)
    row = compare(tidy({"a": noise, "b": single.astype(float)}), "accuracy").rows[0]
    d = noise - single.astype(float)
    assert row.difference == d.mean() and np.isnan(row.p_t)  # its spread is rounding, so there is no t
    assert row.verdict == "no difference shown"
    assert (row.p_wilcoxon, row.share_won) == (1.0, 0.5)
    row = compare(tidy({"a": (base + 0.1) - 0.1, "b": base}), "accuracy").rows[0]
    assert row.verdict == "identical"
    # 0.3 - 0.2 and 0.2 - 0.1 differ in the last bit and must tie, with a win each way cancelling.
    row = compare(tidy({"a": [0.3, 0.1, 0.5] * 3, "b": [0.2, 0.2, 0.5] * 3}), "accuracy").rows[0]
    assert row.p_wilcoxon == pytest.approx(1.0)
    assert row.share_won == 0.5


@pytest.mark.parametrize("step", [0.5, 0.25, 0.1])
def test_large_scores_keep_small_differences(step):
    base = 8000000.0 + step + 100.0 * np.arange(8)
    shift = np.array([3.0, 4, 5, 3, 4, 5, 3.5, 4.5])
    row = compare(tidy({"a": base + shift, "b": base}), "accuracy").rows[0]
    assert row.difference == pytest.approx(shift.mean(), rel=1e-9) and row.verdict == "better"
    assert row.p_t == pytest.approx(stats.ttest_1samp(shift, 0).pvalue, rel=1e-6)
    assert (row.p_wilcoxon, row.wins) == (2 / 2**8, 8)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e-30, 1e140])
def test_the_size_of_scores_changes_nothing(size, paired):
    frame = noisy([0.0, 0.7], 9, 1)
    row, scaled = (
        compare(frame.assign(accuracy=frame.accuracy * unit), "accuracy", paired=paired).rows[0] for unit in (1.0, size)
    )
    for name in ("t", "p_t", "p_wilcoxon", "a12", "wins", "p_t_adjusted", "verdict"):
        assert getattr(scaled, name) == pytest.approx(getattr(row, name)), name
    for name in ("difference", "sd_scheme", "sd_reference", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(size * getattr(row, name), rel=1e-9, abs=0), name
    if paired:
        assert (scaled.d_z, scaled.correlation) == pytest.approx((row.d_z, row.correlation))
        assert scaled.variance_saved == pytest.approx(row.variance_saved)
