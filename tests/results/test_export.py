"""Long frames of a result: every number is in its row, in frames and in files."""

import math
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from support import SELECTION, points, run

import jfed
from jfed.core.errors import ConfigError
from jfed.results.export import per_client, per_round, per_selection, write
from jfed.results.load import combine, part, swept

K, T = 8, 4
RECORDED = jfed.Layout(block_size=2, chunk_rounds=T, record_selected=True)


@pytest.fixture(scope="module")
def selected():
    """Return runs of two cohort sizes on two seeds, with every cohort."""
    base = jfed.replace(SELECTION, {"num_rounds": T})
    return run(jfed.product(points(base, "random"), {"cohort_size": [3, 4]}), [0, 5], RECORDED)


def made(methods=("a", "b"), rounds=T, data_seed=None, **extra):
    """Return a made-up result with training: one run per method, evaluated after round 2 and the last."""
    n, seed = len(methods), np.arange(len(methods)) + 10
    count = np.arange(n * rounds, dtype=np.int32).reshape(n, rounds)
    text = {"method": methods, "mode": ["faithful"] * n, "world": ["e3cs"] * n, "config": list(methods)}
    coords = {name: ("run", list(values)) for name, values in text.items()}
    coords |= {"seed": ("run", seed), "oracle": ("run", [0] * n), "round": np.arange(1, rounds + 1)}
    coords |= {"eval_round": [2, rounds], "data_seed": ("run", seed if data_seed is None else data_seed)}
    variables = {
        "num_selected": (("run", "round"), count),
        "expected_succeeded": (("run", "round"), np.full((n, rounds), np.nan, np.float32)),
        "times_selected": (("run", "client"), np.arange(n * 3, dtype=np.int32).reshape(n, 3)),
        "test_accuracy": (("run", "eval_round"), np.arange(n * 2, dtype=np.float32).reshape(n, 2) / 10),
        "broken_round": ("run", np.arange(n, dtype=np.int32)),
    }
    return xr.Dataset(variables | extra, coords)


def test_per_round_of_a_run(selected):
    frame = per_round(selected)
    assert len(frame) == 4 * T
    assert frame.columns[:4].tolist() == ["scheme", "seed", "cohort_size", "round"]
    assert set(frame.columns[4:]) == {
        "num_selected", "num_succeeded", "expected_succeeded", "num_probed", "num_steps", "round_time_s",
    }  # fmt: skip
    assert frame["scheme"].cat.categories.tolist() == ["uniform"]
    assert not frame.duplicated(["scheme", "seed", "cohort_size", "round"]).any()
    for i in range(4):
        rows = frame.iloc[i * T : (i + 1) * T]
        one = selected.isel(run=i)
        assert set(rows["scheme"]) == {str(one.method.values)}
        assert set(rows["seed"]) == {int(one.seed)} and set(rows["cohort_size"]) == {int(one.cohort_size)}
        assert rows["round"].tolist() == [1, 2, 3, 4]
        for name in frame.columns[4:]:
            np.testing.assert_array_equal(rows[name], one[name])
            assert frame[name].dtype == selected[name].dtype


def test_per_client_of_a_run(selected):
    frame = per_client(selected)
    assert frame.columns.tolist()[:4] == ["scheme", "seed", "cohort_size", "client"]
    assert set(frame.columns[4:]) == {"times_selected", "times_succeeded", "client_class"}
    assert frame["client"].tolist() == list(range(K)) * 4
    np.testing.assert_array_equal(frame["times_selected"].to_numpy().reshape(4, K), selected.times_selected)
    assert frame["seed"].tolist() == np.repeat(selected.seed.values, K).tolist()


def test_per_selection_agrees_with_the_counts(selected):
    frame = per_selection(selected)
    keys = ["scheme", "cohort_size", "seed"]
    assert frame.columns.tolist() == ["scheme", "seed", "cohort_size", "round", "client"]
    assert len(frame) == int(selected.num_selected.sum())
    by_client = frame.groupby([*keys, "client"], observed=True).size()
    counted = per_client(selected).set_index([*keys, "client"])["times_selected"]
    assert by_client.to_dict() == counted[counted > 0].to_dict()
    by_round = frame.groupby([*keys, "round"], observed=True).size()
    assert by_round.to_dict() == per_round(selected).set_index([*keys, "round"])["num_selected"].to_dict()
    first = np.unpackbits(selected.selected.values[0, 0], count=K)
    own = frame[(frame[keys] == frame.loc[0, keys]).all(axis=1) & (frame["round"] == 1)]
    assert own["client"].tolist() == np.flatnonzero(first).tolist()


def test_cohorts_that_were_not_recorded(selected):
    message = r"the cohorts were not recorded: run with Layout\(record_selected=True\)"
    with pytest.raises(ValueError, match=message):
        per_selection(selected.drop_vars("selected"))
    # Only half of the runs have theirs.
    half = combine([selected.isel(run=[0, 1]), selected.isel(run=[2, 3]).drop_vars("selected")])
    with pytest.raises(ValueError, match=message):
        per_selection(half)


def test_runs_of_different_length(selected):
    short, long = selected.isel(run=[0, 3], round=[0, 1]), selected.isel(run=[1, 2])
    whole = combine([short, long])
    frame = per_round(whole)
    assert whole.seed.values.tolist() == [0, 0, 5, 5]
    assert frame["round"].tolist() == [1, 2, 1, 2, 3, 4] * 2
    assert frame.index.tolist() == list(range(12))
    pairs = per_selection(whole)
    apart = pd.concat([per_selection(short), per_selection(long)])
    keys = ["seed", "cohort_size", "round", "client"]
    assert sorted(pairs[keys].to_numpy().tolist()) == sorted(apart[keys].to_numpy().tolist())


def test_runs_of_different_numbers_of_clients():
    base = jfed.replace(SELECTION, {"num_rounds": T, "cohort_size": 2})
    both = run(jfed.product(points(base, "random"), {"num_clients": [K, 11]}), [0, 5], RECORDED)
    few, many = (run(points(jfed.replace(base, {"num_clients": n}), "random"), [0, 5], RECORDED) for n in (K, 11))
    assert both.sizes["client"] == 11
    levels = dict(zip((K, 11), swept(both), strict=True))
    for number, alone in ((K, few), (11, many)):
        level, rows = levels[number]
        one = part(both, rows)
        assert level == {"num_clients": number} and one.sizes["client"] == number
        for name in ("times_selected", "times_succeeded", "client_class"):
            np.testing.assert_array_equal(one[name], alone[name])
            assert one[name].dtype == np.int32
        of_one = per_selection(both).query("num_clients == @number")[["seed", "round", "client"]]
        assert of_one.to_numpy().tolist() == per_selection(alone)[["seed", "round", "client"]].to_numpy().tolist()
    clients = per_client(both)
    assert clients.groupby("num_clients").size().to_dict() == {K: 2 * K, 11: 22}
    assert not clients["times_selected"].isna().any()


def test_evaluations_stand_on_their_round():
    frame = per_round(made())
    assert frame.columns.tolist() == [
        "scheme", "seed", "broken_round", "round", "num_selected", "expected_succeeded", "test_accuracy",
    ]  # fmt: skip
    none = math.nan
    expected = np.array([none, 0.0, none, 0.1, none, 0.2, none, 0.3], np.float32)
    np.testing.assert_array_equal(frame["test_accuracy"], expected)
    assert frame["test_accuracy"].dtype == np.float32
    assert frame["num_selected"].tolist() == list(range(8))
    assert frame["broken_round"].tolist() == [0] * 4 + [1] * 4
    assert frame["scheme"].tolist() == ["a"] * 4 + ["b"] * 4
    assert per_client(made())["times_selected"].tolist() == list(range(6))


def test_seeds_and_text_that_were_varied_are_columns():
    frame = per_client(made(data_seed=[10, 3]))
    assert frame["data_seed"].tolist() == [10] * 3 + [3] * 3
    assert "data_seed" not in per_client(made())
    dataset = made(("a", "a", "a")).assign_coords(world=("run", ["x", "y", "x"]))
    frame = per_client(dataset)
    assert frame["world"].tolist() == ["x"] * 3 + ["y"] * 3 + ["x"] * 3
    assert frame["world"].dtype == "category"


def test_changing_the_frame_leaves_the_result_alone():
    dataset = made()
    before = dataset.copy(deep=True)
    for frame in (per_round(dataset), per_client(dataset)):
        for name in frame.columns[1:]:
            frame[name].array[:] = 0
            frame.loc[:, name] = 0
    xr.testing.assert_identical(dataset, before)


def test_no_cohort_at_all():
    packed = np.zeros((2, T, 1), np.uint8)
    empty = per_selection(made(selected=(("run", "round", "byte"), packed)))
    assert empty.columns.tolist() == ["scheme", "seed", "broken_round", "round", "client"] and empty.empty
    packed[1, 2, 0] = 0b01100000
    frame = per_selection(made(selected=(("run", "round", "byte"), packed)))
    assert frame.to_numpy().tolist() == [["b", 11, 1, 3, 1], ["b", 11, 1, 3, 2]]


def test_size_in_memory():
    """Rows are small: with 100 bytes each, 7 schemes x 100 seeds x 2500 rounds would take 175 MB."""
    few = per_round(made(("a", "b") * 50, rounds=100))
    assert few.memory_usage(deep=True).sum() < 45 * len(few)
    cohorts = np.full((100, 100, 1), 0b11100000, np.uint8)
    many = per_selection(made(("a", "b") * 50, rounds=100, selected=(("run", "round", "byte"), cohorts)))
    assert many.memory_usage(deep=True).sum() < 25 * len(many) and len(many) == 30_000


def test_files_keep_the_frame(selected, tmp_path):
    frame = per_round(selected)
    path = write(frame, tmp_path / "new" / "rounds.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(path), frame)
    path = write(frame, str(tmp_path / "rounds.csv"))
    back = pd.read_csv(path).astype(frame.dtypes.to_dict())
    pd.testing.assert_frame_equal(back, frame)
    for name in ("rounds.xlsx", "rounds", "rounds.csv.gz"):
        with pytest.raises(ValueError, match=f"as .parquet or .csv, not as '{name}'"):
            write(frame, tmp_path / name)
    assert sorted(p.name for p in tmp_path.rglob("*.*")) == ["rounds.csv", "rounds.parquet"]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"This needs pyarrow, which is not installed: pip install 'jfed\[parquet\]'"):
        write(pd.DataFrame({"a": [1]}), tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())
