"""Tests of comparisons at planned looks and at any time, through `compare`."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.analysis import anytime, anytime_p, compare, comparisons_table
from jfed.stats.spending import levels

LOOKS = (10, 20, 30)


def tidy(columns):
    """Return a tidy frame from scores by scheme; schemes may have different numbers of seeds, from 0."""
    rows = [(scheme, i, x) for scheme, values in columns.items() for i, x in enumerate(values)]
    return pd.DataFrame(rows, columns=pd.Index(["scheme", "seed", "accuracy"]))


def scores(n, effects, seed=0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return {name: common + effect + rng.normal(size=n) for name, effect in effects.items()}


def test_each_look_counts_its_first_seeds():
    made = scores(20, {"base": 0.0, "new": 0.8})
    (row,) = compare(tidy(made), "accuracy", baseline="base", looks=LOOKS).rows
    d = made["new"] - made["base"]
    first, second = (stats.ttest_1samp(d[:n], 0).pvalue for n in (10, 20))
    at = levels((10, 20), 30)
    assert row.n == 20 and row.p_t == pytest.approx(second)
    assert (row.p_adjusted < 0.05) == (first < at[0] or second < at[1])
    ends = stats.ttest_1samp(d, 0).confidence_interval(1 - at[1])
    assert (row.low, row.high) == pytest.approx((ends.low, ends.high))


def test_before_the_last_look_nothing_is_not_shown():
    made = scores(30, {"base": 0.0, "equal": 0.0, "far": 9.0})
    for n, open_word in (
        (5, "not yet decided"),
        (10, "not yet decided"),
        (29, "not yet decided"),
        (30, "no difference shown"),
    ):
        found = compare(tidy({s: x[:n] for s, x in made.items()}), "accuracy", baseline="base", looks=LOOKS)
        equal, far = found.rows
        assert equal.verdict == open_word and far.verdict == ("better" if n >= 10 else "not yet decided")
        assert equal.n == far.n == max([5, *(look for look in LOOKS if look <= n)])
    notes = " ".join(comparisons_table(found, "t").notes)
    assert "Planned looks at 10, 20, 30 seeds, O'Brien-Fleming-like spending" in notes and "Power" not in notes


def test_a_scheme_that_stopped_early_has_no_missing_runs():
    made = scores(30, {"base": 0.0, "far": 9.0, "equal": 0.0})
    made["far"] = made["far"][:10]
    far, equal = compare(tidy(made), "accuracy", baseline="base", looks=LOOKS).rows
    assert (far.verdict, far.n, far.missing_scheme) == ("better", 10, ())
    assert (equal.verdict, equal.n) == ("no difference shown", 30)
    plain = compare(tidy(made), "accuracy", baseline="base").rows[0]
    assert plain.missing_scheme == tuple(range(10, 30))
    hole = tidy(made)
    hole = hole[~((hole.scheme == "far") & (hole.seed == 3))]
    assert compare(hole, "accuracy", baseline="base", looks=(9, 30)).rows[0].missing_scheme == (3,)


def test_what_was_shown_at_a_look_stays_shown():
    strong = np.linspace(3.0, 3.9, 10)
    back = np.concatenate([strong, -strong - 2, np.zeros(10)])  # the effect turns around after the first look
    found = compare(tidy({"base": np.zeros(30), "new": back}), "accuracy", baseline="base", looks=LOOKS)
    assert found.rows[0].p_t > 0.05 and found.rows[0].p_adjusted < 0.05


def test_always_valid_p_and_its_interval():
    made = scores(15, {"base": 0.0, "a": 1.5, "b": 0.2})
    found = compare(tidy(made), "accuracy", baseline="base", anytime=True)
    p = [float(anytime_p(made[s] - made["base"])[-1]) for s in "ab"]
    assert [row.p_t for row in found.rows] == pytest.approx(p)
    assert [row.p_adjusted for row in found.rows] == pytest.approx([min(1, 2 * p[0]), max(p[1], min(1, 2 * p[0]))])
    ends = anytime(made["a"] - made["base"], 0.05 / 2)
    assert (found.rows[0].low, found.rows[0].high) == pytest.approx((ends.low[-1], ends.high[-1]))
    table = comparisons_table(found, "t")
    assert "p (W)" not in table.columns and any("always valid" in note for note in table.notes)
    few = compare(tidy({s: x[:1] for s, x in made.items()}), "accuracy", baseline="base", anytime=True)
    assert {row.verdict for row in few.rows} == {"too few seeds"} and math.isnan(few.rows[0].low)


def test_wilcoxon_at_looks():
    made = scores(20, {"base": 0.0, "new": 2.0})
    (row,) = compare(tidy(made), "accuracy", baseline="base", looks=(5, 20), test="wilcoxon").rows
    assert row.verdict == "better" and row.decided_by == "wilcoxon" and row.low > 0


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"looks": (10, 10)}, "must be increasing whole numbers"),
        ({"looks": (10, 20), "correction": "bh"}, "planned looks need Holm's correction"),
        ({"looks": (10, 20), "anytime": True}, "planned looks and anytime exclude each other"),
        ({"anytime": True, "test": "wilcoxon"}, "anytime is for the t-test, without a margin"),
        ({"anytime": True, "margin": 0.1}, "anytime is for the t-test, without a margin"),
        ({"looks": (10, 20), "paired": False}, "planned looks and anytime need schemes that share seeds"),
    ],
)
def test_choices_that_do_not_go_together(choices, message):
    with pytest.raises(ValueError, match=message):
        compare(tidy(scores(20, {"base": 0.0, "new": 1.0})), "accuracy", **choices)


def test_runs_that_share_seeds_are_compared_once():
    frame = tidy(scores(16, {"base": 0.0, "new": 1.0}))
    frame = frame.assign(data_seed=frame.seed // 4, model_seed=frame.seed % 4)
    with pytest.raises(ValueError, match="runs share data_seed and model_seed: only the t-test has a form"):
        compare(frame, "accuracy", looks=(4, 16))
