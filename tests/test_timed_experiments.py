"""The commands of RBCS-F and CS-UCB from end to end at a tiny size."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import jfed
from experiments import (
    cs_ucb_numerical,
    cs_ucb_training,
    rbcs_f_numerical,
    rbcs_f_training,
)
from jfed import config
from jfed.claims import gather, judge_all
from jfed.core.errors import ConfigError
from jfed.data.load import load

pytestmark = [pytest.mark.usefixtures("plain_pdf"), pytest.mark.check]


@pytest.mark.proof
def test_rbcs_f_numerical(tmp_path, capsys):
    settings = rbcs_f_numerical.Settings(seeds=3, num_rounds=20, out=tmp_path, set=("selector.alpha=0.2",))
    rbcs_f_numerical.main(settings)
    assert "scheme minus uniform" in capsys.readouterr().out
    assert {p.name for p in (tmp_path / "figures").glob("*.png")} == {
        "fig2_queues.png", "fig3_time.png", "fig4_selections.png", "promises.png"
    }  # fmt: skip
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv").set_index(["scheme", "seed"])
    assert len(runs) == 3 * (len(rbcs_f_numerical.SHOWN) + len(rbcs_f_numerical.WEIGHTS))
    own, best = runs.time["rbcs-f-20", 1], runs.time["rbcs-f-true-20", 1]
    assert np.isclose(runs.learning["rbcs-f-20", 1], (own - best) / 20, rtol=1e-4)
    fair = runs.time["rbcs-f-true-100", 1]
    assert np.isclose(runs.regret["rbcs-f-20", 1], (own - fair) / 20, rtol=1e-4)
    assert np.isclose(runs.slack["uniform", 1], runs.lowest_rate["uniform", 1] - 0.15)
    assert runs.loc["uniform"].queue_plateau.isna().all() and (runs.loc["rbcs-f-5"].queue_plateau > 0).all()
    verdicts = judge_all(gather([tmp_path]))
    assert {v.claim.id for v in verdicts if v.finding.seeds == 3} == {"R-2", "R-6"}  # the others: T = 500 or 5000
    with pytest.raises(ConfigError, match=r"cannot promise .* of the rounds to each of"):
        rbcs_f_numerical.main(dataclasses.replace(settings, cohort_size=5))


@pytest.mark.proof
def test_cs_ucb_numerical(tmp_path, capsys):
    settings = cs_ucb_numerical.Settings(
        seeds=3, num_rounds=40, out=tmp_path, channels=(5, 8), betas=(0.1, 1e-5), scaled_channels=(4,), rho=(0.0, 3.5),
        num_clients=8, model_bits=(5e4,),
    )  # fmt: skip
    cs_ucb_numerical.main(settings)
    said = capsys.readouterr().out
    assert "Cumulative regret, s (K = 8, m0 = 50000 bits, T = 40, 3 seeds, N = 5)" in said and "cs-ucb-q-1e-05" in said
    figures = {"queues_50000.png", *(f"fig{i}_50000.png" for i in (1, 3, 4, 5, 7))}
    assert {p.name for p in (tmp_path / "figures").glob("*.png")} == figures
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    names = ("cs_ucb_numerical", "cs_ucb_channels", "cs_ucb_q_numerical", "cs_ucb_q_channels")
    assert [sum(runs.experiment == name) for name in names] == [3 * 4, 3 * 8, 3 * 4, 3 * 2]
    best = runs[runs.scheme == "cs-ucb-best (oracle)"]
    assert (best.regret == 0).all() and (best.regret_late == 0).all() and best.gap_5000.isna().all()
    results = jfed.load(tmp_path / "quotas")
    queued = runs[(runs.scheme == "cs-ucb-q-0.1") & (runs.seed == 2)].iloc[-1]
    row = (results["method"].values == "cs-ucb-q-0.1") & (results["seed"].values == 2)
    rate = results["times_selected"].values[row][0] / 40
    assert np.isclose(queued.slack, (rate - cs_ucb_numerical.QUOTAS).min(), atol=1e-5)
    assert np.isclose(queued.gap, queued.time - 40 * queued.paper_s, rtol=1e-4) and queued.honest_s > queued.paper_s
    assert all(v.finding.verdict in ("not run", "untestable as printed") for v in judge_all(gather([tmp_path])))
    longer = runs[runs.experiment == "cs_ucb_numerical"].assign(num_rounds=5000)
    found = {v.claim.id for v in judge_all({"cs_ucb_numerical": longer}) if v.finding.seeds == 3}
    assert found == {"U-2", "U-3"}  # those whose columns exist after 40 rounds
    for change, sentence in (
        ({"scaled_channels": (2,), "rho": (3.0,)}, "quotas of 3 clients a round in all with k = 2"),
        ({"set": ("cohort_size=3",)}, "cohort_size is part of the studies"),
        ({"set": ("environment.availability=0.5",)}, "environment.availability is part of the studies"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            cs_ucb_numerical.main(dataclasses.replace(settings, out=tmp_path / "refused", **change))
    assert not (tmp_path / "refused").exists()
    slower = cs_ucb_numerical.points(dataclasses.replace(settings, set=("environment.tau_max_s=2.0",)), "ideal")
    assert {getattr(p.config.selector, "tau_max_s", 2.0) for p in slower} == {2.0}


@pytest.mark.proof
def test_training_against_time(tmp_path, capsys):
    settings = dataclasses.replace(
        rbcs_f_training.PRESETS["quick"], seeds=2, num_rounds=4, out=tmp_path, schemes=("uniform", "dirichlet-1"),
        model="linear", gamma1=(math.inf,), targets=(0.01, 0.99),
    )  # fmt: skip
    rbcs_f_training.main(settings)
    assert "schemes, K = 40, gamma_1 = inf" in " ".join(capsys.readouterr().out.split())
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert set(runs.experiment) == {"rbcs_f_training", "rbcs_f_fairness"} and set(runs.gamma_1) == {math.inf}
    assert (runs["rounds to target"] == math.inf).all() and (runs.time > 0).all()
    results = jfed.load(tmp_path)
    one = results.isel(run=[0])
    time, accuracy = np.cumsum(one["round_time_s"].values[0]), one["test_accuracy"].values[0]
    alike = np.all([results[name].values == one[name].values for name in ("seed", "study", "gamma_1")], 0)
    of_seed = results.isel(run=np.flatnonzero(alike))
    until = 0.5 * of_seed["round_time_s"].sum("round").values.min()
    area = sum(a * max(min(end, until) - t, 0) for a, t, end in zip(accuracy, time, [*time[1:], np.inf], strict=True))
    row = runs[(runs.seed == one["seed"].item()) & (runs.gamma_1 == one["gamma_1"].item())]
    row = row[row.scheme == one["method"].item()].iloc[0]
    assert np.isclose(row.area_early, area / until, rtol=1e-4) and 0 < row.area_early < 1
    assert np.isclose(row.jitter, np.diff(accuracy).std(), rtol=1e-3)
    assert (tmp_path / "figures" / "accuracy_by_time_schemes_gamma_1_inf.png").exists()
    with pytest.raises(ConfigError, match="gamma1 must be positive"):
        rbcs_f_training.main(dataclasses.replace(settings, gamma1=(0.0,)))


@pytest.mark.proof
def test_cs_ucb_training(tmp_path, capsys):
    settings = dataclasses.replace(
        cs_ucb_training.PRESETS["quick"], seeds=2, num_rounds=4, out=tmp_path, scenarios=("non-ideal",), targets=()
    )
    cs_ucb_training.main(settings)
    assert "K = 10, non-ideal" in capsys.readouterr().out
    results = jfed.load(tmp_path)
    sizes = np.sort(results["num_samples"].values, 1)
    assert (sizes == [60] * 8 + [300] * 2).all()
    steps = results["num_steps"].values
    assert (steps == results["num_succeeded"].values).all()  # one step each
    quota = cs_ucb_training.points(settings)[-1].config.selector.quota
    assert np.isclose(sum(quota), 2) and np.isclose(quota[0], 5 * quota[-1])


@pytest.mark.parametrize("preset", [*rbcs_f_training.PRESETS.values(), *cs_ucb_training.PRESETS.values()])
def test_presets_of_timed_training_are_complete(preset):
    try:
        load(preset.dataset)
    except ConfigError:
        pytest.skip(f"{preset.dataset} is not here")
    module = rbcs_f_training if isinstance(preset, rbcs_f_training.Settings) else cs_ucb_training
    for point in module.points(preset):
        config.check(point.config)
