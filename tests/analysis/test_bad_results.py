"""Results that are not what a comparison hopes for: a marked cell or a sentence, never a wrong p-value."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import compare, comparisons_table, forest, lines, rank_diagram, summarise, summary_table
from jfed.analysis.formats import to_html, to_latex, to_markdown

RNG = np.random.default_rng(5)
NAN = float("nan")


def frame(**scores):
    """One row per score; each scheme's seeds are 0, 1, ... or the keys of a dict."""
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
            assert row.n >= 2 and not row.failed_scheme and not row.failed_reference
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
    "a failed run": {"failed runs", "worse", "better", "no difference shown"},
    "all failed": {"failed runs", "no difference shown"},
    "all ties": {"identical"},
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name):
    found = compare(CASES[name], "x")
    assert {row.verdict for row in found.rows} <= VERDICTS[name]
    failed = [row for row in found.rows if "failed" in name and "a" in (row.scheme, row.reference)]
    assert all(row.verdict == "failed runs" for row in failed)


def test_notes_name_what_is_missing():
    notes = " ".join(comparisons_table(compare(CASES["unequal seeds"], "x", paired=True), "t").notes)
    assert "Seeds that only one of the two has, left out: 3 (a, b)" in notes
    notes = " ".join(comparisons_table(compare(CASES["no common seed"], "x"), "t").notes)
    assert "independent runs" in notes
    notes = " ".join(comparisons_table(compare(CASES["a failed run"], "x"), "t").notes)
    assert "Failed runs of a: seeds 9" in notes


def test_power_is_said_where_nothing_was_shown():
    rng = np.random.default_rng(1)
    runs = frame(a=rng.normal(size=5), b=rng.normal(0.3, 1, 5), c=rng.normal(9, 1, 5))
    found = compare(runs, "x", baseline="a")
    table = comparisons_table(found, "t")
    (note,) = [n for n in table.notes if n.startswith("Power:")]
    b, c = found.rows
    assert b.verdict == "no difference shown" and f"b {b.seeds_wanted:g}" in note and "c" not in note.split(":")[-1]
    assert "5 seeds show a difference of 2.05 standard deviations" in note  # statsmodels: 2.0500 at 0.05 / 2
    assert c.verdict == "better" and c.seeds_wanted <= 5
    sure = comparisons_table(compare(runs[runs.scheme != "b"], "x", baseline="a"), "t")
    assert not any(n.startswith("Power:") for n in sure.notes)


def test_a_score_that_cannot_be_squared_is_refused():
    with pytest.raises(ValueError, match=r"values beyond 1e\+150, whose squares overflow"):
        compare(frame(a=[1e300, 0.0], b=[1.0, 2.0]), "x")
