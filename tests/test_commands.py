"""`jfed table` on any CSV, `jfed export`, `jfed claims`: the printed output, and one sentence for a mistake."""

import sys

import pandas as pd
import pytest

import jfed
from jfed import cli
from jfed.report.figures import savers


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["jfed", *map(str, arguments)])
    cli.main()
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    """Draw figures without saving them, which takes most of the time."""
    monkeypatch.setattr(savers, "MOST", 0)
    monkeypatch.setattr(savers.Savers, "save", lambda *a: [])


@pytest.fixture
def scores(tmp_path):
    rows = [(s, i, 10 * (s == "new") + i + (i * len(s)) % 3) for s in ("old", "new", "other") for i in range(9)]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["scheme", "seed", "loss"]).to_csv(path, index=False)
    return path


def test_a_table_from_a_csv(monkeypatch, capsys, scores):
    said = run(monkeypatch, capsys, "table", scores, "--metric", "loss", "--baseline", "old")
    assert "lower is better" in said and "worse" in said and "scheme minus old" in said
    others = ("--baseline", "all", "--better", "lower", "--test", "sign-flip", "--correction", "bh")
    said = run(monkeypatch, capsys, "table", scores, "--metric", "loss", *others)
    assert "lower is better" in said and "p (S)" in said and "Benjamini-Hochberg" in said


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (None, (), "There is no file"),
        ("", (), "bad.csv is empty: a table has names in its first line"),
        ("scheme,seed,loss\n", (), "bad.csv has a header, but no rows"),
        ("a,b\n1,2\n", (), "bad.csv has no column 'scheme': name it with --scheme-column"),
        ("scheme,seed,loss\nx,0,1\ny,0,2\n", ("--metric", "los"), "no metric 'los'; did you mean 'loss'"),
        ("scheme,seed,loss\nx,0,1\nx,0,2\ny,0,1\n", (), "1 row repeats a (scheme, seed)"),
        ("scheme,seed,loss\nx,0,u\ny,0,2\n", (), "bad.csv: line 2: loss is 'u', not a number"),
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
        run(monkeypatch, capsys, "table", path, *(x for pair in given.items() for x in pair))
    assert str(stopped.value).startswith("error: ") and sentence in str(stopped.value)


def test_export_and_claims(monkeypatch, capsys, tmp_path):
    base = jfed.Config(num_clients=8, cohort_size=2, num_rounds=3)
    jfed.run(jfed.methods(base, ["uniform"]), range(2), out=tmp_path, progress=False)
    said = run(monkeypatch, capsys, "export", tmp_path, "--out", tmp_path / "rounds.csv")
    assert "6 rows" in said and "replaced" not in said and len(pd.read_csv(tmp_path / "rounds.csv")) == 6
    said = run(monkeypatch, capsys, "export", tmp_path, "--out", tmp_path / "rounds.csv")
    assert "rounds.csv (replaced): 6 rows" in " ".join(said.split())
    with pytest.raises(SystemExit, match="the cohorts were not recorded: run with Layout\\(record_selected=True\\)"):
        run(monkeypatch, capsys, "export", tmp_path, "--out", tmp_path / "x.csv", "--rows", "selections")
    said = run(monkeypatch, capsys, "claims")
    assert "E-19" in said
    with pytest.raises(SystemExit, match="There is no per-run table at"):
        run(monkeypatch, capsys, "claims", tmp_path)


@pytest.mark.check
def test_the_best_of_a_sweep_is_chosen_on_seeds_of_its_own(monkeypatch, capsys, tmp_path):
    small = ("--num-clients", 8, "--cohort-size", 2, "--num-rounds", 12, "--out", tmp_path)
    schemes = ("--schemes", "uniform", "e3cs-0")
    sweep = ("--sweep", "selector.eta=0.1,0.5", "--seeds", 5)
    said = run(monkeypatch, capsys, "run", *small, *schemes, *sweep, "--tune-seeds", 0, 1)
    assert "selected on 2 tune seeds and reported on 3" in said and "Chosen: e3cs-0 eta 0." in said
    assert (tmp_path / "tables" / "num_succeeded_best_eta.csv").exists()
    said = run(monkeypatch, capsys, "table", tmp_path)  # eta belongs to the scheme: no table for each of its values
    assert "num_succeeded (no training): 3 points" in said and "eta = 0.1" not in said
    assert "selected on the same seeds that are reported" in said and "not judged" in said
    written = pd.read_csv(tmp_path / "tables" / "num_succeeded_best_eta_ranking.csv")
    assert written["scheme"].tolist().count("e3cs-0") == 2 and set(written["rank"]) == {1, 2, 3}
    assert (tmp_path / "tables" / "num_succeeded_best_eta_sweep.png").exists()
    said = run(monkeypatch, capsys, "table", tmp_path, "--tune-seeds", 0, 1)
    assert "mean over 2 seeds of each point" in said and "selected on 2 tune seeds and reported on 3" in said
    for arguments, sentence in (
        (("--tune-seeds", 0, "--horizon", 3), "name the swept settings to choose with --tune-over"),
        (("--tune-over", "k"), "--tune-over and --over take swept settings, not k; swept here: eta"),
        (("--tune-over", "eta", "--tune-seeds", 9), "tune seeds 9 are not in the frame"),
        (("--metric", "test_accuracy"), "unknown metric 'test_accuracy'"),
    ):
        with pytest.raises(SystemExit, match=sentence):
            run(monkeypatch, capsys, "table", tmp_path, *arguments)


@pytest.mark.check
def test_variance_of_crossed_seeds(monkeypatch, capsys, tmp_path):
    base = jfed.Config(num_clients=8, cohort_size=2, num_rounds=5)
    seeds = jfed.crossed_seeds(model=2, environment=3)
    assert len({tuple(map(int, s)) for s in seeds}) == 6
    jfed.run(jfed.methods(base, ["uniform", "fedcs"]), seeds, out=tmp_path, progress=False)
    said = run(monkeypatch, capsys, "variance", tmp_path)
    assert "uniform" in said and "environment" in said and (tmp_path / "tables" / "variance_num_succeeded.csv").exists()
    said = run(monkeypatch, capsys, "table", tmp_path)
    assert "t-test with the standard error of crossed seeds (t)" in said and "missing" not in said
    jfed.run(jfed.methods(base, ["uniform"]), range(3), out=tmp_path / "plain", progress=False)
    with pytest.raises(SystemExit, match="combinations have no run"):
        run(monkeypatch, capsys, "variance", tmp_path / "plain")
    (tmp_path / "x.csv").write_text("seed,x\n1,2\n")
    with pytest.raises(SystemExit, match=r"x\.csv has no column 'scheme': name it with --scheme-column"):
        run(monkeypatch, capsys, "variance", tmp_path / "x.csv", "--metric", "x")


def test_names_are_read_as_they_stand(monkeypatch, capsys, tmp_path):
    path = tmp_path / "scores.CSV"
    rows = [f"{s},{i},{i + len(s)}.5" for s in ("01", "1", "None") for i in range(6)]
    path.write_text("\n".join(["scheme,seed,x", *rows]))
    said = run(monkeypatch, capsys, "table", path, "--metric", "x", "--better", "higher", "--baseline", "None")
    assert " 01 " in said and "scheme minus None" in said
    path.write_text("\n".join(["scheme,seed,x", *rows[:6]]))
    assert "Mean and standard deviation over seeds" in run(monkeypatch, capsys, "table", path, "--metric", "x")
    other = path.rename(tmp_path / "scores.old")
    assert " 01 " in run(monkeypatch, capsys, "table", other, "--metric", "x", "--better", "lower")
    with pytest.raises(SystemExit, match="is no result: give the --out of an experiment"):
        run(monkeypatch, capsys, "export", other, "--out", tmp_path / "y.csv")


@pytest.mark.check
def test_of_two_experiments_in_one_directory_the_last_is_shown_and_that_is_said(monkeypatch, capsys, tmp_path, caplog):
    for rounds in (3, 4):
        base = jfed.Config(num_clients=8, cohort_size=2, num_rounds=rounds)
        jfed.run(jfed.methods(base, ["uniform", "fedcs"]), range(2), out=tmp_path, progress=False)
    run(monkeypatch, capsys, "table", tmp_path)
    twice = "holds 4 runs of uniform, fedcs twice: num_rounds (3 and 4). Those that a command requested last are taken."
    assert twice in caplog.text
    assert jfed.load(tmp_path).sizes["round"] == 4
