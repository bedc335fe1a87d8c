"""The pages of findings say what the committed runs say, and new runs are taken over."""

import numpy as np
import pandas as pd
import pytest

from tools import findings

MADE = [name for name in findings.FINDINGS if (findings.RUNS / f"{name}.csv").exists()]


@pytest.mark.check
@pytest.mark.parametrize("name", MADE)
def test_tables_are_what_the_runs_say(name):
    path, text, runs = findings.page(name)
    assert path.read_text() == text and text.count("| uniform | ") >= 4
    assert runs["scheme"].nunique() >= 10 and runs["seed"].nunique() >= 10


def test_runs_and_pictures_of_an_experiment_are_taken(tmp_path, monkeypatch):
    out, kept, pages = (tmp_path / name for name in ("out", "kept", "pages"))
    for folder in (out / "tables", out / "figures", kept, pages):
        folder.mkdir(parents=True)
    columns = findings.FINDINGS["non_stationary"].columns
    runs = pd.DataFrame({name: ["x", "y"] for name in columns} | {"regret": [0.123456789, np.nan], "more": 1})
    runs.assign(experiment="non_stationary").to_csv(out / "tables" / "per_run.csv", index=False)
    (out / "figures" / "success_ratio.png").write_bytes(b"picture")
    monkeypatch.setattr(findings, "RUNS", kept)
    monkeypatch.setattr(findings, "PAGES", pages)
    findings.take(out)
    found = pd.read_csv(kept / "non_stationary.csv")
    assert tuple(found.columns) == columns and found["regret"][0] == 0.123457 and np.isnan(found["regret"][1])
    assert (pages / "non_stationary_success_ratio.png").read_bytes() == b"picture"
