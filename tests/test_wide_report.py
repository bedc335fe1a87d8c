"""Tests of the wide tables that experiments with several settings write: which tables, columns and families."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from jfed.commands.study import ACCURACIES, Study, target_name
from jfed.commands.wide import wide_report

STUDY = Study(
    name="x", settings=("partition", "k"), metrics={"cep": "Participation"} | ACCURACIES,
    columns=lambda results: {}, figures=lambda *_: {},
)  # fmt: skip


def runs(partitions=("iid", "primary"), sizes=(8,), schemes=("uniform", "e3cs-0"), reached=40.0):
    rows = [
        (scheme, p, k, seed, 40, 0.5 + i / 10 + seed**2 / 100, 100 * i + seed**2, reached - i - seed % 3, np.inf)
        for p in partitions
        for k in sizes
        for i, scheme in enumerate(schemes)
        for seed in range(8)
    ]
    columns = ["scheme", "partition", "k", "seed", "num_rounds", "final_accuracy", "cep", target_name(0.7),
               target_name(0.9)]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture
def written():
    def run(frame):
        found, said = {}, io.StringIO()
        output = SimpleNamespace(table=lambda table, stem: found.update({stem: table}))
        wide_report(frame, (0.7, 0.9), (), "digits", STUDY, output, Console(file=said, width=80))  # type: ignore[arg-type]
        return found, said.getvalue()

    return run


def test_settings_that_vary_are_columns_and_the_others_are_in_the_title(written):
    found, said = written(runs())
    assert list(found) == ["wide_cep", "wide_final_accuracy", "wide_rounds"]
    assert found["wide_cep"].columns == ("scheme", "iid", "primary")
    assert found["wide_cep"].title == "Participation (digits, k = 8, T = 40)" and found["wide_cep"].title in said
    assert "over all 2 comparisons of this table" in found["wide_final_accuracy"].notes[1]
    both = written(runs(sizes=(8, 4)))[0]["wide_cep"]
    assert both.columns == ("scheme", "iid, k = 8", "iid, k = 4", "primary, k = 8", "primary, k = 4")


def test_each_accuracy_that_was_reached_is_a_family(written):
    table = written(runs())[0]["wide_rounds"]
    assert table.columns == ("scheme", "70 %, iid", "70 %, primary")  # nobody reached 90 %
    assert table.notes[-1] == "Each accuracy is a family of its own."
    assert table.rows[0] == ("uniform", "39.12 ± 0.83", "39.12 ± 0.83")  # of 40 - (0, 1, 2, 0, 1, 2, 0, 1)
    assert "wide_rounds" not in written(runs(reached=np.inf))[0]


def test_settings_with_other_baselines_have_tables_of_their_own(written):
    other = runs(("a", "b"), schemes=("dirichlet-1", "dirichlet-10"))
    found, _ = written(pd.concat([runs(), other]))
    assert [stem for stem in found if "cep" in stem] == ["wide_cep_uniform", "wide_cep_dirichlet-1"]
    assert found["wide_cep_dirichlet-1"].columns == ("scheme", "a", "b")


@pytest.mark.parametrize("frame", [runs(("iid",)), runs(schemes=("uniform",))])
def test_one_setting_or_one_scheme_has_no_wide_table(written, frame):
    assert written(frame) == ({}, "")
