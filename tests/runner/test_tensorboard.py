"""Curves for TensorBoard, read back from their files."""

import dataclasses
import struct
from urllib.parse import unquote

import numpy as np
import pytest
from support import LAYOUT, TRAINING, points, run

import jfed
from jfed.core.errors import ConfigError, StorageError, Unfinished

event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")

FIRST = jfed.Progress(
    seeds={"uniform": (0, 1), "e3cs-0.5": (0, 1)},
    first_round=1,
    round=3,
    num_rounds=8,
    num_succeeded={"uniform": 4.5, "e3cs-0.5": 6.0},
    round_time_s={"uniform": 3.0, "e3cs-0.5": 3.25},
    test_accuracy={"uniform": 0.5, "e3cs-0.5": 0.75},
    test_loss={"uniform": 2.0, "e3cs-0.5": 1.5},
    test_round=2,
    runs_done=0,
    num_runs=4,
)


def events(path):
    """Yield the events of a file: each after its length and a checksum, and before another checksum."""
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack_from("<Q", data)
        yield event_pb2.Event.FromString(data[12 : 12 + length])
        data = data[16 + length :]


def curves(folder):
    """Return the points of each folder's curves, as TensorBoard reads them: files by name, later starts win."""
    found = {}
    for run_folder in sorted(folder.iterdir()):
        own = found.setdefault(run_folder.name, {})
        for event in [event for path in sorted(run_folder.iterdir()) for event in events(path)]:
            if event.session_log.status == event.session_log.START:
                for tag, curve in own.items():
                    own[tag] = [(step, value) for step, value in curve if step < event.step]
            for value in event.summary.value:
                own.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def later(first, last, **changed):
    return dataclasses.replace(FIRST, first_round=first, round=last, **changed)


def test_each_point_has_a_curve_by_round(tmp_path):
    tell = jfed.TensorBoard(tmp_path / "curves")
    tell(FIRST)
    tell(later(4, 5, num_succeeded={"uniform": 7.0, "e3cs-0.5": 9.5}))  # no test in it
    tell(later(6, 8, num_succeeded={"uniform": 9.0, "e3cs-0.5": 12.0}, test_round=8))
    found = curves(tmp_path / "curves")
    assert list(found) == ["e3cs-0.5, 2 seeds from 0", "uniform, 2 seeds from 0"]
    assert found["uniform, 2 seeds from 0"] == {
        "test_accuracy": [(2, 0.5), (8, 0.5)],
        "test_loss": [(2, 2.0), (8, 2.0)],
        "num_succeeded": [(3, 4.5), (5, 7.0), (8, 9.0)],
        "round_time_s": [(3, 3.0), (5, 3.0), (8, 3.0)],
    }
    assert found["e3cs-0.5, 2 seeds from 0"]["num_succeeded"] == [(3, 6.0), (5, 9.5), (8, 12.0)]
    assert found["e3cs-0.5, 2 seeds from 0"]["test_loss"] == [(2, 1.5), (8, 1.5)]


def test_what_is_written_can_be_read_at_once(tmp_path):
    jfed.TensorBoard(tmp_path)(FIRST)
    assert curves(tmp_path)["uniform, 2 seeds from 0"]["num_succeeded"] == [(3, 4.5)]


@pytest.mark.parametrize("again", [True, False])
def test_rounds_that_are_computed_again_replace_those_before(again, tmp_path):
    tell = jfed.TensorBoard(tmp_path)
    for progress in (FIRST, later(4, 5), later(6, 7)):
        tell(progress)
    if not again:
        tell = jfed.TensorBoard(tmp_path)
    tell(later(4, 6))  # from a checkpoint after round 3
    tell(later(7, 8))
    found = curves(tmp_path)["uniform, 2 seeds from 0"]
    assert [step for step, _ in found["num_succeeded"]] == [3, 6, 8]
    assert found["test_accuracy"] == [(2, 0.5)]


def test_batches_of_a_point_have_curves_of_their_own(tmp_path):
    tell = jfed.TensorBoard(tmp_path)
    streams = jfed.seeds(3, data=1)
    for seeds in ((0, 1, 2), (9,), (streams, jfed.seeds(3, data=2))):
        tell(dataclasses.replace(FIRST, seeds={"uniform": seeds}))
    names = {"uniform, 3 seeds from 0", "uniform, seed 9", "uniform, 2 seeds from 3-1-3-3"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_any_name_is_a_folder_of_its_own(tmp_path):
    names = ("../mine", "a/b", "a_b", "e3cs, eta=0.1", "größer")
    values = dict.fromkeys(names, 1.0)
    means = dict.fromkeys(("num_succeeded", "round_time_s", "test_accuracy", "test_loss"), values)
    jfed.TensorBoard(tmp_path / "in")(dataclasses.replace(FIRST, seeds=dict.fromkeys(names, (0,)), **means))
    assert {unquote(path.name) for path in (tmp_path / "in").iterdir()} == {f"{name}, seed 0" for name in names}
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"Curves cannot be written to .*file: File exists"):
        jfed.TensorBoard(tmp_path / "file")
    for no_folder, told in ((3, "3"), ("", "''"), ("a\0b", r"'a\\x00b'")):
        with pytest.raises(ConfigError, match=f"^Curves are written to a folder, found {told}\\.$"):
            jfed.TensorBoard(no_folder)


@pytest.mark.check
def test_a_run_that_is_ended_and_resumed_has_the_curves_of_its_results(tmp_path):
    where, layout = points(TRAINING, "uniform", "e3cs-0.5", eval_every=2), dataclasses.replace(LAYOUT, chunk_rounds=1)
    tell = jfed.TensorBoard(tmp_path / "curves")

    def until_the_third(progress):
        tell(progress)
        return progress.round == 3

    with pytest.raises(Unfinished, match="The callback has ended it"):
        run(where, [0, 1], layout, out=tmp_path, on_chunk=until_the_third)
    results = run(where, [0, 1], layout, out=tmp_path, on_chunk=jfed.TensorBoard(tmp_path / "curves"))
    found = curves(tmp_path / "curves")
    assert len(found) == 2
    for name in ("uniform", "e3cs-0.5"):
        own, curve = results.isel(run=results["method"].values == name), found[f"{name}, 2 seeds from 0"]
        for tag, variable, steps in [
            *[(tag, own[tag].cumsum("round"), own["round"]) for tag in ("num_succeeded", "round_time_s")],
            *[(tag, own[tag], own["eval_round"]) for tag in ("test_accuracy", "test_loss")],
        ]:
            assert [step for step, _ in curve[tag]] == list(steps.values)
            np.testing.assert_allclose([value for _, value in curve[tag]], variable.values.mean(0), rtol=1e-6)
