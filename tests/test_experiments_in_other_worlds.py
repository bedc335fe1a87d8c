"""The experiments' commands in worlds that are not the papers': figures by class, and columns that a world lacks."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from rich.console import Console

import jfed
from experiments import (
    cifar_e3cs,
    cs_ucb_numerical,
    e3cs_numerical,
    eiffel_accuracy,
    eiffel_budget,
    eiffel_participants,
    eiffel_tau,
    rbcs_f_numerical,
)
from experiments.e3cs import training
from experiments.eiffel import report
from experiments.shared.common import Output
from jfed.commands.drawing import by_class, class_figures, participation
from jfed.config import digest
from jfed.core.errors import ConfigError
from jfed.envs import edge, exchange, volatility, wireless
from jfed.runner.units import Layout, plan

pytestmark = [pytest.mark.usefixtures("plain_pdf"), pytest.mark.check]
K = 8
VOLATILE = volatility.Options(success_rates=(0.9, 0.2))
ALIKE = volatility.Options(success_rates=(0.5, 0.5))


def results(*worlds):
    """Return the points of some worlds, and two runs in the last world."""
    configs = [jfed.Config(num_clients=K, cohort_size=2, environment=world) for world in worlds]
    points = [jfed.Point(config, {"method": "uniform"}) for config in configs]
    classes = worlds[-1].client_class(jfed.config.problem(points[-1].config))
    whole = xr.Dataset(
        {
            "client_class": (("run", "client"), np.stack([classes] * 2)),
            "times_selected": (("run", "client"), np.arange(2 * K).reshape(2, K)),
            "num_selected": (("run", "round"), [[0, 2, 2], [0, 0, 2]]),
            "num_succeeded": (("run", "round"), [[0, 1, 2], [0, 0, 1]]),
        },
        {"round": [1, 2, 3], **{name: ("run", [value] * 2) for name, value in
         {"method": "uniform", "mode": "faithful", "oracle": 0, "config": digest(points[-1].config)}.items()}},
    )  # fmt: skip
    return points, whole


def labels(figure):
    return [text.get_text() for text in figure.axes[0].get_xticklabels()]


@pytest.mark.parametrize(
    ("worlds", "name", "shown"),
    [
        ((exchange.Options(), VOLATILE), "success rate", ["0.2", "0.9"]),
        ((VOLATILE, volatility.Options()), "success rate", ["0.1", "0.3", "0.6", "0.9"]),
        ((VOLATILE, exchange.Options()), "class", ["0", "1", "2", "3"]),
    ],
)
def test_figures_by_class_have_the_classes_of_the_runs_world(worlds, name, shown):
    points, whole = results(*worlds)
    drawn = class_figures(whole, ["uniform"], points, "a world")
    assert labels(drawn["selections"]) == labels(drawn["selection_map"]) == shown
    assert drawn["selection_map"].axes[0].get_xlabel() == name
    values = by_class(whole, points)[1]
    assert values.shape == (2, K) and len(np.unique(values)) == len(shown)
    picture = np.asarray(drawn["selection_map"].axes[0].collections[0].get_array())
    counts, first = whole["times_selected"].values, np.sort(np.unique(values))[0]
    lowest = [c[v == first][0] for c, v in zip(counts, values, strict=True)]  # known before the run, unlike the most
    assert picture[0, 0] == pytest.approx(np.mean(lowest) / 3)


@pytest.mark.parametrize("world", [wireless.Options(), ALIKE])
def test_there_are_no_figures_by_class_where_all_clients_are_alike(world):
    points, whole = results(VOLATILE, world)
    assert class_figures(whole, ["uniform"], points, "a world") == {}


def test_rounds_before_the_first_cohort_have_no_success_ratio():
    figure = participation(results(VOLATILE)[1], ["uniform"], "a world")  # numpy's warning would fail here
    assert np.isnan(figure.axes[0].lines[0].get_ydata()).tolist() == [True, True, False]


def test_an_e3cs_experiment_ends_well_in_other_worlds(tmp_path, capsys):
    settings = dataclasses.replace(
        cifar_e3cs.PRESETS["quick"], seeds=2, num_rounds=2, out=tmp_path, schemes=("uniform", "fedcs"), eval_every=1,
        targets=(), sweep=("environment=exchange,wireless",),
    )  # fmt: skip
    training.main(settings)
    said = capsys.readouterr().out
    assert "environment = exchange" in said and "Figures" in said
    stems = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert {s for s in stems if s.startswith("selection")} == {
        f"{kind}_primary_fedavg_8_environment_exchange" for kind in ("selections", "selection_map")
    }
    assert len(pd.read_csv(tmp_path / "tables" / "per_run.csv")) == 2 * 2 * 2


@pytest.mark.proof
@pytest.mark.parametrize("world", ["exchange", "wireless"])
def test_e3cs_without_training(tmp_path, world):
    settings = e3cs_numerical.Settings(
        seeds=2, num_rounds=8, num_clients=8, cohort_size=3, out=tmp_path, set=(f"environment={world}",)
    )
    e3cs_numerical.main(settings)
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert "top_class_used" not in runs and len(runs) == 2 * (2 + 4 + 8 + 4)
    assert "count_class_0" in runs and ("count_class_3" in runs) == (world == "exchange")
    assert (tmp_path / "figures" / "fig3_selections_faithful.png").exists() == (world == "exchange")
    assert (tmp_path / "figures" / "fig4_participation_faithful.png").exists()


@pytest.mark.proof
def test_rbcs_f_without_training(tmp_path):
    settings = rbcs_f_numerical.Settings(seeds=2, num_rounds=8, out=tmp_path, set=("environment=wireless",))
    rbcs_f_numerical.main(settings)
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert runs.bound.isna().all() and not runs.learning[runs.scheme == "rbcs-f-20"].isna().any()
    with pytest.raises(ConfigError, match="--reading is about the world of linear exchange times"):
        rbcs_f_numerical.main(dataclasses.replace(settings, reading="faithful"))


@pytest.mark.parametrize("given", ["environment=exchange", "environment.model_bits=1e4"])
def test_the_studies_of_cs_ucb_are_about_the_wireless_cell(tmp_path, given):
    settings = cs_ucb_numerical.Settings(seeds=2, out=tmp_path / "refused", set=(given,))
    with pytest.raises(ConfigError, match=f"{given.partition('=')[0]} is part of the studies here"):
        cs_ucb_numerical.main(settings)
    assert not (tmp_path / "refused").exists()


TINY = {"seeds": 2, "num_clients": 4, "samples": 160, "batch_size": 8, "budget": 2.0, "num_rounds": 6}


@pytest.mark.proof
def test_a_world_without_costs_has_no_communication(tmp_path, capsys):
    world, tiny = ("environment=exchange",), TINY | {"sizes": (6,), "partitions": ("iid",)}
    settings = dataclasses.replace(eiffel_tau.PRESETS["quick"], out=tmp_path, set=world, **tiny)
    eiffel_tau.main(settings)
    assert "tau, averaged over rounds" in capsys.readouterr().out
    assert "communication" not in pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert not list((tmp_path / "tables").glob("communication*"))


def test_communication_is_left_out_where_the_world_states_no_costs():
    points, whole = results(edge.Options(), exchange.Options())
    more = {"num_steps": (("run", "round"), [[0, 2, 2], [0, 0, 2]]), "ended_round": ("run", [3, 3])}
    more |= {name: (("run", "client"), np.ones((2, K))) for name in ("client_loss", "client_accuracy")}
    whole = whole.assign(more | {"round_time_s": (("run", "round"), np.ones((2, 3)))})
    assert "communication" not in report.columns(points, whole) and "average_tau" in report.columns(points, whole)


@pytest.mark.parametrize("experiment", [eiffel_accuracy, eiffel_budget, eiffel_participants])
def test_eiffels_sweeps_can_be_planned_in_another_world(experiment):
    """The machine that has all the data keeps its own world: the other one may have more classes than one client."""
    settings = dataclasses.replace(experiment.PRESETS["quick"], out=Path(), **TINY, partitions=("iid",))
    settings = dataclasses.replace(settings, set=("environment=exchange",))
    if experiment is eiffel_participants:
        settings = dataclasses.replace(settings, participants=(4,))
    points = experiment.points(settings)
    worlds = {p.coords["method"]: p.config.environment for p in points}
    assert worlds.pop("centralised", eiffel_accuracy.ALONE) == eiffel_accuracy.ALONE
    assert set(worlds.values()) == {exchange.Options()}
    assert plan(points, [0], Layout())


def test_a_single_scheme_has_a_table_of_its_mean(tmp_path, capsys):
    runs = pd.DataFrame({"scheme": "eiffel", "seed": range(3), "final_accuracy": [0.5, 0.6, 0.7]})
    more = pd.concat([runs, runs.assign(scheme="lls", final_accuracy=runs.final_accuracy - 0.1)])
    for rows, words in ((runs, "pointwise 95 % t interval"), (more, "Primary metric: final_accuracy")):
        report.compared(rows, "final_accuracy", "eiffel", "digits", "stem", Output(tmp_path), Console(width=120))
        assert words in " ".join(capsys.readouterr().out.split())
    written = pd.read_csv(tmp_path / "tables" / "stem.csv")
    assert written["verdict"].tolist() == ["too few seeds"] and written["mean_reference"].tolist() == [0.6]
