"""`jfed show`, `jfed diff` and `jfed claims CLAIM`: what is in results, what differs, and what a claim needs."""

import importlib.util
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import jfed
from jfed.claims import read
from jfed.claims.making import makings, makings_of
from jfed.commands import claims
from jfed.report.differences import of_numbers, of_settings

BASE = jfed.Config(6, 2, 8)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the folders of two studies: two schemes on three seeds, and one of them on two, with other cohorts."""
    folders = [tmp_path_factory.mktemp(name) for name in "ab"]
    jfed.run(jfed.methods(BASE, ["uniform", "round-robin"]), range(3), out=folders[0])
    other = [*jfed.methods(BASE, ["uniform"]), *jfed.methods(jfed.replace(BASE, {"cohort_size": 3}), ["round-robin"])]
    jfed.run(other, range(2), out=folders[1])
    return folders


def test_what_is_in_results(told, results):
    said = told("show", results[0])
    for line in (
        "Runs         6 finished", "Schemes      round-robin, uniform", "Seeds        3 (0, 1, 2)",
        "Size         6 clients, 8 rounds", "Data         no training", "Worlds       volatility",
    ):  # fmt: skip
        assert line in said
    assert (
        re.search(rf"^Results +{results[0]}/results \(\d+ files, \d+ kB\)", said, re.M)
        and f"jfed {jfed.__version__}, jax" in said
    )
    assert "Swept" not in said and "Unfinished" not in said and "broke" not in said


def test_unfinished_and_swept(told, tmp_path):
    points = [
        jfed.Point(jfed.replace(BASE, {"cohort_size": k}), {"method": "uniform", "k": k, "mode": ""}) for k in (2, 3)
    ]
    jfed.run(points, range(1), out=tmp_path)
    (tmp_path / "checkpoints" / "x").mkdir(parents=True)
    said = told("show", tmp_path)
    assert re.search(r"^Swept +k 2, 3", said, re.M) and re.search(
        r"^Unfinished +1 checkpoints: repeat the command", said, re.M
    )


def test_what_differs(told, results):
    a, b = results
    said = told("diff", a, b)
    assert f"A: {a}\nB: {b}\n" in said
    assert "uniform: no difference" in said and "round-robin: cohort_size (2 and 3)" in said
    assert of_settings(a, a) == {"": ["round-robin", "uniform"]}
    table = of_numbers(a, b)
    assert table.notes[0] == "4 runs are in both, 2 only in A, 0 only in B."
    found = {(scheme, metric): rest for scheme, metric, *rest in table.rows}
    assert found["round-robin", "num_selected"] == ["2", "16.0", "24.0", "8.0"]
    assert found["uniform", "num_succeeded"][-1] == "same"
    mine = np.array([jfed.load(f)["num_succeeded"].sum("round").sel(run=[0, 1]).values for f in results])
    row = table.data.set_index(["scheme", "metric"]).loc[("round-robin", "num_succeeded")]
    assert row["largest"] == np.abs(mine[1] - mine[0]).max() and row["mean_b"] == mine[1].mean()


def test_a_page_needs_a_baseline_that_was_run(told, tmp_path, results):
    with pytest.raises(SystemExit, match="no scheme 'round robin'; did you mean 'round-robin'"):
        told("report", results[0], "--baseline", "round robin", "--out", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_scheme_of_one_study_only(tmp_path, results):
    jfed.run(jfed.methods(BASE, ["uniform"]), range(3), out=tmp_path)
    assert of_settings(tmp_path, results[0]) == {"": ["uniform"], "only in B": ["round-robin"]}


@pytest.mark.check
def test_swept_values_are_the_same_in_all_types_and_in_part(told, tmp_path):
    e3cs = jfed.methods(BASE, ["uniform", "e3cs-0.5"])
    for out, quotas in (("a", [0.25, 0.5]), ("b", [0.5, "inc"]), ("c", [0.5])):
        jfed.run(jfed.product(e3cs, {"selector.quota": quotas}), range(2), out=tmp_path / out)
    for one, other, notes in (
        ("a", "b", "4 runs are in both, 2 only in A, 2 only in B."),
        ("b", "c", "4 runs are in both, 2 only in A, 0 only in B."),
        ("c", "a", "4 runs are in both, 0 only in A, 2 only in B."),
    ):
        table = of_numbers(tmp_path / one, tmp_path / other)
        assert table.notes[0] == notes and {row[-1] for row in table.rows} == {"same"}
        assert {row[0] for row in table.rows} == {"e3cs, quota = 0.5", "uniform"}  # which has no quota
    jfed.run(e3cs[:1], range(2), out=tmp_path / "d")
    jfed.run(jfed.product(e3cs[:1], {"cohort_size": [2, 3]}), range(2), out=tmp_path / "e")
    assert of_numbers(tmp_path / "e", tmp_path / "d").notes[0] == "0 runs are in both, 4 only in A, 2 only in B."
    said = told("diff", tmp_path / "a", tmp_path / "b")
    assert "e3cs, quota = 0.25: only in A" in said and "e3cs, quota = inc: only in B" in said
    assert "e3cs, quota = 0.5; uniform: no difference" in said


@pytest.mark.parametrize("command", ["show", "diff"])
def test_without_results(told, tmp_path, command):
    with pytest.raises(SystemExit, match="There are no results in"):
        told(command, *[tmp_path] * (1 + (command == "diff")))


def test_one_claim(told):
    said = told("claims", "r-1")
    assert said.split()[:2] == ["R-1", "The"] and "E-1" not in said
    assert len(re.findall(r"^Verdict +supported \(reading = \w+, 100 seeds\)", said, re.M)) == 2
    assert "python -m experiments.rbcs_f_numerical --num-rounds 5000: three minutes on two cores" in said


def test_all_claims(told):
    said = told("claims")
    assert all(re.search(rf"^{claim.id} +{re.escape(claim.claim[:20])}", said, re.M) for claim in read())
    assert "not run" not in said


def test_runs_on_other_data_are_said(told, tmp_path):
    (tmp_path / "runs.csv").write_text("experiment,scheme,seed,dataset\ndigits_e3cs,uniform,0,digits\n")
    said = " ".join(told("claims", tmp_path / "runs.csv").split())
    assert "Not run: the runs are on digits, and the claim is about emnist_letters: E-9, E-10, E-11, E-18 Not" in said
    assert "Not run, in whole or in part, for want of eiffel_tau: F-5, F-6, F-7 Not" in said
    assert "Verdict not run. the runs are on digits, and the claim is about cifar10" in " ".join(
        told("claims", "E-12", tmp_path / "runs.csv").split()
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("E-99",), "unknown claim 'E-99'"),
        (("--run",), "--run needs the name of a claim"),
        (("R-1", "out", "--run"), "--run makes the runs itself: leave out the results"),
        (("nowhere",), "There is no per-run table at nowhere"),
    ],
)
def test_mistakes_with_claims(told, given, sentence):
    with pytest.raises(SystemExit, match=f"^error: {sentence}"):
        told("claims", *given)


def test_runs_are_made_and_judged(told, monkeypatch, tmp_path):
    called = []

    def run(command, check):
        called.append(command[1:])
        (tmp_path / "o" / "e3cs_numerical" / "tables").mkdir(parents=True, exist_ok=True)
        (tmp_path / "o" / "e3cs_numerical" / "tables" / "per_run.csv").write_text("experiment,scheme,seed\nx,a,0\n")
        return SimpleNamespace(returncode=len(called) - 1)

    monkeypatch.setattr(subprocess, "run", run)
    said = told("claims", "E-4", "--run", "--out", tmp_path / "o")
    assert called == [["-m", "experiments.e3cs_numerical", "--out", str(tmp_path / "o" / "e3cs_numerical")]]
    assert "not run" in said and "two minutes on two cores" in said
    with pytest.raises(SystemExit, match="ended with an error; the same command resumes it"):
        told("claims", "E-4", "--run", "--out", tmp_path / "p")


def test_away_from_the_repository(told, monkeypatch):
    monkeypatch.setattr(claims.importlib.util, "find_spec", lambda name: None)
    assert re.search(r"^Verdict +not run", told("claims", "R-1"), re.M)
    with pytest.raises(SystemExit, match="--run needs the repository"):
        told("claims", "R-1", "--run")


def test_every_claim_has_commands_that_exist():
    assert all(makings_of(claim) for claim in read())
    for made in makings():
        assert importlib.util.find_spec(f"experiments.{made.line.split()[0]}") is not None
        assert any(made in makings_of(claim) for claim in read()) or made.where


@pytest.mark.check
@pytest.mark.parametrize("made", makings(), ids=lambda made: made.line)
def test_the_flags_of_these_commands_exist(made):
    name, *flags = made.line.split()
    command = [sys.executable, "-m", f"experiments.{name}", *flags, "--help"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
