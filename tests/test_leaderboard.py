"""The leaderboard: the same number of settings for all, choices on seeds of their own, outcomes, tables and figures."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import experiments.leaderboard as board
import jfed
from experiments.board import report
from experiments.board.candidates import candidates, families, rates
from experiments.board.problems import DATA, WORLDS, problem
from experiments.board.rows import CLIENT_J, OUTCOMES, rows
from experiments.shared.common import Output
from jfed import catalog
from jfed.core.errors import ConfigError


def test_every_scheme_is_in_one_family_and_is_tried_at_as_many_settings():
    every = families(())
    assert not {"best", "everybody"} & set(every) and families(["everybody"])["everybody"]
    assert every["e3cs"] == ["e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc"]
    assert every["uniform"] == ["uniform"] and "random" not in every
    assert catalog.scheme("norm-importance").average_over() == "unscaled" != catalog.scheme("norm-topk").average_over()
    assert every["fedcs"] == ["fedcs"] and every["fedcs-3"] == ["fedcs-3"]
    base = problem("volatility", "digits", 10, 0.2)
    for family, names in every.items():
        tried = candidates(base, family, names, 8)
        assert 4 < len(tried) <= 8 and {p.coords["variant"] for p in tried} == set(names)
        for point in tried:
            reading = point.config.training.average_over
            assert reading == ("returned" if point.config.selector.average_over() is None else "unscaled")
            assert point.config.training.algorithm.learning_rate == point.coords["rate"]
    with pytest.raises(ConfigError, match=r"e3cs has 4 settings of its own: give --num-settings"):
        candidates(base, "e3cs", every["e3cs"], 3)


def test_chosen_schemes_and_unknown_ones():
    assert families(["pow-d"]) == {"uniform": ["uniform"], "pow-d": ["pow-d"]}
    assert families(["e3cs-0.50", "random"]) == {"uniform": ["uniform"], "e3cs-0.5": ["e3cs-0.5"]}
    with pytest.raises(ConfigError, match=r"unknown scheme 'powd-x'"):
        families(["powd-x"])


def test_rates_are_even_on_a_logarithmic_scale():
    assert rates(1) == [0.1] and rates(3) == [0.01, 0.1, 1.0] and rates(5) == [0.01, 0.032, 0.1, 0.32, 1.0]


@pytest.mark.parametrize("data", sorted({*DATA} - {"smartwatch"}))
def test_problems_can_be_run(data):
    for world in WORLDS:
        base = problem(world, data, 4, 0.2)
        jfed.config.check(base)
        assert base.cohort_size == base.num_clients // 5
        counts = () if world in ("volatility", "exchange", "wireless") else ("energy_j",)
        assert base.environment.spends() == counts
    with pytest.raises(ConfigError, match=r"unknown data set 'digit' .did you mean"):
        problem("volatility", "digit", 4, 0.2)


def results(accuracy, times, steps, chosen, client_accuracy):
    """Return results of runs in the problem volatility, digits, with evaluations in every round."""
    import xarray as xr

    runs, horizon = np.shape(accuracy)
    per_round = {"test_accuracy": accuracy, "test_loss": np.ones_like(accuracy), "round_time_s": times,
                 "num_steps": steps, "num_selected": chosen, "num_succeeded": chosen,
                 "num_probed": np.zeros_like(chosen)}  # fmt: skip
    dims = {"test_accuracy": "eval_round", "test_loss": "eval_round"}
    return xr.Dataset(
        {name: (("run", dims.get(name, "round")), np.asarray(x)) for name, x in per_round.items()}
        | {"client_accuracy": (("run", "client"), np.asarray(client_accuracy)),
           "times_selected": (("run", "client"), np.ones(np.shape(client_accuracy), int))},
        coords={"round": np.arange(1, horizon + 1), "eval_round": np.arange(1, horizon + 1)}
        | {name: ("run", [value] * runs) for name, value in
           {"world": "volatility", "data": "digits", "variant": "uniform", "method": "uniform", "oracle": 0}.items()}
        | {"seed": ("run", np.arange(runs)), "rate": ("run", [0.1] * runs)},
    )  # fmt: skip


def test_outcomes_by_hand():
    accuracy = np.linspace(0.5, 0.95, 10)  # 0.8 is reached in round 7
    times, steps, chosen = np.arange(1.0, 11.0), np.full(10, 20), np.full(10, 3)
    clients = np.concatenate([[0.2, 0.4], np.full(18, 0.9), [np.nan]])  # the last one has no data
    found = rows(results([accuracy, accuracy / 2], [times] * 2, [steps] * 2, [chosen] * 2, [clients] * 2))
    first, never = found.iloc[0], found.iloc[1]
    assert first.final_accuracy == pytest.approx(0.95) and first.mean_accuracy == pytest.approx(0.725)
    assert first.worst_clients == pytest.approx(0.3) and first.jain == 1
    assert first.rounds_to_target == 7 and first.seconds_to_target == sum(range(1, 8))
    assert pytest.approx(1.1) == CLIENT_J  # ten steps of 0.01 J, and 1 J
    assert first.energy_to_target == pytest.approx(7 * 3 * 1.1)
    assert first.seconds == 55 and first.energy == pytest.approx(10 * 3 * 1.1)
    assert np.isinf([never.rounds_to_target, never.seconds_to_target, never.energy_to_target]).all()


def made_up(schemes=("uniform", "good", "knows")):
    """Return rows of the leaderboard in which `good` is better, and `knows` is an oracle."""
    rng, found = np.random.default_rng(0), []
    for i, scheme in enumerate(schemes):
        for world in list(WORLDS)[:3]:
            for data in ("digits", "synthetic"):
                for seed in range(4):
                    score = 0.5 + 0.1 * (i > 0) + 0.005 * rng.normal()
                    reached = np.inf if i == 0 and seed == 0 else 40 - 10 * i + rng.integers(5)
                    found.append(
                        {"experiment": "leaderboard", "world": world, "data": data, "variant": scheme, "scheme": scheme,
                         "rate": 0.1, "seed": seed, "num_rounds": 60, "oracle": scheme == "knows", "seconds": 60.0,
                         "energy": 90.0, **dict.fromkeys(OUTCOMES, score), "rounds_to_target": reached,
                         "seconds_to_target": reached, "energy_to_target": reached}
                    )  # fmt: skip
    return pd.DataFrame(found)


def test_tables_and_figures(tmp_path, plain_pdf, capsys):
    output = Output(tmp_path)
    report.write(made_up(), 0.05, output, Console(width=120))
    said = capsys.readouterr().out
    assert "knows" not in said and "Test accuracy, mean of the last tenth of the rounds" in said
    tables = {path.stem for path in tmp_path.glob("tables/*.csv")}
    worlds = [f"{what}_{world}" for what in ("world", "best") for world in list(WORLDS)[:3]]
    assert tables == {*OUTCOMES, "overview", "oracles", "per_run", *worlds}
    first = pd.read_csv(tmp_path / "tables" / f"best_{next(iter(WORLDS))}.csv").set_index("scheme")
    assert first.loc["good", "standing"] == "best" and first.loc["uniform", "standing"] == "worse"
    assert first.loc["uniform", "behind"] == pytest.approx(-0.1, abs=0.01)
    found = pd.read_csv(tmp_path / "tables" / "final_accuracy.csv").set_index("scheme")
    assert found.loc["good", "verdict"] == "better" and found.loc["good", "rank"] == 1
    assert found.loc["good", "difference"] == pytest.approx(0.1, abs=0.01)
    rounds = (tmp_path / "tables" / "rounds_to_target.md").read_text()
    assert "of 24 runs of each scheme these are: uniform 6." in " ".join(rounds.split())
    times = pd.read_csv(tmp_path / "tables" / "rounds_to_target.csv").set_index("scheme")
    known = made_up().query("scheme == 'uniform'").rounds_to_target
    assert times.loc["uniform", "mean"] == pytest.approx(known.where(np.isfinite(known), 60).mean())
    output.savers.finish()
    assert {path.name for path in tmp_path.glob("figures/*.png")} == {"ranks.png", "who_wins_where.png"}
    assert set(pd.read_csv(tmp_path / "tables" / "oracles.csv").scheme) == {"uniform", "knows"}


@pytest.mark.check
def test_a_small_board_resumes_and_a_new_scheme_joins(tmp_path, plain_pdf, capsys):
    small = board.Settings(
        preset="quick", out=tmp_path, schemes=("round-robin",), worlds=("volatility", "exchange"), data=("digits",),
        seeds=2, num_tune_seeds=1, num_settings=2, num_rounds=4,
    )  # fmt: skip
    board.main(small)
    files = set(tmp_path.glob("results/*"))
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert set(runs.scheme) == {"uniform", "round-robin"} and set(runs.seed) == {0, 1} and len(runs) == 8
    board.main(small)
    assert set(tmp_path.glob("results/*")) == files
    board.main(board.Settings(**vars(small) | {"schemes": ("round-robin", "e3cs-0.5")}))
    assert files < set(tmp_path.glob("results/*"))
    joined = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    both = joined[joined.scheme != "e3cs-0.5"].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, runs.reset_index(drop=True))
    capsys.readouterr()


def test_each_problem_has_its_own_choice():
    every = board.tried(board.Settings("quick", out=None, schemes=("e3cs",), worlds=("volatility",),
                                       data=("digits", "digits-iid"), num_settings=4))  # fmt: skip
    assert len(every) == 2 * (4 + 4)
    frame = pd.DataFrame([p.coords for p in every]).rename(columns={"method": "scheme"}).assign(seed=board.TUNING)
    frame["final_accuracy"] = np.where(frame["data"] == "digits", frame["rate"], -frame["rate"]) + 0.1 * (
        frame["variant"] == "e3cs-inc"
    )
    chosen = {(p.coords["data"], p.coords["method"]): p.coords for p in board.best_of(every, frame)}
    assert chosen["digits", "uniform"]["rate"] == 1 and chosen["digits-iid", "uniform"]["rate"] == 0.01
    assert chosen["digits", "e3cs"]["variant"] == chosen["digits-iid", "e3cs"]["variant"] == "e3cs-inc"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"seeds": 1}, "Standings need at least two --seeds"),
        ({"alpha": 1.5}, r"--alpha must lie between 0 and 1, found 1\.5"),
        ({"num_tune_seeds": 0}, "--num-tune-seeds must be at least 1, found 0"),
        ({"data": ()}, "Give at least one of --data"),
    ],
)
def test_mistakes_are_said_before_anything_runs(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        board.tried(dataclasses.replace(board.PRESETS["quick"], **settings))


@pytest.mark.check
def test_a_dry_run_says_both_parts_and_leaves_nothing(tmp_path, capsys):
    settings = board.Settings(
        preset="quick", out=tmp_path / "out", schemes=("round-robin",), worlds=("volatility",), data=("digits",),
        seeds=3, num_tune_seeds=2, num_settings=2, num_rounds=4, dry_run=True,
    )  # fmt: skip
    board.main(settings)
    first, second = capsys.readouterr().out.split("Then, to report")
    assert "Runs      8 in all, 0 of them done" in first and "Runs      6 in all" in second
    assert not settings.out.exists()
    with pytest.raises(ConfigError, match="leave out --on"):
        board.main(dataclasses.replace(settings, on="processes:2"))
