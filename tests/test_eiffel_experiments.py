"""Eiffel's experiments from end to end at a tiny size, and their measures of a run."""

import dataclasses
import importlib

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import jfed
from experiments import eiffel_accuracy, eiffel_budget, eiffel_fairness, eiffel_participants, eiffel_tau
from experiments.eiffel import report
from jfed.claims import read
from jfed.commands import drawing
from jfed.config import digest
from jfed.core.errors import ConfigError
from jfed.envs import edge
from jfed.runner.units import Layout, plan

pytestmark = [pytest.mark.usefixtures("plain_pdf"), pytest.mark.check]
TINY = {"seeds": 2, "num_clients": 4, "samples": 160, "batch_size": 8, "budget": 2.0, "num_rounds": 15}


def tiny(experiment, out, **delta):
    return dataclasses.replace(experiment.PRESETS["quick"], out=out, **TINY | delta)


@pytest.mark.proof
def test_fairness(tmp_path, capsys):
    eiffel_fairness.main(tiny(eiffel_fairness, tmp_path, schemes=("eiffel", "q-ffl")))
    assert "Variance of the clients' losses (digits, non-iid, K = 4, svm" in capsys.readouterr().out
    runs, results = pd.read_csv(tmp_path / "tables" / "per_run.csv"), jfed.load(tmp_path)
    assert list(runs.scheme) == ["eiffel", "eiffel", "q-ffl", "q-ffl"] and set(runs["mode"]) == {"corrected"}
    losses = results["client_loss"].values
    np.testing.assert_allclose(runs.loss_variance, losses.var(1), rtol=1e-4)
    np.testing.assert_allclose(runs.worst10, losses.max(1), rtol=1e-4)
    assert (runs.spent < 2.0 + 0.6).all() and (runs.aggregations > 2).all() and (runs.average_tau >= 1).all()
    assert {f"{n}_non-iid_svm" for n in ("client_losses", "tau", "accuracy_by_time")} <= {
        p.stem for p in (tmp_path / "figures").iterdir()
    }


@pytest.mark.proof
def test_a_network_learns_under_a_budget(tmp_path):
    """Estimates, search and fairness work for a model with biases: the paper's network for Fashion-MNIST, on digits."""
    delta = {"schemes": ("eiffel",), "model": "wang", "seeds": 1, "budget": 4.0, "partitions": ("iid",)}
    eiffel_fairness.main(tiny(eiffel_fairness, tmp_path, learning_rate=0.05, **delta))
    results = jfed.load(tmp_path)
    loss = results["test_loss"].values[0]
    assert loss[-1] < 0.9 * loss[0] and results["controller_tau"].values.max() > 1
    assert np.isfinite(results["client_loss"].values).all() and results["controller_spent"].values[0, -1] < 4.3


@pytest.mark.proof
def test_tau_and_modes(tmp_path):
    eiffel_tau.main(tiny(eiffel_tau, tmp_path, sizes=(3, 4), mode="faithful"))
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert len(runs) == 2 * 2 * 2 * 2 and set(runs["size"]) == {3, 4} and set(runs.partition) == {"iid", "non-iid"}
    assert (runs[runs.scheme == "adaptive-fl"].participants == runs[runs.scheme == "adaptive-fl"]["size"]).all()


@pytest.mark.proof
def test_accuracy_against_fixed_tau(tmp_path, capsys):
    eiffel_accuracy.main(tiny(eiffel_accuracy, tmp_path, taus=(2,), partitions=("iid",)))
    assert "tau_iid" in capsys.readouterr().out
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    kinds = ["eiffel", "eiffel-tau-2", "adaptive-fl", "adaptive-fl-tau-2", "centralised"]
    assert list(dict.fromkeys(runs.scheme)) == kinds and not runs.final_accuracy.isna().any()
    assert (runs[runs.scheme == "eiffel-tau-2"].average_tau <= 2).all()
    alone = runs[runs.scheme == "centralised"]
    assert (alone.communication == 0).all() and (alone.spent > 1.8).all()
    for seed in (0, 1):
        own = runs[runs.seed == seed].set_index("scheme")
        less = own.mean_loss["eiffel"] - own.mean_loss["eiffel-tau-2"]
        assert own.loss_minus_best_fixed["eiffel"] == pytest.approx(less, abs=1e-5)


@pytest.mark.proof
def test_budgets_and_participants(tmp_path):
    eiffel_budget.main(tiny(eiffel_budget, tmp_path / "a", budgets=(1.0, 2.0)))
    runs = pd.read_csv(tmp_path / "a" / "tables" / "per_run.csv")
    assert (runs.groupby("budget").spent.max() < runs.groupby("budget").budget.first() + 0.6).all()
    eiffel_participants.main(tiny(eiffel_participants, tmp_path / "b", participants=(2, 4), taus=(3,)))
    runs = pd.read_csv(tmp_path / "b" / "tables" / "per_run.csv")
    many = runs.groupby("scheme").participants.mean()
    assert many["eiffel-2"] < many["eiffel-4"] == 4 and len(runs) == 2 * 2 * 2 * 2


@pytest.mark.parametrize(
    "experiment", [eiffel_fairness, eiffel_tau, eiffel_accuracy, eiffel_budget, eiffel_participants]
)
def test_presets_are_complete(experiment):
    """Every preset makes points that can be planned; the digits replace its data set."""
    for settings in experiment.PRESETS.values():
        made = experiment.points(dataclasses.replace(settings, dataset="digits", samples=1400))
        assert len({str(p.coords) for p in made}) == len(made)
        kinds = {(p.coords.get("curve"), p.coords["method"].partition("-tau-")[0]): p for p in made}
        assert len(plan(list(kinds.values()), [0], Layout())) == len(kinds)


def test_claims_name_schemes_and_settings_of_their_experiments():
    for claim in (c for c in read() if c.paper == "Eiffel"):
        points = importlib.import_module(f"experiments.{claim.runs}").PRESETS["small"]
        made = importlib.import_module(f"experiments.{claim.runs}").points(points)
        schemes, coords = {p.coords["method"] for p in made}, {name for p in made for name in p.coords}
        for test in claim.tests:
            lists = [test.get(kind, []) for kind in ("order", "equal", "ratio", "schemes")]
            lists += test.get("differences", [])
            assert {n for names in lists for n in names} | set(test.get("near", {})) <= schemes, claim.id
            assert set(claim.by) | set(test.get("where", {})) | set(test.get("at", [])) <= coords, claim.id
            for name, value in test.get("where", {}).items():
                assert value in {p.coords[name] for p in made}, claim.id


def test_what_is_measured_of_a_run():
    """The example is a run of three rounds: tau 4 and 2, then a look without steps; 3 of 4 clients, one failure."""
    world = edge.Options(exchange_s=(0.2, 0.1), transfers=3)
    point = jfed.Point(jfed.Config(environment=world))
    whole = xr.Dataset(
        {
            "num_steps": (("run", "round"), [[12, 4, 0]]),
            "num_selected": (("run", "round"), [[3, 3, 3]]),
            "num_succeeded": (("run", "round"), [[3, 2, 3]]),
            "round_time_s": (("run", "round"), [[1.0, 2.0, 0.5]]),
            "client_loss": (("run", "client"), [[1.0, 2.0, 3.0, 6.0]]),
            "client_accuracy": (("run", "client"), [[0.5, 0.5, 0.5, 0.5]]),
            "ended_round": ("run", [3]),
        },
        {"mode": ("run", ["corrected"]), "config": ("run", [digest(point.config)])},
    )
    told = report.columns([jfed.Point(jfed.Config()), point], whole)
    found = {name: x if isinstance(x[0], str) else float(x[0]) for name, x in told.items()}
    assert (found["average_tau"], found["average_tau_weighted"], found["aggregations"]) == (3.0, 20 / 6, 2.0)
    assert (found["participants"], found["spent"], found["accuracy_variance"]) == (3.0, 3.5, 0.0)
    assert found["communication"] == pytest.approx(6 * 3 * 0.2)
    assert (found["accuracy_mean"], found["accuracy_worst10"], found["accuracy_jain"]) == (0.5, 0.5, 1.0)
    assert (found["mean_loss"], found["loss_variance"], found["worst10"], found["best10"]) == (3.0, 3.5, 6.0, 1.0)


@pytest.mark.parametrize(("ended", "shown"), [([4, 9], 3), ([4, 10], 3), ([4, 3], 2), ([4, 0], 6), (None, 6)])
def test_curves_over_rounds_end_where_the_last_run_does(ended, shown):
    results = xr.Dataset() if ended is None else xr.Dataset({"ended_round": ("run", ended)})
    assert drawing.until_over(results, np.array([2, 5, 10, 15, 20, 22])) == shown


def test_curves_over_a_setting():
    rows = [("a", x, seed, x + seed) for x in (1.0, 3.0) for seed in (0, 1)] + [("b", np.nan, s, 9.0) for s in (0, 1)]
    figure = report.over(
        pd.DataFrame(rows, columns=["curve", "x", "seed", "y"]), "x", "curve", {"y": "why"}, "x", "digits"
    )
    drawn = {str(line.get_label()): line.get_ydata() for line in figure.axes[0].get_lines()}
    np.testing.assert_allclose(drawn["a"], [1.5, 3.5])
    np.testing.assert_allclose(drawn["b"], [9.0, 9.0])
    plt.close(figure)


@pytest.mark.parametrize(
    ("experiment", "delta", "sentence"),
    [
        (eiffel_fairness, {"schemes": ()}, "at least one of --schemes"),
        (eiffel_fairness, {"momentum": 0.9}, "algorithm adaptive makes plain .*: give --momentum 0 in place of 0.9."),
        (eiffel_fairness, {"minutes": -1.0}, "--minutes must be at least 0, found -1.0."),
        (eiffel_fairness, {"seeds": 0}, "--seeds 0 asks for no seed: give how many"),
        (eiffel_fairness, {"budget": 0.1}, "A budget of 0.1 is too small for one round"),
        (eiffel_fairness, {"power": (1.0, 0.0)}, "A client's compute power must be positive, found"),
        (eiffel_fairness, {"num_clients": 0}, "There must be at least one client, found K = 0."),
        (eiffel_fairness, {"budget": float("inf")}, "A budget must be positive and finite, found inf."),
        (eiffel_accuracy, {"budget": float("nan")}, "A budget must be positive and finite, found nan."),
        (eiffel_accuracy, {"num_rounds": 0}, "There must be at least one round, found T = 0."),
        (
            eiffel_fairness,
            {"set": ("selector.kappa=2.0",), "schemes": ("eiffel",)},
            r"Eiffel's kappa must lie in \[0, 1\], found 2.",
        ),
        (eiffel_fairness, {"set": ("controller.budgets=(3.0,)",)}, "controller.budgets has a flag of its own"),
        (eiffel_accuracy, {"taus": (0,)}, "A fixed tau must be at least 1"),
        (
            eiffel_accuracy,
            {"sweep": ("environment.transfers=1,2",)},
            "This experiment is a sweep: leave out --sweep and --tune-seeds.",
        ),
        (eiffel_budget, {"budgets": ()}, "at least one of --budgets"),
        (eiffel_participants, {"participants": ()}, "at least one of --participants"),
        (eiffel_participants, {"participants": (5,)}, "Cannot select k = 5 of K = 4"),
    ],
)
def test_a_users_mistake_is_one_sentence(tmp_path, experiment, delta, sentence):
    with pytest.raises(ConfigError, match=sentence):
        experiment.main(tiny(experiment, tmp_path, **delta))
