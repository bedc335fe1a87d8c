"""Tests of the deciding test, the correction of a family, independent runs, censored times, and their table notes."""

import functools
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels_quietly import multipletests

from jfed import analysis
from jfed.analysis import compare_times, comparisons_table, to_html
from jfed.stats.omnibus import friedman
from jfed.stats.power import detectable, seeds_for
from jfed.stats.signflip import sign_flip

pytestmark = pytest.mark.check
compare = functools.partial(analysis.compare, higher_is_better=True)


def tidy(effects, n=12, seed=0, apart=()):
    """Return scores of each scheme; the schemes in `apart` have their own seeds."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    rows = [
        (scheme, i + 1000 * (scheme in apart), common[i] + effect + rng.normal())
        for scheme, effect in effects.items()
        for i in range(n)
    ]
    return pd.DataFrame(rows, columns=["scheme", "seed", "m"])


def wide(frame):
    return frame.pivot(index="seed", columns="scheme", values="m")


@given(
    effects=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=2, max_size=5),
    test=st.sampled_from(["t", "wilcoxon", "sign-flip"]),
    correction=st.sampled_from(["holm", "bh"]),
    n=st.integers(3, 14),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=25)
def test_verdict_interval_and_corrected_p_agree(effects, test, correction, n, seed):
    frame = tidy({f"s{i}": e for i, e in enumerate(effects)}, n, seed)
    result = compare(frame, "m", test=test, correction=correction)
    field = {"t": "p_t", "wilcoxon": "p_wilcoxon", "sign-flip": "p_sign_flip"}[test]
    raw = np.array([getattr(row, field) for row in result.rows])
    if not np.isnan(raw).any():
        expected = multipletests(raw, method={"holm": "holm", "bh": "fdr_bh"}[correction])[1]
        assert [getattr(row, f"{field}_adjusted") for row in result.rows] == pytest.approx(list(expected))
    for row in result.rows:
        shown = getattr(row, f"{field}_adjusted") < 0.05
        assert (row.verdict in ("better", "worse")) == shown
        assert not (row.low > 0 or row.high < 0) or shown
        assert row.wins + row.ties + row.losses == row.n


def test_sign_flips_and_effect_sizes():
    frame = tidy({"a": 0.0, "b": 0.7})
    row, scores = compare(frame, "m", test="sign-flip").rows[0], wide(frame)
    assert row.p_sign_flip == pytest.approx(sign_flip(scores.a - scores.b).p)
    assert row.sign_flip_exact
    assert row.a12 == pytest.approx(np.mean([[x > y for y in scores.b] for x in scores.a]))
    assert compare(frame, "m", higher_is_better=False).rows[0].a12 == pytest.approx(1 - row.a12)
    assert row.wins == (scores.a > scores.b).sum()
    assert row.iqm_difference == pytest.approx(stats.trim_mean(scores.a - scores.b, 0.25))


@pytest.mark.parametrize(
    ("effects", "shown"),
    [({"b": 3.0, "c": 0.0}, 1), ({"b": 3.0, "c": 0.0, "d": 3.0}, 2), ({"b": 0.0, "c": 0.0, "d": 0.0}, 0)],
)
def test_false_coverage_rate_intervals(effects, shown):
    """If R of m comparisons show a difference, all intervals have the level 1 - alpha max(R, 1) / m."""
    frame = tidy({"a": 0.0, **effects}, seed=1)
    rows = compare(frame, "m", baseline="a", correction="bh").rows
    assert [row.verdict for row in rows] == ["better" if e else "no difference shown" for e in effects.values()]
    assert sum(row.verdict == "better" for row in rows) == shown
    scores, level = wide(frame), 1 - 0.05 * max(shown, 1) / len(effects)
    for row in rows:
        ci = stats.ttest_rel(scores[row.scheme], scores.a).confidence_interval(level)
        assert (row.low, row.high) == pytest.approx((ci.low, ci.high))


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign-flip"])
@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_seeds_wanted_are_those_of_the_deciding_test_and_its_correction(test, correction):
    frame = tidy({"a": 0.0, "b": 0.3, "c": 5.0, "d": 4.0}, n=14, seed=1)
    found = compare(frame, "m", baseline="a", test=test, correction=correction)
    b, c, d = found.rows
    assert (b.verdict, c.verdict, d.verdict) == ("no difference shown", "better", "better")
    # Two of three are rejected: Holm tests the last one at all of alpha, Benjamini and Hochberg's procedure too.
    assert b.next_alpha == pytest.approx(0.05) and c.next_alpha == pytest.approx(
        0.05 / (2 if correction == "holm" else 1.5)
    )
    (note,) = [n for n in comparisons_table(found, "x").notes if n.startswith("Power")]
    wanted, least = seeds_for(b.d_z, test=test), detectable(14, test=test)
    assert (
        note.endswith(f"need this many seeds to show them: b {wanted}.")
        and f"a difference of {least:.2f} standard" in note
    )


def test_the_omnibus_ranks_the_smallest_loss_first():
    frame = pd.DataFrame([(s, i, 10 * j + (i * j) % 7) for i in range(6) for j, s in enumerate("abc")])
    frame.columns = ["scheme", "seed", "m"]
    ranks = {up: compare(frame, "m", higher_is_better=up).omnibus for up in (True, False)}
    assert ranks[True] is not None and ranks[True].mean_ranks == (3.0, 2.0, 1.0)
    assert ranks[False] is not None and ranks[False].mean_ranks == (1.0, 2.0, 3.0)


def test_runs_without_common_seeds_are_independent():
    frame = tidy({"a": 0.0, "b": 2.0, "c": 0.0}, apart=("b",))
    with pytest.raises(ValueError, match=r"b and a share no seed: they cannot be paired\. .*--paired False"):
        compare(frame, "m", baseline="a")  # c shares its seeds with a
    result = compare(frame, "m", baseline="a", paired=False)
    assert not compare(frame[frame.scheme != "c"], "m").paired
    row = result.rows[0]
    a, b = (frame.m[frame.scheme == s] for s in "ab")
    welch = stats.ttest_ind(b, a, equal_var=False)
    assert not result.paired and {row.design for row in result.rows} == {"independent"}
    assert (row.t, row.p_t) == pytest.approx((welch.statistic, welch.pvalue))
    ci = welch.confidence_interval(1 - 0.05 / 2)
    assert (row.low, row.high) == pytest.approx((ci.low, ci.high))
    assert row.p_wilcoxon == pytest.approx(stats.mannwhitneyu(b, a).pvalue)
    assert math.isnan(row.correlation) and math.isnan(row.p_sign_flip) and row.verdict == "better"
    notes = " ".join(comparisons_table(result, "x").notes)
    assert "of independent runs, not paired by seed" in notes and "Welch" in notes and "Pairing" not in notes
    with pytest.raises(ValueError, match="b and a share no seed: they cannot be paired"):
        compare(frame, "m", baseline="a", paired=True)
    with pytest.raises(ValueError, match="needs schemes that share seeds"):
        compare(frame, "m", test="sign-flip", paired=False)
    again = compare(frame[frame.scheme != "b"], "m", paired=False).rows[0]
    assert again.design == "independent" and again.p_t == pytest.approx(
        stats.ttest_ind(a, wide(frame).c.dropna(), equal_var=False).pvalue
    )


def test_what_tables_say_of_the_family():
    frame = tidy({"a": 0.0, "b": 0.5, "c": 2.0})
    notes = " ".join(comparisons_table(compare(frame, "m"), "x").notes)
    scores = wide(frame)
    correlations = [scores[x].corr(scores[y]) for x, y in ("ab", "ac", "bc")]
    assert f"correlate by {min(correlations):.2f} to {max(correlations):.2f} over seeds" in notes
    found = friedman(scores.to_numpy())
    assert f"F({found.df_f[0]}, {found.df_f[1]}) = {found.f:.3g}" in notes and "not independent data sets" in notes
    table = comparisons_table(compare(frame, "m", test="sign-flip", correction="bh"), "x")
    assert "p (S)" in table.columns and "p (W)" not in table.columns
    notes = " ".join(table.notes)
    assert "Benjamini-Hochberg-corrected" in notes and "Verdict by the sign-flip test" in notes
    assert "false coverage rate), not simultaneous" in notes


@pytest.mark.parametrize("change", [{"test": "z"}, {"correction": "none"}])
def test_unknown_choices(change):
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} must be one of .*, got '{change[name]}'"):
        compare(tidy({"a": 0.0, "b": 0.0}), "m", **change)


def test_times_are_restricted_not_dropped():
    n = 8
    rows = [("a", i, 20.0 + i) for i in range(n)] + [("b", i, 30.0 if i < 3 else np.inf) for i in range(n)]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "rounds"])
    (row,) = compare_times(frame, "rounds", 50).rows
    differences = np.array([20.0 + i - (30 if i < 3 else 50) for i in range(n)])
    assert row.difference == pytest.approx(differences.mean())
    assert row.p_sign_flip == pytest.approx(2 / 2**n) and row.verdict == "better"  # fewer rounds
    with pytest.raises(ValueError, match="reaches 'rounds' after the horizon of 25"):
        compare_times(frame, "rounds", 25)
    frame.loc[0, "rounds"] = np.nan  # a failed run is not a late one
    assert compare_times(frame, "rounds", 50).rows[0].verdict == "failed runs"


def test_html_escapes_and_keeps_every_cell():
    table = comparisons_table(compare(tidy({"a<b": 0.0, "c&d": 2.0}), "m"), "K > 1")
    page = to_html(table)
    assert "a&lt;b" in page and "c&amp;d" in page and "K &gt; 1" in page and "a<b" not in page
    assert len(re.findall("<td", page)) == len(table.rows) * len(table.columns)
    assert page.count("<th") - page.count("<thead") == len(table.columns)
    assert page.count("<p>") == len(table.notes)
