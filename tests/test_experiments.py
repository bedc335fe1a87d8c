"""The experiments' commands from end to end at a tiny size, and generated documents."""

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import jfed
from experiments import (
    cifar_e3cs,
    e3cs_numerical,
    e3cs_tables,
    emnist_e3cs,
)
from experiments.e3cs import training
from experiments.shared.common import _preset
from jfed import config
from jfed.claims import gather
from jfed.commands import table
from jfed.commands.choices import Choices
from jfed.core.errors import ConfigError
from jfed.paths import parse_axes, parse_settings
from jfed.sweep import changed
from tools import claims, schemes

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.usefixtures("plain_pdf"), pytest.mark.check]


@pytest.mark.parametrize("algorithms", [("fedprox",), pytest.param(("fedavg", "fedprox"), marks=pytest.mark.proof)])
def test_training_experiment_leaves_tables_figures_and_results(tmp_path, capsys, algorithms):
    quick = cifar_e3cs.PRESETS["quick"]
    settings = dataclasses.replace(
        quick, seeds=2, num_rounds=3, out=tmp_path, schemes=("uniform", "fedcs"), eval_every=2, targets=(0.01, 0.99),
        algorithms=algorithms, cohort_sizes=(8, 5), tensorboard=True,
    )  # fmt: skip
    training.main(settings)
    said = capsys.readouterr().out
    assert "digits" in said and "CIFAR" not in said and "> 3" in said
    levels = [f"primary_{x}_8" for x in algorithms] + [f"primary_{algorithms[0]}_5"]
    many = 4 * len(levels)
    tables = ("cep", "final_accuracy", "last10_accuracy", "rounds_to_accuracy", "rounds_to_1")  # no run reaches 99 %
    wide = {f"wide_{t}" for t in ("cep", "final_accuracy", "last10_accuracy", "rounds")}
    assert {p.stem for p in (tmp_path / "tables").glob("*.tex")} == wide | {f"{t}_{x}" for t in tables for x in levels}
    figures = ("accuracy", "accuracy_by_models", "accuracy_by_steps", "participation", "selections", "selection_map")
    figures += ("arrivals_1", "differences_cep", "differences_final_accuracy")
    assert {p.stem for p in (tmp_path / "figures").glob("*.png")} == {f"{f}_{x}" for f in figures for x in levels}
    assert all(p.stat().st_size > 2000 for p in (tmp_path / "figures").iterdir() if p.suffix != ".csv")
    again = {f"{f}_{x}" for f in figures[:6] for x in levels}  # those that can be drawn again
    assert {p.stem for p in (tmp_path / "figures").glob("*.csv")} == again
    assert {p.name.split(",")[0] for p in (tmp_path / "tensorboard").iterdir()} == {"uniform", "fedcs"}
    results = jfed.load(tmp_path)
    assert results.sizes["run"] == many and list(results["eval_round"].values) == [2, 3]
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert runs["cep"].sum() == results["num_succeeded"].sum() and len(runs) == many
    assert set(runs["scheme"]) == {"uniform", "fedcs (oracle)"}
    assert (runs["rounds to 1 %"] == 2).all() and np.isinf(runs["rounds to 99 %"]).all()


@pytest.mark.proof
def test_a_sweep_of_a_training_experiment_reports_its_best_on_other_seeds(tmp_path, capsys):
    settings = dataclasses.replace(
        cifar_e3cs.PRESETS["quick"], seeds=3, num_rounds=2, out=tmp_path, schemes=("uniform", "e3cs-0"), eval_every=2,
        targets=(), sweep=("training.algorithm.learning_rate=0.001,0.1",), tune_seeds=(0,),
    )  # fmt: skip
    training.main(settings)
    said = " ".join(capsys.readouterr().out.split())
    assert "each scheme's best of learning_rate" in said and "selected on 1 tune seed and reported on 2" in said
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert len(runs) == 12
    best = pd.read_csv(tmp_path / "tables" / "final_accuracy_best_primary_fedavg_8.csv")
    chosen = runs[(runs.scheme == "uniform") & (runs.seed == 0)].set_index("learning_rate").final_accuracy.idxmax()
    reported = runs[(runs.scheme == "uniform") & (runs.seed > 0) & (runs.learning_rate == chosen)].final_accuracy
    assert best.n.item() == 2 and np.isclose(best.mean_reference.item(), reported.mean(), rtol=1e-5)
    ranked = pd.read_csv(tmp_path / "tables" / "final_accuracy_primary_fedavg_8_ranking.csv")
    assert len(ranked) == 4 and ranked["mean"].is_monotonic_decreasing
    for change, sentence in (
        ({"tune_seeds": (0, 1, 2)}, "must be some of the 3 seeds, not all"),
        ({"tune_seeds": (3,)}, "must be some of the 3 seeds"),
        ({"sweep": ()}, "for choosing among the schemes' settings: name them with --sweep"),
        ({"sweep": ("cohort_size=3,4",), "tune_seeds": ()}, "cohort_size has a flag of its own"),
        ({"sweep": ("selector.etta=3,4",)}, "unknown setting in 'selector.etta': 'etta' .did you mean 'eta'"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            training.main(dataclasses.replace(settings, **change))


@pytest.mark.check
def test_a_dry_run_of_an_experiment_leaves_nothing(tmp_path, capsys):
    few = {"seeds": 2, "num_rounds": 3, "eval_every": 1, "schemes": ("uniform", "fedcs")}
    with pytest.raises(SystemExit) as ended:
        training.main(dataclasses.replace(cifar_e3cs.PRESETS["quick"], out=tmp_path / "out", dry_run=True, **few))
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "Runs      4 in all, 0 of them done" in said and "Disk      at most" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("preset", [*emnist_e3cs.PRESETS.values(), *cifar_e3cs.PRESETS.values()], ids=lambda p: p.out)
def test_presets_are_complete(preset):
    points = training.points(preset)
    sizes = len(preset.algorithms) + len(preset.cohort_sizes) - 1
    assert len(points) == 7 * len(preset.partitions) * sizes
    for point in points:
        config.check(point.config)
    prox = {p.coords["algorithm"]: p.config.training.algorithm.prox for p in points}
    assert all(value == {"fedavg": 0.0, "fedprox": 0.5}[name] for name, value in prox.items())


def test_preset_is_read_before_the_other_flags():
    names = ["quick", "paper"]
    assert _preset(["--seeds", "3"], names) == "quick"
    assert _preset(["--seeds", "3", "--preset", "paper"], names) == _preset(["--preset=paper"], names) == "paper"
    assert _preset(["--preset", "none"], names) == "quick"  # tyro refuses it


@pytest.mark.proof
def test_numerical_experiment(tmp_path, capsys):
    settings = e3cs_numerical.Settings(seeds=2, num_rounds=8, num_clients=8, cohort_size=3, out=tmp_path)
    e3cs_numerical.main(settings)
    assert "Regret" in capsys.readouterr().out
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    inc = runs[(runs.scheme == "e3cs-inc") & (runs.eta == 0.5)].sort_values(["mode", "seed"])
    zero = runs[(runs.scheme == "e3cs-0") & (runs.eta == 0.5)].sort_values(["mode", "seed"])
    assert (inc.cep_quarter.to_numpy() == zero.cep_quarter.to_numpy()).all()  # the same scheme until T/4
    assert len(runs) == 2 * (2 + 4 + 8 + 4)
    assert (tmp_path / "figures" / "fig4_participation_corrected.pdf").exists()


def test_a_sweep_gets_a_table_for_each_setting(tmp_path, capsys):
    base = jfed.Config(num_clients=8, num_rounds=6)
    points = jfed.product(jfed.methods(base, ["uniform", "e3cs-0.5"]), {"cohort_size": [2, 3]})
    jfed.run(points, range(3), out=tmp_path, progress=False, layout=jfed.Layout(block_size=2))
    table.main(table.Settings(tmp_path), Console())
    said = capsys.readouterr().out
    assert "cohort_size = 2" in said and "cohort_size = 3" in said
    assert (tmp_path / "tables" / "num_succeeded_cohort_size_3.csv").exists()
    with pytest.raises(ConfigError, match=r"unknown metric 'num_suceeded' \(did you mean 'num_succeeded'"):
        table.main(table.Settings(tmp_path, Choices(metric=("num_suceeded",))), Console())


def test_the_docs_list_schemes_and_worlds_as_they_are():
    text = schemes.PAGE.read_text()
    assert schemes.renewed(text) == text
    assert "| with training | with training | with training |" in text and text.count(" | yes | yes | yes |") > 12


def test_theorem_1():
    base = jfed.Config()
    assert e3cs_numerical.regret_bound(base, "0") == pytest.approx(9597, abs=1)
    assert e3cs_numerical.theorem_eta(base, "0") == pytest.approx(0.096, abs=1e-3)


def test_reproduction_table_is_what_the_runs_say():
    found = gather(sorted((ROOT / "experiments" / "reproduction").glob("*.csv")))
    assert (ROOT / "experiments" / "README.md").read_text() == claims.document(found)


def test_settings_by_path():
    assert parse_settings(["selector.eta=0.1", "training.average_over=returned", "a=(1,2)"]) == {
        "selector.eta": 0.1,
        "training.average_over": "returned",
        "a": (1, 2),
    }
    axes = ["selector.eta=0.1,0.5", "missing=all,returned", "k=3", "rates=[(0.2,0.8)]"]
    found = {"selector.eta": [0.1, 0.5], "missing": ["all", "returned"], "k": [3], "rates": [(0.2, 0.8)]}
    assert parse_axes(axes) == found
    points = jfed.methods(jfed.Config(), ["uniform", "e3cs-0"])
    for_e3cs = changed(points, {"selector.eta": 0.1})
    assert for_e3cs[0] == points[0] and for_e3cs[1].config.selector.eta == 0.1
    with pytest.raises(ConfigError, match=r"selector\.eta must be float, found 'x'"):
        changed(points, {"selector.eta": "x"})
    timed = jfed.methods(
        jfed.Config(num_clients=40, cohort_size=8), ["rbcs-f-5", "cs-ucb-q-0.1", "fedcs-3", "dirichlet-1"]
    )
    for named in ("selector.V", "selector.beta", "selector.deadline_s", "selector.gamma2"):
        with pytest.raises(ConfigError, match="since the name of a scheme determines it"):
            changed(timed, {named: 1.0})
    for named in ("selector.quota", "selector.sampler", "mode"):
        with pytest.raises(ConfigError, match="since the name of a scheme determines it"):
            changed(points, {named: "exact"})
    (quotas,) = changed(timed[1:2], {"selector.quota": 0.1})  # there the number is beta
    assert quotas.config.selector.quota == 0.1
    with pytest.raises(ConfigError, match=r"unknown setting in 'selector\.etta': 'etta' \(did you mean 'eta'"):
        changed(points[1:], {"selector.etta": 1})


def test_stages_of_the_tables_grow():
    stages = e3cs_tables.stages(e3cs_tables.Time())
    del stages[1]  # CIFAR-10 with fewer rounds
    for data in ("emnist_letters", "cifar10"):
        own = [(set(map(str, training.points(s))), s.seeds) for s in stages if s.dataset == data]
        assert len(own) == 3
        for (fewer, seeds), (more, more_seeds) in itertools.pairwise(own):
            assert fewer <= more and seeds <= more_seeds


def test_tables_of_other_data_sets():
    asked = e3cs_tables.Time(tables=("cifar",), cifar="digits", samples_per_client=10, num_rounds=3, num_stages=2)
    stages = e3cs_tables.stages(asked)
    assert len(stages) == 2 and {(s.dataset, s.samples_per_client, s.num_rounds) for s in stages} == {("digits", 10, 3)}
    assert len(training.points(stages[0])) == 7
    for changes, sentence in (
        ({"tables": ()}, "Give at least one of --tables"),
        ({"num_stages": 0}, "There is no stage among 0"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            e3cs_tables.within(dataclasses.replace(asked, **changes))


@pytest.mark.proof
def test_tables_within_a_time(tmp_path, capsys):
    e3cs_tables.within(e3cs_tables.Time(minutes=0.01, preset="quick", out=tmp_path))
    said = capsys.readouterr().out
    assert "Stage 1 of 7" in said and "The time is up" in said and "Stage 2" not in said


@pytest.mark.proof
def test_a_users_mistake_is_one_sentence():
    command = [sys.executable, "-m", "experiments.cifar_e3cs", "--schemes", "e3sc-0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: unknown scheme 'e3sc-0' (did you mean 'e3cs-NUMBER'")
