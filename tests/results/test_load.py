"""From files to tidy frames: levels of a sweep, runs that cannot be told apart, and incomplete results."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jfed.core.errors import ConfigError
from jfed.results import load, netcdf


def made(scheme="uniform", seeds=(0, 1), rounds=3, config="c", broken=False, **coords):
    """Return made-up runs of one scheme; the score of seed s is s in every round."""
    n = len(seeds)
    given = {"method": scheme, "mode": "faithful", "oracle": 0, "dataset": "none", "world": "w", "config": config}
    per_run = {name: ("run", [value] * n) for name, value in (given | coords).items()}
    apart = {f"{kind}_seed": ("run", list(seeds)) for kind in ("data", "model", "environment")}
    score = np.repeat(np.array(seeds, float)[:, None], rounds, 1)
    return xr.Dataset(
        {
            "num_succeeded": (("run", "round"), score),
            "test_loss": (("run", "eval_round"), score[:, :2] + [0.0, 0.5]),
            "broken_round": ("run", [int(broken)] * n),
        },
        {"seed": ("run", list(seeds)), "round": np.arange(rounds) + 1, "eval_round": [1, rounds], **per_run, **apart},
    )


def test_files_are_read_as_xarray_reads_them(tmp_path):
    written = made(name="ä").assign(
        bits=(("run", "byte"), np.array([[1, 255], [0, 7]], np.uint8)),
        gap=(("run", "client"), np.array([[0.5, np.nan], [np.inf, -0.0]], np.float32)),
        yes=("run", [True, False]),
        names=("client", ["a", "longer"]),
        none=(("run", "nobody"), np.zeros((2, 0), np.int32)),
        scalar=7,
    )
    written.attrs = {"block_size": 1, "version": "0.1", "shape": [2, 3], "rate": 0.5}
    written["gap"].attrs["unit"] = "s"
    written.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    got, expected = netcdf.read(tmp_path / "a.nc"), xr.load_dataset(tmp_path / "a.nc", engine="h5netcdf")
    xr.testing.assert_identical(got, expected)
    assert {k: v.dtype for k, v in got.variables.items()} == {k: v.dtype for k, v in expected.variables.items()}
    xr.testing.assert_identical(got, written)


def test_levels_of_a_sweep():
    parts = [made("e3cs-0", k=k, eta=eta) for k in (2, 3) for eta in (0.1, 0.5)] + [
        made("uniform", k=k) for k in (2, 3)
    ]
    whole = load.combine(parts)
    assert load.settings(whole) == ["k", "eta"]
    levels = load.swept(whole)
    assert [level for level, _ in levels] == [{"k": k, "eta": eta} for k in (2, 3) for eta in (0.1, 0.5)]
    for level, rows in levels:  # uniform has no eta and is in every level of its k
        part = whole.isel(run=rows)
        assert sorted(part["method"].values) == ["e3cs-0"] * 2 + ["uniform"] * 2 and set(part["k"].values) == {
            level["k"]
        }
    assert [level for level, _ in load.swept(whole.drop_vars("eta"))] == [{"k": 2}, {"k": 3}]
    assert [(level, rows.tolist()) for level, rows in load.swept(made())] == [({}, [0, 1])]


def test_combinations_that_were_never_run_are_no_levels():
    whole = load.combine([made("a", k=2, d=5), made("a", k=3, d=6), made("b")])
    assert [level for level, _ in load.swept(whole)] == [{"k": 2, "d": 5}, {"k": 3, "d": 6}]


def test_runs_that_lack_a_setting_which_all_others_of_their_kind_vary_are_levels_too():
    cell = [made("a", rates=rates) for rates in (1.0, 2.0)]
    whole = load.combine([*cell, made("a", world="other", size=5), made("b", world="other", size=5)])
    levels = load.swept(whole)
    assert [level for level, _ in levels] == [
        {"world": "w", "rates": 1.0}, {"world": "w", "rates": 2.0}, {"world": "other", "size": 5.0}
    ]  # fmt: skip
    assert sorted(row for _, rows in levels for row in rows) == list(range(8))


def test_a_part_ends_with_its_longest_run_and_has_its_own_evaluations():
    short, long = made("a", rounds=3, T=3), made("a", rounds=6, T=6).assign_coords(eval_round=[4, 6])
    whole = load.combine([one.assign(times_selected=(("run", "client"), np.ones((2, 1)))) for one in (short, long)])
    assert whole.sizes["round"] == 6 and whole["eval_round"].values.tolist() == [1, 3, 4, 6]
    first, second = (load.part(whole, rows) for _, rows in load.swept(whole))
    assert first.sizes["round"] == 3 and first["eval_round"].values.tolist() == [1, 3]
    assert second.sizes["round"] == 6 and second["eval_round"].values.tolist() == [4, 6]
    assert first["test_loss"].notnull().all() and second["num_succeeded"].values[:, -1].tolist() == [0, 1]
    broken = second.assign(test_loss=second["test_loss"].where(second["eval_round"] < 6))
    assert load.part(broken, np.arange(2))["eval_round"].values.tolist() == [4, 6]  # its models broke, and that is seen


def test_scores():
    assert load.score(made(), "num_succeeded").values.tolist() == [0, 3]
    assert load.score(made(), "test_loss").values.tolist() == [0.5, 1.5]
    longer = load.combine([made("a", rounds=3), made("b", rounds=5)])  # filled up with NaN
    assert load.score(longer, "num_succeeded").values.tolist() == [0, 3, 0, 5]
    assert load.score(longer, "test_loss").values.tolist() == [0.5, 1.5, 0.5, 1.5]
    with pytest.raises(ConfigError, match=r"unknown metric 'test_los'.*did you mean 'test_loss'"):
        load.score(made(), "test_los")


def test_a_broken_run_has_no_score():
    whole = load.combine([made("a"), made("b", broken=True)])
    frame = load.tidy(whole, {"x": load.score(whole, "test_loss")}, keep=["data_seed"])
    assert frame.x.tolist()[:2] == [0.5, 1.5] and frame.x.isna().tolist() == [False, False, True, True]
    assert frame.data_seed.tolist() == [0, 1, 0, 1]


def test_runs_of_two_worlds_under_one_name():
    whole = load.combine([made(config="one"), made(config="other")])
    with pytest.raises(ValueError, match=r"2 too many, the first is seed 0 of uniform. Give each experiment an --out"):
        load.tidy(whole, {"x": load.score(whole, "num_succeeded")})
    worlds = load.combine([made(world="cell"), made(world="exchange")])
    assert [level for level, _ in load.swept(worlds)] == [{"world": "cell"}, {"world": "exchange"}]


def test_shared_seeds_come_with_every_frame():
    assert "data_seed" not in load.tidy(made(), {})
    crossed = made(seeds=(0, 1, 2, 3)).assign_coords(data_seed=("run", [0, 0, 1, 1]), model_seed=("run", [0, 1, 0, 1]))
    frame = load.tidy(crossed, {})
    assert frame.data_seed.tolist() == [0, 0, 1, 1] and frame.model_seed.tolist() == [0, 1, 0, 1]


def test_what_is_no_whole_result(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There are no results in .*: run an experiment with --out"):
        load.load(tmp_path)
    (tmp_path / "checkpoints" / "unit").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="is finished yet: repeat the command that began it"):
        load.load(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    made().to_netcdf(folder / "a.nc", engine="h5netcdf")
    (folder / "b.nc.7.part").write_bytes(b"half")  # being written
    assert load.load(tmp_path).sizes["run"] == 2
    whole = (folder / "a.nc").read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"scheme,seed\n"):
        (folder / "b.nc").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"b\.nc is damaged: delete it"):
            load.load(tmp_path)
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(folder / "b.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match=r"b\.nc is no result of jfed"):
        load.load(tmp_path)


def test_a_run_in_two_files_is_one():
    assert load.combine([made(), made(seeds=(1, 2))]).seed.values.tolist() == [0, 1, 2]
    assert isinstance(load.tidy(made(), {}), pd.DataFrame)
