"""`jfed table`, `jfed variance` and `jfed export`: inputs without a flag, --out, logs, times, and mistakes."""

import re

import matplotlib
import numpy as np
import pandas as pd
import pytest

from jfed import analysis
from jfed.results.frames import read_csv

matplotlib.use("Agg")


@pytest.fixture
def log(tmp_path):
    """Return a log of three strategies on eight seeds over twelve rounds, with a semicolon and decimal commas."""
    rng = np.random.default_rng(5)
    runs = [(s, seed, t) for s in ("fedavg", "oort", "pow-d") for seed in range(8) for t in range(1, 13)]
    frame = pd.DataFrame(runs, columns=["Strategy", "Run", "server_round"])
    frame["accuracy"] = (
        frame["server_round"] / 20 + 0.1 * (frame["Strategy"] == "oort") + rng.normal(0, 0.02, len(runs))
    )
    path = tmp_path / "log.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False)
    return path


@pytest.mark.parametrize(("third", "difference"), [("uniform", "scheme minus uniform"), ("oort", "first minus second")])
def test_the_baseline_is_uniform_if_there_is_one_and_otherwise_all_are_compared(told, tmp_path, third, difference):
    rng = np.random.default_rng(2)
    runs = [(s, seed, rng.normal()) for s in ("fedavg", "pow-d", third) for seed in range(8)]
    pd.DataFrame(runs, columns=["scheme", "seed", "accuracy"]).to_csv(tmp_path / "a.csv", index=False)
    assert f"Difference: {difference}" in told("table", tmp_path / "a.csv", "--metric", "accuracy")


def test_a_folder_gets_all_formats_and_figures(told, log, tmp_path):
    out = tmp_path / "made"
    asked = ("--metric", "accuracy", "--at", "last", "--window", 3)
    said = told("table", log, *asked, "--baseline", "all", "--out", out)
    names = [f"log_accuracy{ending}" for ending in (".csv", ".html", ".md", ".pdf", ".png", ".tex")]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*names, "looks.json"]
        + [f"log_accuracy_{what}.{kind}" for what in ("profiles", "ranks", "seeds") for kind in ("pdf", "png")]
    )
    assert all(str(out / name) in said for name in names)
    for note in ("The scheme is the column 'Strategy'.", "Decimal commas", "mean of 3 logged values at the last round"):
        assert note in said and note in (out / "log_accuracy.md").read_text()
    frame = pd.read_csv(log, sep=";", decimal=",")
    means = frame[frame["server_round"] > 9].groupby(["Strategy", "Run"])["accuracy"].mean().unstack("Strategy")
    written = pd.read_csv(out / "log_accuracy.csv").set_index(["scheme", "reference"])["difference"]
    np.testing.assert_allclose(written["fedavg", "oort"], (means["fedavg"] - means["oort"]).mean(), rtol=1e-9)
    before = set(tmp_path.rglob("*"))
    assert "fedavg" in told("table", log, *asked, "--baseline", "fedavg") and set(tmp_path.rglob("*")) == before


def test_a_single_scheme_has_no_figure(told, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("scheme,seed,x\na,0,1\na,1,2\n")
    told("table", path, "--metric", "x", "--out", tmp_path / "made")
    assert {file.suffix for file in (tmp_path / "made").iterdir()} == {".csv", ".md", ".tex", ".html"}


def test_the_best_round_of_a_loss_is_the_lowest(told, log, tmp_path):
    text = log.read_text().replace("accuracy", "loss")
    log.write_text(text)
    said = told("table", log, "--metric", "loss", "--at", "best", "--baseline", "fedavg", "--out", tmp_path / "made")
    lowest = read_csv(log, "loss", at="best", higher_is_better=False)
    found = analysis.compare(lowest, "loss", baseline="fedavg", higher_is_better=False)
    written = pd.read_csv(tmp_path / "made" / "log_loss.csv")["difference"]
    np.testing.assert_allclose(written, [row.difference for row in found.rows], rtol=1e-12)
    assert "lower is better" in said and "biased towards looking good" in said


def test_a_page_has_the_best_round_of_each_metric(told, tmp_path):
    lines = ["scheme,seed,round,accuracy,loss"]
    for seed in range(6):
        more = 2 + seed % 2
        late = "" if seed == 3 else seed + 5  # this run has no loss in round 2
        lines += [f"a,{seed},1,{seed},{seed + 10}", f"a,{seed},2,{seed + 1},{late}"]
        lines += [f"b,{seed},1,{seed + more},{seed + 10}", f"b,{seed},2,{seed + more + 1},{seed + more + 5}"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines))
    told("report", path, "--metric", "accuracy", "loss", "--at", "best", "--baseline", "a")
    page = path.with_suffix(".html").read_text()
    assert re.search(r"The mean accuracy of b was [^(]*\(6\.0+ against 3\.50*;", page)
    assert re.search(r"The mean loss of b was [^;]*\(10\.0+ against 8\.33*;", page)  # (5 + 6 + 7 + 13 + 9 + 10) / 6
    assert "loss: Runs that end before round 2, with fewer rounds to choose from: scheme a, seed 3 (1)." in page
    assert "accuracy: Runs" not in page


def test_nothing_is_printed_before_all_names_are_known(told, log, tmp_path, capsys):
    frame = pd.read_csv(log, sep=";", decimal=",").query("server_round == 12").assign(odd=1.0)
    frame.to_csv(tmp_path / "a.csv", index=False)
    for metrics, baseline, sentence in (
        (("accuracy", "nonsense"), "all", "no metric 'nonsense'"),
        (("accuracy", "odd"), "all", "the name 'odd' does not say"),
        (("accuracy",), "ort", "no scheme 'ort'; did you mean 'oort'"),
    ):
        for command in ("table", "report"):
            with pytest.raises(SystemExit, match=sentence):
                told(command, tmp_path / "a.csv", "--metric", *metrics, "--baseline", baseline)
    assert not capsys.readouterr().out and not (tmp_path / "a.html").exists()


def test_times_up_to_a_horizon(told, tmp_path):
    path = tmp_path / "times.csv"
    fast, slow = [3, 4, 5, 4, 3, 6, 5, 4], [8, "inf", 9, 10, "inf", 9, 8, 10]
    rows = [f"{s},{i},{t}" for s, times in (("fast", fast), ("slow", slow)) for i, t in enumerate(times)]
    path.write_text("\n".join(["scheme,seed,rounds to 65 %", *rows]))
    asked = ("table", path, "--metric", "rounds to 65 %", "--baseline", "slow")
    said = told(*asked, "--horizon", 12)
    assert "A run that never arrives counts with 12" in said and "p (S)" in said and "better" in said
    assert " -5.5 " in said  # (34 - 78) / 8, with 12 for the two runs that never arrive
    assert "Failed runs of slow: seeds 1, 4." in told(*asked)  # inf has no meaning without the horizon
    for arguments, sentence in (
        (("--horizon", 9), "a run reaches 'rounds to 65 %' after the horizon of 9"),
        (("--horizon", 0), "--horizon must be positive, got 0"),
        (("--horizon", 12, "--test", "wilcoxon"), "leave out --test.$"),
    ):
        with pytest.raises(SystemExit, match=sentence):
            told(*asked, *arguments)


def test_variance_of_anybodys_log(told, tmp_path):
    rows = [f"a|{d}|{m}|{t}|{d + 3 * m + t}" for d in range(3) for m in range(3) for t in (1, 2)]
    path = tmp_path / "log.txt"
    path.write_text("\n".join(["Method|data_seed|model_seed|round|x", *rows]))
    said = told("variance", path, "--metric", "x", "--at", 2, "--out", tmp_path / "made")
    assert "The scheme is the column 'Method'." in said and "10 % 90 %" in " ".join(said.split())
    assert {file.stem for file in (tmp_path / "made").iterdir()} == {"log_variance_x"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("table",), "Results are named without a flag, and --out is where to write: jfed table RESULTS."),
        (("table", "--out", "out/k"), "and --out is where to write: jfed table out/k."),
        (("variance", "--out", "x.csv"), "and --out is where to write: jfed variance x.csv."),
        (("export", "--out", "out/k"), "and --out is where to write: jfed export RESULTS --out FILE."),
        (
            ("export", "--out", "out/k", "--to", "x.csv"),
            "the file to write with --out: jfed export RESULTS --out FILE.",
        ),
        (("export", "--out", "out/k", "--to=x.csv"), "the file to write with --out: jfed export RESULTS --out FILE."),
        (("table", ".", "--at", "last"), "--scheme-column, --seed-column, --at and --window are for CSV files."),
        (("table", "empty"), "There are no results in empty: run an experiment with --out empty first."),
        (("table", "x.csv"), "There is no file x.csv."),
        (("table", "bytes"), "bytes is not text in UTF-8: write the table as CSV in UTF-8"),
        (("table", "bytes.npz"), "bytes.npz is damaged"),
        (("table", "bytes", "--out", "bytes"), "bytes is a file: --out names a folder for tables."),
        (("variance", "bytes"), "bytes is not text in UTF-8: write the table as CSV in UTF-8"),
        (("export", "bytes", "--out", "x.csv"), "give the --out of an experiment, or one of its result files."),
        (("plot", "bytes.csv", "--out", "x"), "one of its result files; jfed table and jfed report read a CSV file."),
    ],
)
def test_mistakes_are_one_sentence(told, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("bytes", "bytes.npz", "bytes.csv"):
        (tmp_path / name).write_bytes(bytes(range(256)))
    with pytest.raises(SystemExit) as stopped:
        told(*arguments)
    assert str(stopped.value).startswith("error: ") and sentence in str(stopped.value)
    assert "\n" not in str(stopped.value)
