"""Results that cannot be compared as usual: a marked cell or a sentence, never a wrong p-value."""

import functools
import math
import re

import numpy as np
import pandas as pd
import pytest

from jfed import analysis
from jfed.analysis import (
    best_group,
    compare_times,
    comparisons_table,
    forest,
    lines,
    rank_diagram,
    summarise,
    summary_table,
    targets_table,
)
from jfed.report.formats import to_html, to_latex, to_markdown
from jfed.stats.power import seeds_for

pytestmark = pytest.mark.check
compare = functools.partial(analysis.compare, higher_is_better=True)

RNG = np.random.default_rng(5)
NAN = float("nan")


def frame(**scores):
    """Return one row per score; each scheme's seeds are 0, 1, ... or the keys of a dict."""
    rows = []
    for scheme, values in scores.items():
        seeds = values if isinstance(values, dict) else dict(enumerate(values))
        rows += [(scheme, seed, value) for seed, value in seeds.items()]
    return pd.DataFrame(rows, columns=pd.Index(["scheme", "seed", "x"]))


def noise(n=10, shift=0.0):
    return list(RNG.normal(shift, 1.0, n))


CASES = {
    "one seed": frame(a=[1.0], b=[2.0], c=[3.0]),
    "one scheme with one seed": frame(a=noise(), b=noise(), c=[1.0]),
    "unequal seeds": frame(a=noise(10), b=noise(7), c=dict(enumerate(noise(9), 4))),
    "no common seed": frame(a=noise(5), b=dict(enumerate(noise(5), 10)), c=dict(enumerate(noise(5), 20))),
    "a failed run": frame(a=[*noise(9), NAN], b=noise(10, 5), c=noise()),
    "infinite": frame(a=[*noise(9), math.inf], b=noise(10, 5), c=[-math.inf, *noise(9)]),
    "all failed": frame(a=[NAN] * 10, b=noise(), c=noise()),
    "zero variance": frame(a=[1.0] * 10, b=[2.0] * 10, c=[2.0] * 10),
    "all ties": frame(a=[3.0] * 10, b=[3.0] * 10, c=[3.0] * 10),
    "ties of integers": frame(a=[1, 2, 2, 3, 1, 2, 2, 3], b=[1, 2, 2, 3, 1, 2, 3, 3], c=[2, 2, 2, 3, 1, 2, 2, 3]),
    "constant difference": frame(a=[float(i) for i in range(10)], b=[i + 1.0 for i in range(10)], c=noise()),
    "large and small": frame(a=[1e140] * 5, b=[1e140, 2e140, 1e140, 3e140, 1e140], c=[1e-140 * i for i in range(5)]),
}


@pytest.mark.parametrize("baseline", [None, "b"])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign-flip"])
@pytest.mark.parametrize("name", CASES)
def test_every_table_and_figure_can_be_made(name, test, baseline):
    runs = CASES[name]
    if test == "sign-flip" and name == "no common seed":
        with pytest.raises(ValueError, match="needs schemes that share seeds"):
            compare(runs, "x", test=test, baseline=baseline)
        return
    found = compare(runs, "x", test=test, baseline=baseline)
    for row in found.rows:
        p = {"t": row.p_t_adjusted, "wilcoxon": row.p_wilcoxon_adjusted, "sign-flip": row.p_sign_flip_adjusted}[test]
        assert math.isnan(p) or 0 <= p <= 1
        if row.verdict in ("better", "worse"):
            assert row.n >= 2
    table = comparisons_table(found, "Made up")
    for render in (to_html, to_latex, to_markdown):
        assert not re.search(r"\b(nan|inf)\b", render(table))
    summary = summary_table(summarise(runs, "x"), "Made up")
    assert not re.search(r"\b(nan|inf)\b", to_markdown(summary))
    forest(found, "Made up")
    if found.omnibus is not None and baseline is None:
        rank_diagram(found, "Made up")
    curves = {s: np.stack([g.x.to_numpy(float)] * 3, 1) for s, g in runs.groupby("scheme")}
    lines([1, 2, 3], curves, xlabel="round", ylabel="x", title="Made up")


VERDICTS = {
    "one seed": {"too few seeds"},
    "a failed run": {"failed runs", "worse", "better", "no difference shown", "missing runs"},
    "all failed": {"failed runs", "no difference shown"},
    "all ties": {"identical"},
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name):
    found = compare(CASES[name], "x")
    assert {row.verdict for row in found.rows} <= VERDICTS[name]
    failed = [row for row in found.rows if "failed" in name and "a" in (row.scheme, row.reference)]
    assert all(row.verdict in ("worse", "failed runs") for row in failed)
    refused = compare(CASES[name], "x", failed="refuse").rows
    assert all(
        row.verdict == "failed runs" for row in refused if "failed" in name and "a" in (row.scheme, row.reference)
    )


def test_notes_name_what_is_missing():
    notes = " ".join(comparisons_table(compare(CASES["unequal seeds"], "x", paired=True), "t").notes)
    assert (
        "Seeds that b lacks and others have: 7, 8, 9, 10, 11, 12." in notes
        and "a/b: no difference shown if they are left out" in notes
    )
    notes = " ".join(comparisons_table(compare(CASES["no common seed"], "x"), "t").notes)
    assert "of independent runs, not paired by seed" in notes
    notes = " ".join(comparisons_table(compare(CASES["a failed run"], "x"), "t").notes)
    assert "Failed runs of a: seeds 9" in notes


def test_power_is_said_where_nothing_was_shown():
    rng = np.random.default_rng(1)
    runs = frame(a=rng.normal(size=5), b=rng.normal(0.3, 1, 5), c=rng.normal(9, 1, 5))
    found = compare(runs, "x", baseline="a")
    table = comparisons_table(found, "t")
    (note,) = [n for n in table.notes if n.startswith("Power:")]
    b, c = found.rows
    assert b.verdict == "no difference shown" and c.verdict == "better"
    assert note.endswith(f": b {seeds_for(b.d_z)}.")  # Holm tests b at all of 0.05, once c is rejected
    assert "with 5 seeds the t-test, corrected as here, shows a difference of 1.68" in note  # statsmodels: 1.6820
    sure = comparisons_table(compare(runs[runs.scheme != "b"], "x", baseline="a"), "t")
    assert not any(n.startswith("Power:") for n in sure.notes)


def test_a_score_that_cannot_be_squared_is_refused():
    with pytest.raises(ValueError, match=r"values beyond 1e\+150, whose squares overflow"):
        compare(frame(a=[1e300, 0.0], b=[1.0, 2.0]), "x")


def test_one_large_value_does_not_make_all_other_seeds_ties():
    small = RNG.normal(0.5, 0.01, 12)
    for a, b in ((3e6, 3e6), (3e6, 0.7)):
        one, other = (
            np.where(np.arange(12) == 3, big, small + shift).astype(np.float32)
            for big, shift in ((a, 0.0), (b, 0.2 + 0.01 * np.arange(12)))
        )
        (row,) = compare(frame(a=one.astype(float), b=other.astype(float)), "x", test="wilcoxon").rows
        assert (row.wins, row.losses) == (int(a > b), 11) and row.p_wilcoxon < 0.05


def test_ranks_that_say_the_opposite_of_the_mean():
    shifts = np.append(1 + RNG.normal(0, 0.05, 19), -100)
    base = RNG.normal(size=20)
    runs = frame(new=base + shifts, old=base)
    (row,) = (found := compare(runs, "x", test="wilcoxon")).rows
    assert row.difference < 0 and row.verdict == "better" and row.low > 0
    assert "opposite directions" in " ".join(comparisons_table(found, "t").notes)
    (row,) = compare(runs, "x", test="wilcoxon", paired=False, higher_is_better=False).rows
    assert row.rank_direction == np.sign(0.5 - row.a12)


def test_the_best_is_found_on_common_seeds():
    easy = np.append(np.zeros(10), np.full(20, 5.0)) + RNG.normal(0, 0.1, 30)
    runs = frame(a=(easy + 1)[:10], b=easy, c=easy - 1)
    found = compare(runs, "x", failed="drop")
    assert best_group(found) == {"a"} and not best_group(compare(runs, "x"))
    notes = comparisons_table(compare(runs, "x", baseline="b"), "t").notes
    assert any(note.startswith("Rows have different seeds") for note in notes)


def test_a_test_that_does_not_exist_decides_nothing():
    base = RNG.normal(size=5)
    runs = frame(base=base, b=base + 4 + RNG.normal(0, 0.1, 5), c=base - 4)
    found = compare(runs, "x", test="wilcoxon")
    assert {row.verdict for row in found.rows} == {"too few seeds"} and not best_group(found)
    assert all(np.isnan(row.low) for row in found.rows)


def test_rank_tests_need_fewer_seeds_where_the_discovery_rate_is_held():
    base = RNG.normal(size=6)
    runs = frame(base=base, **{f"s{i}": base + 1 + RNG.normal(0, 0.1, 6) for i in range(9)})
    found = compare(runs, "x", baseline="base", test="wilcoxon", correction="bh")
    assert {row.verdict for row in found.rows} == {"better"}
    assert found.rows[0].p_wilcoxon_adjusted == pytest.approx(2 / 2**6)


def test_independent_runs_name_both_numbers():
    found = compare(frame(a=noise(10), b=dict(enumerate(noise(3), 50))), "x")
    assert comparisons_table(found, "t").rows[0][2] == "10, 3"
    (row,) = compare(frame(a=noise(10), b={50: 1.0}), "x").rows
    assert row.verdict == "too few seeds"


def test_times_that_nobody_arrives_at():
    runs = frame(a=[math.inf] * 8, b=[math.inf] * 8, c=[3.0] * 7 + [NAN])
    found = compare_times(runs, "x", 10)
    assert [row.verdict for row in found.rows] == ["never reached", "failed runs", "failed runs"]
    assert np.isnan(found.rows[0].low)
    cells = {row[0]: row[2] for row in targets_table(runs, ["x"], 10, "t").rows}
    assert cells == {"a": "> 10", "b": "> 10", "c": "3 (3 to > 10; 7/8; 1 failed)"}


def test_names_and_seeds_that_look_alike():
    with pytest.raises(ValueError, match=r"1 row repeats a \(scheme, seed\), the first is \('1', 0\)"):
        compare(pd.DataFrame({"scheme": [1, "1", "b"], "seed": [0, 0, 0], "x": [1.0, 2.0, 3.0]}), "x")
    with pytest.raises(ValueError, match="some seeds are numbers and some are text"):
        compare(pd.DataFrame({"scheme": ["a", "b"], "seed": [0, "0"], "x": [1.0, 2.0]}), "x")
