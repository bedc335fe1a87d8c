"""The indices of the papers' figures and tables."""

import importlib

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import save, stacked_lines
from jfed.claims import gather, judge_all
from jfed.claims import read as claims_read
from jfed.core.errors import ConfigError
from jfed.report.figures.numbers import read
from tools import choices, claims, papers
from tools.pages import marked, pictures

pytestmark = pytest.mark.check


def test_every_claim_is_in_an_index_and_no_other():
    named = {name for one in papers.artefacts() for name in one.claims}
    assert named == {claim.id for claim in claims_read()}


def test_commands_and_pages_exist():
    for one in papers.artefacts():
        assert (papers.PAGES / f"{one.page}.md").exists()
        importlib.import_module(f"experiments.{one.command.split()[0]}")
    for choice in choices.choices():
        importlib.import_module(f"experiments.{choice.line.split()[0]}")
    assert len({choice.file for choice in choices.choices()}) == len(choices.choices())


def test_the_pages_are_what_the_tool_writes(tmp_path, monkeypatch):
    for page in papers.PAGES.glob("*.md"):
        (tmp_path / page.name).write_text(page.read_text())
    monkeypatch.setattr(papers, "PAGES", tmp_path)
    monkeypatch.setattr(papers, "draw", lambda own: None)  # a stale picture must still be there for the test of them
    papers.main(papers.Settings())
    for page in tmp_path.glob("*.md"):
        assert page.read_text() == (papers.ROOT / "docs" / "papers" / page.name).read_text(), page.name


def test_numbers_are_taken_from_the_folder_of_their_command(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "NUMBERS", tmp_path / "numbers")
    monkeypatch.setattr(papers, "PICTURES", tmp_path / "pictures")
    first = next(one for one in papers.artefacts() if one.pictures)
    name = next(iter(first.pictures))
    x = np.arange(250)
    figure = stacked_lines(x, {"y": {"a": [x, x], "b": [2 * x, 3 * x]}}, xlabel="round", title="t")
    save(figure, tmp_path / "out" / papers.folder_of(first.command) / "figures", name)
    papers.take(tmp_path / "out")
    rows = read(first.numbers(name)).frame
    assert len(rows) == 200 and rows["x"].min() == 0 and rows["x"].max() == 249  # 100 points of each of two curves
    papers.draw([first])
    assert pictures.drawn_from(first.picture(name)) == pictures.digest(first.numbers(name))
    assert not pictures.draw(first.numbers(name), first.picture(name))  # a second time there is nothing to do


def test_every_picture_is_of_the_numbers_beside_it():
    named = {one.picture(name): one.numbers(name) for one in papers.artefacts() for name in one.pictures}
    assert set(named) == set(papers.PICTURES.glob("*.png"))
    assert set(named.values()) == set(papers.NUMBERS.glob("*.csv"))
    for picture in named:
        assert pictures.drawn_from(picture) == pictures.digest(named[picture]), picture.name
        assert picture.stat().st_size < 150_000, picture.name


def test_a_verdict_that_turns_at_another_choice_is_marked():
    judged = judge_all(gather(sorted(claims.TABLES.glob("*.csv"))))
    verdict = next(v for v in judged if v.finding.verdict == "supported" and not v.reduced)
    turned = next(v for v in judged if v.finding.verdict == "contradicted")
    other = choices.Choice("x", "a coin", "e3cs_numerical", 1)
    same = [(other, [verdict])]
    assert choices.survives(verdict, same) == "the same with a coin"
    moved = [(other, [verdict.__class__(verdict.claim, verdict.mode, verdict.setting, turned.finding)])]
    assert choices.survives(verdict, moved) == "**contradicted** with a coin"
    assert choices.survives(turned, same) == ""


RUNS = pd.DataFrame(
    {"scheme": ["a", "b"] * 2, "partition": ["iid"] * 4, "seed": [0, 0, 1, 1], "mode": "faithful", "num_rounds": 9}
).assign(final_accuracy=[0.1, 0.2, 0.3, 0.4])


def test_further_seeds_join_the_runs_that_are_there():
    both = claims.joined(RUNS, RUNS[RUNS.seed == 1].assign(seed=2, final_accuracy=0.9))
    assert list(both.seed) == [0, 0, 1, 1, 2, 2] and list(both.columns) == list(RUNS.columns)
    assert list(both.final_accuracy) == [0.1, 0.2, 0.3, 0.4, 0.9, 0.9]


@pytest.mark.parametrize("other", [{"partition": "primary"}, {"mode": "corrected"}, {"num_rounds": 10}])
def test_runs_of_another_setting_join_too(other):
    assert len(claims.joined(RUNS, RUNS.assign(**other))) == 8


def test_a_run_made_again_takes_the_place_of_the_old_one():
    again = claims.joined(RUNS, RUNS[RUNS.seed == 1].assign(final_accuracy=0.9))
    assert sorted(again.final_accuracy) == [0.1, 0.2, 0.9, 0.9]


def test_tables_with_other_columns_do_not_join():
    with pytest.raises(ConfigError, match="have other columns: rounds to 65 % in one alone"):
        claims.joined(RUNS, RUNS.assign(**{"rounds to 65 %": 3.0}))


def test_taken_runs_take_the_place_of_a_table_or_join_it(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "TABLES", tmp_path)
    out = tmp_path / "out" / "tables"
    out.mkdir(parents=True)
    for seed, join in ((0, False), (1, True)):
        rows = RUNS[RUNS.seed == seed].assign(experiment="x")
        rows.to_csv(out / "per_run.csv", index=False)
        claims.take([tmp_path / "out"], join)
    assert list(pd.read_csv(tmp_path / "x.csv").seed) == [0, 0, 1, 1]
    claims.take([tmp_path / "out"], False)
    assert list(pd.read_csv(tmp_path / "x.csv").seed) == [1, 1]


def test_a_part_between_marks_is_replaced():
    page = "a\n<!-- written by python -m tools.x -->\nold\n<!-- end -->\nb\n<!-- end -->\n"
    made = marked.rewritten(page, "tools.x", "new")
    assert made == "a\n<!-- written by python -m tools.x -->\n\nnew\n\n<!-- end -->\nb\n<!-- end -->\n"
    assert marked.rewritten(made, "tools.x", "new") == made
