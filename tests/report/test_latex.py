"""Every kind of table compiles in LaTeX, with all letters that a name may have."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import (
    Table,
    across,
    across_table,
    compare,
    compare_levels,
    comparisons_table,
    first_reached,
    summarise,
    summary_table,
    targets_table,
    to_latex,
    wide_table,
)

pytestmark = pytest.mark.proof
PROGRAM = shutil.which("pdflatex") or shutil.which("tectonic")
ODD = "a_b%c&d#e$f{g}h~i^j\\k|l<m>n`o'p''q\"r--s [t] *u* é ß Ω λ 测 🙂 ± ⁺"
LETTERS = [(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x400), (0x400, 0x410), (0x2010, 0x2030), (0x2190, 0x2200)]


def frame(metric: str = "accuracy") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(s, seed, d, rng.uniform()) for s in ("uniform", ODD, "[a", "*b") for seed in range(6) for d in ("x", "y")]
    return pd.DataFrame(rows, columns=["scheme", "seed", "dataset", metric])


def tables() -> dict[str, Table]:
    whole, one = frame(), frame().query("dataset == 'x'")
    rounds = one.assign(**{"rounds to 65 %": first_reached([1, 2], np.stack([one.accuracy] * 2, 1), 0.65)})
    letters = [chr(i) for start, end in LETTERS for i in range(start, end)]
    lines = tuple(("".join(letters[i : i + 16]), f"{i}") for i in range(0, len(letters), 16))
    return {
        "baseline": comparisons_table(compare(one, "accuracy", baseline="uniform"), ODD),
        "pairs": comparisons_table(compare(one, "accuracy"), ODD),
        "few": comparisons_table(compare(one[one.seed < 2], "accuracy", baseline="uniform"), "Two seeds"),
        "summary": summary_table(summarise(one, "accuracy"), ODD, compare(one, "accuracy")),
        "across": across_table(across(whole, "accuracy", by="dataset", baseline="uniform"), ODD),
        "targets": targets_table(rounds, ["rounds to 65 %"], 2, ODD),
        "wide": wide_table(compare_levels({ODD: one, "[y]": one}, "accuracy", baseline="uniform"), ODD),
        "letters": Table("letters", ("letters", "n"), "lr", lines[:40], ()),
        "more letters": Table("letters", ("letters", "n"), "lr", lines[40:], ()),
    }


@pytest.mark.skipif(PROGRAM is None, reason="there is neither pdflatex nor tectonic here")
def test_all_tables_compile(tmp_path):
    assert PROGRAM is not None
    made = "\n".join(to_latex(table, label=f"{name} {ODD}") for name, table in tables().items())
    page = f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{made}\\end{{document}}\n"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    options = ["-interaction=nonstopmode", "-halt-on-error"] if PROGRAM.endswith("pdflatex") else []
    done = subprocess.run([PROGRAM, *options, "page.tex"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "page.pdf").stat().st_size > 10_000
    assert "Missing character" not in done.stdout
