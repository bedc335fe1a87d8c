"""`jfed run --until-decided`, and plans of looks that belong to results wherever their tables are written."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import jfed
from experiments.shared.common import Output
from jfed import analysis
from jfed.commands import table, until
from jfed.commands.levels import Level
from jfed.commands.showing import Layout
from jfed.commands.until import planned
from jfed.report.figures import savers
from jfed.results import journal

SMALL = ("--num-clients", 12, "--cohort-size", 3, "--num-rounds", 30)


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    """Write tables without figures, which take most of the time."""
    monkeypatch.setattr(savers, "MOST", 0)
    monkeypatch.setattr(savers.Savers, "save", lambda *a: [])
    monkeypatch.setattr(table, "Layout", lambda *a, **k: replace(Layout(*a, **k), figures=False))


@pytest.fixture
def scores(tmp_path):
    """Return a CSV file of two schemes on twelve seeds."""
    rng = np.random.default_rng(2)
    rows = [(s, i, 0.5 + shift + 0.01 * rng.normal()) for s, shift in (("old", 0), ("new", 0.001)) for i in range(12)]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"]).to_csv(path, index=False)
    return path


def asked(scores, out):
    return ("table", scores, "--metric", "accuracy", "--baseline", "old", "--out", out)


def test_a_plan_stays_with_its_folder(told, scores, tmp_path):
    command = asked(scores, tmp_path / "o")
    assert "Planned looks at 6, 12, 24 seeds" in told(*command, "--looks", 6, 12, 24)
    assert "Planned looks at 6, 12, 24 seeds" in told(*command)
    unnamed = told("table", scores, "--metric", "accuracy", "--out", tmp_path / "o")
    assert "Planned looks at 6, 12, 24 seeds" in unnamed and "scheme minus old" in unnamed
    assert "Planned looks" not in told(*asked(scores, tmp_path / "other"))
    told(*asked(scores, tmp_path / "even"), "--looks", 6, 12, "--spending", "pocock")
    assert "Pocock-like spending" in told(*asked(scores, tmp_path / "even"))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--looks", 6, 13), "asks for looks at 6, 13 seeds"),
        (("--alpha", 0.01), "asks for alpha 0.01"),
        (("--baseline", "all"), "asks for baseline all"),
        (("--test", "wilcoxon"), "asks for test wilcoxon"),
        (("--correction", "bh"), "asks for correction bh"),
        (("--looks", 6, 12, "--spending", "pocock"), "asks for spending pocock"),
        (("--anytime",), r"asks for always-valid p-values \(anytime\)"),
        (("--alpha", 0.01, "--test", "wilcoxon"), "asks for alpha 0.01, test wilcoxon"),
    ],
)
def test_another_plan_is_refused(told, scores, tmp_path, flags, words):
    told(*asked(scores, tmp_path / "o"), "--looks", 6, 12)
    kept = (tmp_path / "o" / "looks.json").read_text()
    whole = (
        r"o/looks\.json has a plan for accuracy that cannot be changed after results are seen: looks at 6, 12 seeds,"
        rf" baseline old, alpha 0\.05, test t, correction holm, spending obrien-fleming; this command {words}$"
    )
    with pytest.raises(SystemExit, match=whole):
        told(*asked(scores, tmp_path / "o"), *flags)
    assert (tmp_path / "o" / "looks.json").read_text() == kept


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--looks", 6, 6), "looks must be increasing whole numbers"),
        (("--looks", 6, 12, "--correction", "bh"), "planned looks need Holm's correction"),
        (("--looks", 6, 12, "--alpha", 2), "alpha must lie strictly between 0 and 1"),
        (("--looks", 6, 12, "--baseline", "none"), "no scheme 'none'; there are"),
    ],
)
def test_a_refused_command_leaves_no_plan(told, scores, tmp_path, flags, sentence):
    with pytest.raises(SystemExit, match=sentence):
        told(*asked(scores, tmp_path / "o"), *flags)
    assert not (tmp_path / "o" / "looks.json").exists()


def test_a_plan_after_a_table_says_so(told, scores, tmp_path):
    told(*asked(scores, tmp_path / "o"))
    late = "Planned after a table at 12 seeds had been made: the level holds only if the plan did not depend on it."
    assert late in told(*asked(scores, tmp_path / "o"), "--looks", 6, 12)
    assert late in told(*asked(scores, tmp_path / "o"))
    assert "Planned after" not in told(*asked(scores, tmp_path / "first"), "--looks", 6, 12)
    assert "Planned after" not in told(*asked(scores, tmp_path / "first"))  # the plan's own tables are no reason


def test_a_file_in_place_of_a_folder_is_one_sentence(told, scores):
    with pytest.raises(SystemExit, match=r"error: Tables cannot be written to .*scores\.csv/x: Not a directory\.$"):
        told(*asked(scores, scores / "x"), "--looks", 6, 12)


def test_a_table_without_a_folder_is_not_remembered(told, scores, tmp_path):
    before = set(tmp_path.rglob("*"))
    assert "Planned looks" in told(*asked(scores, "o")[:-2], "--looks", 6, 12)
    assert "Planned looks" not in told(*asked(scores, "o")[:-2]) and set(tmp_path.rglob("*")) == before


def test_an_experiments_table_tells_of_a_plan(scores, tmp_path):
    frame, out = pd.read_csv(scores), Output(tmp_path / "e")
    made = journal.Plan((6, 12), "old", 0.05, "t", "holm", "obrien-fleming")
    for n in (6, 12):
        found = analysis.compare(frame.query(f"seed < {n}"), "accuracy", baseline="old")
        first = out.comparisons(found, "title", "before", "accuracy")
        assert not any("have a plan" in note for note in first.notes)
    assert any("Looked at 6 seeds before" in note for note in first.notes)
    journal.plan(tmp_path / "e" / "tables", "accuracy", made)
    for n in (6, 12):
        found = analysis.compare(frame.query(f"seed < {n}"), "accuracy", baseline="old")
        then = out.comparisons(found, "title", "after", "accuracy")
        assert (
            "These results have a plan of looks at 6, 12 seeds: a plain `jfed table` compares under it." in then.notes
        )
        assert not any("Looked at" in note for note in then.notes)


def test_only_decisions_end_a_scheme(monkeypatch, tmp_path):
    """Schemes with any verdict but a decision have more seeds, as verdicts are dealt out here."""
    dealt = {
        "a": ("better",), "b": ("identical", "worse"), "c": ("failed runs", "equal within margin"),
        "d": ("missing runs", "not worse"), "e": ("too few seeds", "open", "no difference shown"),
    }  # fmt: skip
    had = {scheme: [] for scheme in ("base", *dealt)}

    def run(points, seeds, out):
        for point in points:
            had[point.coords["method"]].append(len(seeds))
        return {"method": SimpleNamespace(values=np.array([p.coords["method"] for p in points]))}

    def of_results(results, metric, baseline, together):
        rows = [(s, i, 0.0) for s in results["method"].values for i in range(had[s][-1])]
        return [Level(pd.DataFrame(rows, columns=["scheme", "seed", metric]), "base", "title", "stem")]

    def compare(frame, metric, **choices):
        rows = [SimpleNamespace(scheme=s, verdict=verdicts[min(len(had[s]), len(verdicts)) - 1])
                for s, verdicts in dealt.items()]  # fmt: skip
        return SimpleNamespace(rows=rows)

    monkeypatch.setattr(jfed, "run", run)
    monkeypatch.setattr(until, "of_results", of_results)
    monkeypatch.setattr(until, "_labels", lambda results: results["method"].values)
    monkeypatch.setattr(until, "show", lambda *a: None)
    monkeypatch.setattr(analysis, "compare", compare)
    points = [SimpleNamespace(coords={"method": s}) for s in had]
    with Console(record=True, width=200) as console:
        until.until_decided(points, "num_succeeded", (4, 8, 12), tmp_path, console)
    assert had == {"base": [4, 8, 12], "a": [4], "b": [4, 8], "c": [4, 8], "d": [4, 8], "e": [4, 8, 12]}
    assert "4 seeds: a better; 4 undecided." in console.export_text()


@pytest.mark.check
def test_more_seeds_until_decided(told, tmp_path):
    schemes = ("--schemes", "uniform", "fedcs", "round-robin")
    out = tmp_path / "ud"
    said = told("run", *SMALL, *schemes, "--out", out, "--until-decided", "--looks", 6, 12)
    assert "6 seeds: fedcs (oracle) better; 1 undecided." in said and "12 seeds:" in said
    written = pd.read_csv(out / "tables" / "num_succeeded.csv").set_index("scheme")
    assert written["n"].to_dict() == {"fedcs (oracle)": 6, "round-robin": 12}
    runs = pd.read_csv(out / "tables" / "per_run.csv")
    assert runs.scheme.value_counts().to_dict() == {"uniform": 12, "fedcs (oracle)": 6, "round-robin": 12}
    (plan,) = json.loads((out / "tables" / "looks.json").read_text())["plans"].values()
    assert plan["looks"] == [6, 12] and plan["baseline"] == "uniform" and plan["after"] == []
    for flags in ((), ("--out", tmp_path / "elsewhere")):  # the results know their plan: no run is missing
        again = told("table", out, *flags)
        assert "missing" not in again and "Planned looks at 6, 12 seeds" in again and "Planned after" not in again
    assert not (tmp_path / "elsewhere" / "looks.json").exists()
    for flags in (("--until-decided", "--looks", 6, 13), ("--schemes", "fedcs", "uniform")):
        with pytest.raises(SystemExit, match=r"ud/tables/looks\.json has a plan for num_succeeded"):
            told("run", *SMALL, *schemes, "--out", out, *flags)
    with pytest.raises(SystemExit, match=r"Tables cannot be written to .*manifest\.json/x: Not a directory"):
        told("table", out, "--out", out / "manifest.json" / "x")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--until-decided", "--sweep", "selector.eta=0.1,0.2"), "not to each point of a --sweep"),
        (("--looks", 5, 10), "--looks and --max-seeds are those of --until-decided"),
        (("--max-seeds", 10), "--looks and --max-seeds are those of --until-decided"),
        (("--until-decided", "--looks", 5, 10, "--max-seeds", 12), "--looks end at 10 seeds and --max-seeds is 12"),
    ],
)
def test_flags_that_do_not_go_together(told, tmp_path, flags, sentence):
    with pytest.raises(SystemExit, match=sentence):
        told("run", *SMALL, "--out", tmp_path / "o", *flags)
    assert not (tmp_path / "o").exists()


def test_planned_looks():
    assert planned(200, ()) == planned(None, ()) == (20, 40, 80, 140, 200)
    assert planned(10, ()) == (5, 7, 10) and planned(3, ()) == (3,)
    assert planned(None, (10, 300)) == planned(300, (10, 300)) == (10, 300)
    for looks in ((10, 10), (1, 5)):
        with pytest.raises(ValueError, match="--looks must increase, from at least 2 seeds"):
            planned(None, looks)
    for most in (20, 60):
        with pytest.raises(ValueError, match=f"--looks end at 50 seeds and --max-seeds is {most}"):
            planned(most, (10, 50))
    with pytest.raises(ValueError, match="--max-seeds must be at least 2, found 1"):
        planned(1, ())
