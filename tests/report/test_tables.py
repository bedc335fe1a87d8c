"""Tests of tables in five formats: number formats, notes and layout."""

import io
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from jfed.analysis import (
    Table,
    compare,
    comparisons_table,
    summarise,
    summary_table,
    to_csv,
    to_latex,
    to_markdown,
    to_terminal,
    write,
)
from jfed.stats.numerals import decimals_for, format_interval, format_number, format_p

SCHEMES = ["uniform", "fedcs", "pow-d", "e3cs-0", "e3cs-0.5 (corrected)", "e3cs-0.8", "e3cs-inc"]
TITLE = "Final accuracy, CIFAR-10 (non-iid), 2500 rounds"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    base = rng.normal(0.7, 0.02, 20)
    effects = dict(zip(SCHEMES, (0, -0.03, -0.01, 0.012, 0.009, 0.004, 0), strict=True))
    rows = [
        {"scheme": s, "seed": i, "accuracy": base[i] + effects[s] + rng.normal(0, 0.011)}
        for s in SCHEMES
        for i in range(20)
    ]
    return pd.DataFrame(rows)


def terminal(table: Table, width: int) -> list[str]:
    text = io.StringIO()
    to_terminal(table, Console(file=text, width=width))
    return text.getvalue().splitlines()


def test_p_values():
    texts = {0.0031: "0.0031", 9e-5: "<1e-4", 0.0: "<1e-4", 0.02: "0.020", 0.4: "0.40", 1.0: "1"}
    assert {p: format_p(p) for p in texts} == texts
    assert format_p(math.nan) == ""
    assert format_p(0.04996) == "0.04996"
    assert format_p(0.9999) == "0.9999"


@settings(deadline=None, max_examples=100)
@given(st.floats(0, 1), st.sampled_from([0.01, 0.05, 0.1]))
def test_a_printed_p_value_is_on_its_side_of_alpha(p, alpha):
    text = format_p(p, alpha)
    if text.startswith("<"):
        assert p < 1e-4
    else:
        assert float(text) > 0
        assert (float(text) < alpha) == (p < alpha)
        assert float(text) == pytest.approx(p, rel=0.06)


def test_numbers():
    assert format_number(0.123456, 3) == "0.123"
    assert format_number(-0.0001, 2) == "-0.0001"
    assert format_number(0.0, 2) == "0.00"
    assert format_number(math.nan, 2) == ""
    assert [decimals_for([x]) for x in (0.021, 3.0, 250.0, math.nan, 0.0)] == [3, 1, 0, 3, 3]
    assert format_interval(-1, 2, 1) == "[-1.0, 2.0]"
    assert format_interval(math.nan, math.nan, 1) == ""


@pytest.mark.parametrize("width", [100, 80])
def test_seven_schemes_fit_a_terminal(frame, width):
    table = comparisons_table(compare(frame, "accuracy", baseline="uniform"), TITLE)
    out = terminal(table, width)
    assert max(map(len, out)) <= width
    assert not any("…" in line for line in out)
    whole = " ".join(" ".join(out).split())
    for text in ("Metric: accuracy", "Holm", "n = 20", "[-0.040", "baseline", "better"):
        assert text in whole


def test_notes_name_metric_family_correction_interval_and_n(frame):
    table = comparisons_table(result := compare(frame, "accuracy", baseline="uniform"), TITLE)
    notes = " ".join(table.notes)
    for text in ("accuracy (higher is better)", "Holm-corrected over these 6 comparisons",
                 "simultaneous 95 %, Bonferroni over 6", "n = 20 seeds", "minus uniform",
                 "Metric: accuracy (higher"):  # fmt: skip
        assert text in notes
    assert table.rows[0][:3] == ("uniform", "0.698", "0.025") and table.rows[0][-1] == "baseline"
    assert set(table.rows[0][3:-1]) == {"-"}
    for primary, words in (("accuracy", "Primary metric: accuracy"), ("loss", "Secondary metric: accuracy")):
        (note, *_) = comparisons_table(result, TITLE, primary=primary).notes
        assert note.startswith(words) and ("The primary metric is loss" in note) == (primary == "loss")
    assert "0.000" not in {cell for row in table.rows for cell in row}


def test_csv_is_exact_and_names_the_title(frame):
    result = compare(frame, "accuracy")
    back = pd.read_csv(io.StringIO(to_csv(comparisons_table(result, TITLE))))
    assert len(back) == 21
    assert set(back["table"]) == {TITLE}
    assert back["p_t_adjusted"].tolist() == [row.p_t_adjusted for row in result.rows]
    assert back["low"].tolist() == [row.low for row in result.rows]


def test_markdown(frame):
    text = to_markdown(comparisons_table(compare(frame, "accuracy", baseline="uniform"), TITLE))
    lines = text.splitlines()
    assert lines[0] == f"**{TITLE}**"
    assert lines[3].startswith("| :--- | ---: |")
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert "| **better** |" in text
    odd = Table("a|b", ("x_y",), "l", (("1*2",),), ())
    assert to_markdown(odd) == "**a\\|b**\n\n| x\\_y |\n| :--- |\n| 1\\*2 |\n\n\n"


def test_latex_escapes_and_bold():
    table = Table(
        title="50 % of $x_1$ & η ~ \\{a}^2 #1",
        columns=("a", "b"),
        align="lr",
        rows=(("e3cs-0.5", "-0.5"), ("[-1, 2]", "<1e-4")),
        notes=("n >= 8 < 9",),
        bold=frozenset({(0, 1)}),
    )
    text = to_latex(table, label="t")
    assert (
        r"\caption{50 \% of \$x\_1\$ \& $\eta$ \textasciitilde{} "
        r"\textbackslash{}\{a\}\textasciicircum{}2 \#1}"
    ) in text
    assert r"\label{tab:t}" in text
    assert r"e3cs-0.5 & \textbf{$-$0.5} \\" in text
    assert r"{[}$-$1, 2] & $<10^{-4}$ \\" in text
    assert r"n $\geq$ 8 \textless{} 9" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == 1


def test_summary_bolds_the_best_and_its_equals(frame):
    every_pair = compare(frame, "accuracy")
    table = summary_table(summarise(frame, "accuracy"), TITLE, every_pair)
    bold = {table.rows[i][0] for i, _ in table.bold}
    assert bold == {"e3cs-0", "e3cs-0.5 (corrected)", "e3cs-0.8"}
    assert "21 comparisons" in table.notes[-1]
    assert r"\textbf{0.710}" in to_latex(table)
    assert summary_table(summarise(frame, "accuracy"), TITLE).bold == frozenset()
    other = summarise(frame.assign(loss=1.0), "loss")
    with pytest.raises(ValueError, match="the summary is about 'loss', comparisons about 'accuracy'"):
        summary_table(other, TITLE, every_pair)


def test_odd_rows_are_explained(frame):
    few = frame[(frame.seed < 5) & ~((frame.scheme == "fedcs") & (frame.seed > 0))].copy()
    base = few.loc[few.scheme == "uniform", "accuracy"].to_numpy()
    few.loc[(few.scheme == "pow-d") & (few.seed == 2), "accuracy"] = math.nan
    few.loc[few.scheme == "e3cs-inc", "accuracy"] = base
    few.loc[few.scheme == "e3cs-0.8", "accuracy"] = base + 0.01
    table = comparisons_table(compare(few, "accuracy", baseline="uniform"), TITLE)
    verdicts = {row[0]: row[-1] for row in table.rows}
    assert verdicts["fedcs"] == "missing runs"
    assert verdicts["pow-d"] == "failed runs"
    assert verdicts["e3cs-inc"] == "identical"
    notes = " ".join(table.notes)
    fewer = ("n >= 8: with fewer the Wilcoxon test", "A t-test needs at least 2 seeds")
    for text in (*fewer, "Failed runs of pow-d: seeds 2", "Seeds that fedcs lacks and others have: 1, 2, 3, 4",
                 "difference is constant", "n = 1 to 5"):  # fmt: skip
        assert text in notes
    assert table.columns[3] == "n"
    for width in (100, 80):
        assert not any("…" in line for line in terminal(table, width))
    left_out = summary_table(summarise(few, "accuracy"), TITLE).notes[-1]
    assert left_out == "Failed runs of pow-d, left out: seeds 2."


@pytest.mark.parametrize(("n", "words"), [(2, "can show hardly anything"), (20, "shows a difference of")])
def test_so_few_seeds_that_they_show_hardly_anything_are_said_in_words(frame, n, words):
    """Two seeds would need a difference of dozens of standard deviations, which no reader can imagine."""
    notes = " ".join(comparisons_table(compare(frame[frame.seed < n], "accuracy", baseline="uniform"), TITLE).notes)
    assert f"Power: with {n} seeds the t-test, corrected as here, {words}" in notes
    found = re.search(r"a difference of ([\d.]+) standard deviations", notes)
    assert found is not None and float(found[1]) <= 3


def test_write(frame, tmp_path):
    table = comparisons_table(compare(frame, "accuracy", baseline="uniform"), TITLE)
    paths = write(table, tmp_path / "tables", "final")
    assert {kind: path.name for kind, path in paths.items()} == {
        "csv": "final.csv",
        "md": "final.md",
        "tex": "final.tex",
        "html": "final.html",
    }
    assert r"\label{tab:final}" in paths["tex"].read_text()
    assert all(TITLE.split(",")[0] in path.read_text() for path in paths.values())
