"""`jfed table` on anybody's CSV, `jfed export`, `jfed claims`: what is printed, and one sentence for a mistake."""

import sys

import pandas as pd
import pytest

import jfed
from jfed import cli


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["jfed", *map(str, arguments)])
    cli.main()
    return capsys.readouterr().out


@pytest.fixture
def scores(tmp_path):
    rows = [(s, i, 10 * (s == "new") + i + (i * len(s)) % 3) for s in ("old", "new", "other") for i in range(9)]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["scheme", "seed", "loss"]).to_csv(path, index=False)
    return path


def test_a_table_from_a_csv(monkeypatch, capsys, scores):
    said = run(monkeypatch, capsys, "table", "--out", scores, "--metric", "loss", "--baseline", "old")
    assert "lower is better" in said and "worse" in said and "scheme minus old" in said
    others = ("--baseline", "all", "--lower", "False", "--test", "sign-flip", "--correction", "bh")
    said = run(monkeypatch, capsys, "table", "--out", scores, "--metric", "loss", *others)
    assert "higher is better" in said and "p (F)" in said and "Benjamini-Hochberg" in said


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (None, (), "There is no file"),
        ("", (), "is not a CSV table with rows"),
        ("a,b\n1,2\n", (), "the frame has no column 'scheme'"),
        ("scheme,seed,loss\nx,0,1\ny,0,2\n", ("--metric", "los"), "no metric 'los'; did you mean 'loss'"),
        ("scheme,seed,loss\nx,0,1\nx,0,2\ny,0,1\n", (), "1 rows repeat a (scheme, seed)"),
        ("scheme,seed,loss\nx,0,u\ny,0,2\n", (), "metric 'loss' is not numeric"),
        ("scheme,seed,loss\nx,0,1\ny,0,2\n", ("--baseline", "z"), "no scheme 'z'"),
        ("scheme,seed,loss\nx,0,1\ny,0,2\n", ("--alpha", "2"), "alpha must lie strictly between 0 and 1"),
    ],
)
def test_mistakes_are_one_sentence(monkeypatch, capsys, tmp_path, content, arguments, sentence):
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_text(content)
    given = {"--metric": "loss", "--baseline": "x"} | dict(zip(arguments[::2], arguments[1::2], strict=True))
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, capsys, "table", "--out", path, *(x for pair in given.items() for x in pair))
    assert str(stopped.value).startswith("error: ") and sentence in str(stopped.value)


def test_export_and_claims(monkeypatch, capsys, tmp_path):
    base = jfed.Config(num_clients=6, cohort_size=2, num_rounds=3)
    jfed.run(jfed.methods(base, ["uniform"]), range(2), out=tmp_path, progress=False)
    said = run(monkeypatch, capsys, "export", "--out", tmp_path, "--to", tmp_path / "rounds.csv")
    assert "6 rows" in said and len(pd.read_csv(tmp_path / "rounds.csv")) == 6
    with pytest.raises(SystemExit, match="record_selected"):
        run(monkeypatch, capsys, "export", "--out", tmp_path, "--to", tmp_path / "x.csv", "--rows", "selections")
    said = run(monkeypatch, capsys, "claims")
    assert "not run" in said and "E-19" in said
    with pytest.raises(SystemExit, match="There is no per-run table at"):
        run(monkeypatch, capsys, "claims", tmp_path)
