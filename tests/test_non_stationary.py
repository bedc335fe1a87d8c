"""The experiment on success rates that change."""

import numpy as np
import pandas as pd
import pytest

import experiments.non_stationary as experiment
import jfed
from jfed.core.errors import ConfigError


def small(tmp_path, **further):
    return experiment.Settings(
        preset="quick", seeds=2, out=tmp_path, schemes=("e3cs-0", "ucb1"), num_clients=12, cohort_size=3,
        num_rounds=20, **further,
    )  # fmt: skip


def test_points_have_the_oracle_and_every_change(tmp_path):
    every = experiment.points(small(tmp_path, set=("environment.success.rates=(0.2,0.8)",)), 20)
    assert [p.coords["method"] for p in every] == ["uniform", "fedcs", "e3cs-0", "ucb1"] * 4
    assert [p.coords["change"] for p in every[::4]] == ["none", "jump", "rotation", "walk"]
    assert every[8].config.environment.change.every == 5  # a quarter of the rounds
    with pytest.raises(ConfigError, match="A change is one of none, jump, rotation, walk, found leap"):
        experiment.points(small(tmp_path, changes=("leap",)), 20)


@pytest.mark.check
def test_tables_and_a_figure(tmp_path, plain_pdf, capsys):
    experiment.main(small(tmp_path))
    capsys.readouterr()
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert len(runs) == 4 * 4 * 2 and (runs.regret[runs.method == "fedcs"] == 0).all()
    results = jfed.load(tmp_path)
    where = (results["method"] == "ucb1") & (results["change"] == "jump") & (results["seed"] == 1)
    own = runs[(runs.method == "ucb1") & (runs.change == "jump") & (runs.seed == 1)].iloc[0]
    returned = results["num_succeeded"].values[where.values][0]
    assert own.cep == returned.sum() and own.recovery == pytest.approx(returned[16:].sum() / 12)
    best = results["num_succeeded"].values[
        ((results["method"] == "fedcs") & (results["change"] == "jump") & (results["seed"] == 1)).values
    ]
    assert own.regret == best.sum() - returned.sum()
    assert {path.stem for path in tmp_path.glob("tables/*.csv")} == {*experiment.METRICS, "per_run"}
    assert [path.name for path in tmp_path.glob("figures/*.png")] == ["success_ratio.png"]


def test_the_share_of_the_last_rounds_by_hand(monkeypatch):
    import xarray as xr

    returned = np.array([[1, 0, 2, 2, 0, 1, 1, 2, 2, 2]])
    results = xr.Dataset(
        {"num_succeeded": (("run", "round"), returned), "num_selected": (("run", "round"), np.full((1, 10), 2))},
        coords={"round": np.arange(1, 11), "method": ("run", ["uniform"]), "change": ("run", ["jump"])},
    )
    drawn = {}
    monkeypatch.setattr(experiment, "stacked_lines", lambda x, panels, **_: drawn.update(panels))
    experiment.figure(results, ["jump"], "")
    (curves,) = drawn.values()  # windows of two rounds, a fifth of ten
    np.testing.assert_allclose(curves["uniform"], [[1 / 2, 1 / 4, 2 / 4, 4 / 4, 2 / 4, 1 / 4, 2 / 4, 3 / 4, 1, 1]])
