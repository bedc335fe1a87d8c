"""The tables of a sweep: each setting of the problem makes one, whose files have short names of their own."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from rich.console import Console

from jfed.commands import table
from jfed.commands.choices import Choices
from jfed.commands.levels import LONGEST, of_results
from jfed.results import load


def results(ks=(2, 3), etas=(0.1, 0.5), seeds=5, **more):
    """Return results of e3cs over eta and k, beside uniform over k; a higher eta is better."""
    rows = [("e3cs", k, eta, s, 10 * k + 5 * eta + 0.1 * s) for k in ks for eta in etas for s in range(seeds)]
    rows += [("uniform", k, np.nan, s, 10 * k + 0.2 * s) for k in ks for s in range(seeds)]
    method, k, eta, seed, score = map(np.array, zip(*rows, strict=True))
    apart = {f"{kind}_seed": ("run", seed) for kind in ("data", "model", "environment")}
    given = {"mode": "faithful", "oracle": 0, "dataset": "none", "world": "volatility"} | more
    return xr.Dataset(
        {"num_succeeded": (("run", "round"), score[:, None]), "times_selected": (("run", "client"), score[:, None])},
        {"seed": ("run", seed), "method": ("run", method), **apart}
        | {name: ("run", [value] * len(rows)) for name, value in given.items()}
        | {"k": ("run", k, {"path": "cohort_size"}), "eta": ("run", eta, {"path": "selector.eta"})},
    )


def told(found, tmp_path, capsys, **asked):
    settings = table.Settings(tmp_path, Choices(metric=("num_succeeded",), baseline="uniform"), **asked)
    table.show_tables(found, tmp_path, settings, Console(width=300))
    return capsys.readouterr().out


def test_settings_of_schemes_are_tuned_and_settings_of_the_problem_make_tables(tmp_path, capsys):
    said = told(results(), tmp_path, capsys)
    for k in (2, 3):
        assert f"num_succeeded (no training, k = {k}): 3 points" in said
        ranked = pd.read_csv(tmp_path / "tables" / f"num_succeeded_best_eta_k_{k}_ranking.csv")
        assert ranked["scheme"].tolist() == ["e3cs", "e3cs", "uniform"] and ranked["eta"].tolist()[:2] == [0.5, 0.1]
        tuned = pd.read_csv(tmp_path / "tables" / f"num_succeeded_best_eta_k_{k}.csv")
        assert tuned["verdict"].tolist() == ["not judged"]
    assert (tmp_path / "tables" / "num_succeeded_problems.png").exists()
    assert said.count("Chosen: e3cs eta 0.5.") == 2 and "eta = 0." not in said.replace("eta = 0.5.", "")


def test_problems_of_which_some_lack_a_setting_have_tables_and_no_picture(tmp_path, capsys):
    found = results(ks=(1, 2, 3), etas=(0.1,)).drop_vars(["k", "eta"])
    number = results(ks=(1, 2, 3), etas=(0.1,))["k"].values
    found = found.assign_coords(
        waiting=("run", np.where(number == 1, "all", "deadline"), {"path": "environment.waiting"}),
        deadline_s=("run", np.where(number == 1, np.nan, number), {"path": "environment.waiting.deadline_s"}),
    )
    said = told(found, tmp_path, capsys)
    assert "(no training, waiting = all)" in said and "(no training, waiting = deadline, deadline_s = 3.0)" in said
    assert not (tmp_path / "tables" / "num_succeeded_problems.png").exists()


def test_tune_seeds_need_no_names_of_settings_and_never_choose_a_problem(tmp_path, capsys):
    said = told(results(), tmp_path, capsys, tune_seeds=(0, 1))
    assert said.count("selected on 2 tune seeds and reported on 3 other seeds") == 2 and "k = 3" in said
    assert pd.read_csv(tmp_path / "tables" / "num_succeeded_best_eta_k_2.csv")["verdict"].tolist() == ["better"]


def test_a_problem_is_chosen_only_by_name(tmp_path, capsys):
    said = told(results(etas=(0.1,)), tmp_path, capsys, tune_over=("k",))
    assert "Chosen: uniform k 3; e3cs k 3." in said
    with pytest.raises(ValueError, match="no setting of the schemes varies here, and others are named by --tune-over"):
        told(results(etas=(0.1,)), tmp_path, capsys, tune_seeds=(0,))


def test_the_tables_of_many_problems_are_written_and_not_printed(tmp_path, capsys):
    said = told(results(ks=range(2, 22), etas=(0.1,)), tmp_path, capsys)
    assert "num_succeeded: the tables of 20 settings are in" in " ".join(said.split()) and len(said.splitlines()) < 6
    assert len(list((tmp_path / "tables").glob("num_succeeded_*k_*.csv"))) == 20


def test_names_of_files_are_short_and_tell_settings_apart():
    rates = ["(" + "0.123456789, " * 20 + f"{i})" for i in range(2)]
    found = xr.concat([results(rates=rate) for rate in [*rates, "a b", "a-b", "../c"]], "run", coords="all")
    found["rates"].attrs["path"] = "environment.success_rates"
    made = of_results(found.sel(run=found["k"].values == 2).sel(run=slice(None)), "num_succeeded", "uniform", ("eta",))
    stems = [level.stem for level in made]
    assert len(set(stems)) == 5 and max(map(len, stems)) <= LONGEST and not any("/" in stem for stem in stems)


def test_a_diverged_run_is_named_below_the_table():
    found = results()
    found["test_loss"] = (("run", "eval_round"), np.where(np.arange(30)[:, None] == 3, 1e3, 1.0))
    notes = [level.notes for level in of_results(found, "num_succeeded", "uniform", ("eta",))]
    assert notes[0][0].startswith("Diverged, and counted as failed: e3cs seeds 3 (the last test loss is above 88,")
    assert notes[1] == () and load.said_once({"world": "w", "environment": "w"}) == {"environment": "w"}
