"""Tests of Holm's correction, of the number of seeds it requires, and of the coverage of displayed intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels_quietly import multipletests

from jfed.analysis import compare, seeds_needed
from jfed.comparisons.family import Rule
from jfed.stats.intervals import holm


def test_holm_by_hand():
    # Sorted 0.01, 0.03, 0.04 times 3, 2, 1, then never decreasing.
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    # A missing p-value counts in the family.
    assert holm(np.array([0.01, np.nan])) == pytest.approx([0.02, np.nan], nan_ok=True)


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.004, 0.01, 0.02, 0.05, 0.4, 1.0]), min_size=1))
def test_holm_is_its_definition(p):
    smaller = [[q for q in p if q <= own] for own in p]
    least = [max(min(1, q * sum(other >= q for other in p)) for q in below) for below in smaller]
    assert holm(np.array(p)) == pytest.approx(least)


def test_holm_equals_statsmodels():
    p = [0.01, 0.4, 1e-9, 0.01, 0.004, 1.0, 0.05, 0.0]  # once: it collects garbage at each call
    assert holm(np.array(p)) == pytest.approx(multipletests(p, method="holm")[1])


def test_seeds_needed():
    assert [seeds_needed(m) for m in (1, 3, 6, 10, 15, 21, 28)] == [6, 7, 8, 9, 10, 10, 11]
    for m in (1, 2, 5, 30):
        n = seeds_needed(m, 0.01)
        assert m * 2 / 2**n < 0.01 <= m * 2 / 2 ** (n - 1)
        smallest = stats.wilcoxon(np.arange(1, n + 1)).pvalue
        assert m * smallest < 0.01
    # A p-value of alpha rejects nothing: 2 / 2**5 is 1/16, and 2 * 2 / 2**6 too.
    assert (seeds_needed(1, 1 / 16), seeds_needed(2, 1 / 16)) == (6, 7)
    with pytest.raises(ValueError, match="num_comparisons must be at least 1, got 0"):
        seeds_needed(0)
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got 0"):
        seeds_needed(3, 0)


@pytest.mark.check
@pytest.mark.parametrize("true", [(0, 2, 2, 2, 2), (0, 0, 0, 0, 0), (0.7, 0.7, 0.7, 0.7, 0.7)])
def test_displayed_intervals_cover_together(true):
    """A table's intervals cover all true differences in at least 1 - alpha of tables, within 3 standard errors."""
    rng = np.random.default_rng(1)
    alpha, n, tables = 0.2, 10, 400
    theta = np.array(true, dtype=float)
    held = 0
    for _ in range(tables):
        scores = rng.normal(size=(n, 1 + len(theta))) / np.sqrt(2)
        frame = pd.DataFrame(scores + np.append(0, theta), columns=pd.Index([f"s{j}" for j in range(1 + len(theta))]))
        tidy = frame.melt(ignore_index=False, var_name="scheme", value_name="m").rename_axis("seed").reset_index()
        rows = compare(tidy, "m", baseline="s0", higher_is_better=True, alpha=alpha).rows
        held += all(row.low <= value <= row.high for row, value in zip(rows, theta, strict=True))
    assert held / tables >= 1 - alpha - 3 * np.sqrt(alpha * (1 - alpha) / tables)


@pytest.mark.parametrize(
    ("correction", "shown", "one", "following"),
    [("holm", 0, 0.99, 0.01), ("holm", 3, 0.99, 0.025), ("bh", 0, 0.99, 0.01), ("bh", 3, 0.97, 0.04)],
)
def test_levels_of_five_comparisons_by_hand(correction, shown, one, following):
    rule = Rule(correction, 0.05, (), "obrien-fleming", False, None, True)
    assert rule.level(5, shown, 1) == pytest.approx(one)
    assert rule.next_level(5, shown) == pytest.approx(following)
