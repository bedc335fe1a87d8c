"""Tests of printed tables in a narrow terminal: they wrap or are split, and no word of them is lost."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from jfed.analysis import Table, to_terminal
from jfed.report.targets import targets_table

TARGETS = [f"rounds to {percent} %" for percent in (65, 75, 85)]


def printed(table: Table, width: int) -> list[str]:
    text = io.StringIO()
    to_terminal(table, Console(file=text, width=width))
    return text.getvalue().splitlines()


def test_rounds_to_three_targets_are_whole_at_80_columns():
    rounds = [1045, 1045, np.inf, 1235, 1100]
    rows = [("e3cs-0.5 (corrected)", seed, *3 * [r]) for seed, r in enumerate(rounds)]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", *TARGETS])
    lines = printed(targets_table(frame, TARGETS, 2500, "Rounds to accuracy (digits)"), 80)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert text.count("1100 (1045 to > 2500; 4/5)") == 3
    assert all(text.count(percent) == 1 for percent in ("65 %", "75 %", "85 %"))
    assert text.count("Rounds to accuracy") == 1 and text.count("First round at or above") == 1
    assert sum(line.startswith(" scheme") for line in lines) == 2  # split, with the schemes again


@pytest.mark.parametrize("width", [200, 80, 60, 40])
@pytest.mark.parametrize("align", ["l" + "r" * 11, "ll" + "r" * 9 + "l", "l" * 12])
def test_many_columns_are_whole_at_every_width(width, align):
    columns = ("scheme", *(f"head{j}" for j in range(10)), "95 % interval")
    rows = tuple((f"scheme-{i}", *(f"cell{i}.{j}" for j in range(11))) for i in range(3))
    lines = printed(Table("A title", columns, align, rows, ("A note.",)), width)
    words = " ".join(lines).split()
    assert max(map(len, lines)) <= width
    for word in [*columns[:-1], "interval", *(cell for row in rows for cell in row)]:
        assert word in words
    assert words.count("cell0.5") == 1


def test_the_verdict_is_in_the_upper_part():
    columns = ("scheme", *(f"number{j}" for j in range(9)), "verdict")
    rows = tuple((f"scheme-{i}", *("0.123" for _ in range(9)), "not shown") for i in range(2))
    lines = printed(Table("A title", columns, "l" + "r" * 9 + "l", rows, ()), 60)
    heads = [line.split() for line in lines if line.startswith(" scheme ")]
    assert [head[-1] for head in heads] == ["verdict", "number8"] and heads[0][:2] == ["scheme", "number0"]
    wide = printed(Table("A title", columns, "l" + "r" * 9 + "l", rows, ()), 200)
    assert [line.split() for line in wide if line.startswith(" scheme ")] == [list(columns)]


def test_a_word_longer_than_the_terminal_is_folded():
    table = Table("T", ("scheme", "x"), "lr", (("s" * 50, "1.25"),), ())
    lines = printed(table, 20)
    assert max(map(len, lines)) <= 20
    assert "".join(lines).count("s") == 50 + 1 and "1.25" in "".join(lines)


def test_a_table_that_fits_is_printed_on_one_line_per_row():
    lines = printed(Table("T", ("scheme", "95 % interval"), "lr", (("a b", "[1, 2]"),), ()), 80)
    assert "a b     " in lines[4] and "[1, 2]" in lines[4] and "95 % interval" in lines[2]
