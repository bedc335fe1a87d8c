"""Workers: what they compute is what this process computes, whoever fails, and whatever stops them."""

import collections
import dataclasses
import pickle
import threading

import jax
import numpy as np
import pytest
from support import LAYOUT, SELECTION, TRAINING, T, assert_same_bits, points, run
from threads import Threads

import jfed
import jfed.runner.executors.crew as crews
import jfed.runner.executors.station as station
from jfed.core.errors import ConfigError, StorageError, Unfinished
from jfed.runner import memory, units
from jfed.runner.executors import local
from jfed.runner.executors.backlog import Backlog
from jfed.runner.site import Site
from jfed.runner.units import Layout

SEEDS = range(4)


@pytest.fixture(scope="module")
def where():
    return points(SELECTION, "uniform", "e3cs-0.5")


@pytest.fixture(scope="module")
def whole(where):
    return run(where, SEEDS)


def test_workers_compute_the_same_bits_and_stay_with_their_programs(where, whole, tmp_path):
    crew = Threads(2)
    found = run(where, SEEDS, out=tmp_path, executor=crew)
    assert_same_bits(found, whole)
    assert len(list(tmp_path.glob("results/*.npz"))) == 4 and not list(tmp_path.glob("*.part"))
    assert all(worker.ended for worker in crew.begun)
    groups = collections.defaultdict(list)
    for worker, task in crew.tasks:
        groups[worker] += [unit.group for unit in task.units]
    assert sum(map(len, groups.values())) == 4 and all(len(set(own)) == 1 for own in groups.values())
    again = Threads(2)
    assert_same_bits(run(where, SEEDS, out=tmp_path, executor=again), whole)
    assert not again.tasks and len(again.begun) == 1


def test_results_in_memory_and_workers_that_several_calls_share(where, whole):
    with Threads(2) as crew:
        assert_same_bits(run(where, SEEDS, executor=crew), whole)
        assert_same_bits(run(where[:1], SEEDS, executor=crew), whole.isel(run=whole["method"].values == "uniform"))
        assert not any(worker.ended for worker in crew.begun)
    assert len(crew.begun) == 2 and all(worker.ended for worker in crew.begun)


def test_a_worker_that_dies_is_replaced_and_its_units_are_done_by_others(where, whole, caplog, tmp_path):
    crew = Threads(1, deaths=(0, 2))
    assert_same_bits(run(where, SEEDS, out=tmp_path, executor=crew), whole)
    assert caplog.text.count("A worker is replaced: was ended by the test.") == 2 and len(crew.begun) == 3


def test_units_whose_workers_always_die_end_the_command(where):
    with pytest.raises(
        ConfigError, match="The workers of a unit have died 3 times, the last one: was ended by the test"
    ):
        run(where[:1], [0, 1], executor=Threads(1, deaths=[0] * 9))


@pytest.mark.check
def test_blocks_too_large_for_a_worker_come_back_and_are_cut(where, whole, monkeypatch, caplog):
    want = memory.needed(memory._compiled(units.plan(where, SEEDS, Layout(2, T))[0], 2))
    monkeypatch.setattr(memory, "available", lambda devices: want / memory.SHARE * 0.7)
    found = run(where, SEEDS, Layout(chunk_rounds=T), executor=Threads(1))
    assert found.attrs["block_size"] == 1 and "taking blocks of 1" in caplog.text
    assert_same_bits(found, whole)


@pytest.mark.check
def test_a_time_limit_stops_workers_after_a_checkpoint_and_the_next_command_resumes(whole, where, tmp_path):
    short = Layout(block_size=2, chunk_rounds=2, max_seconds=0, checkpoint_s=1000)
    with pytest.raises(Unfinished, match="The time is up"):
        run(where, SEEDS, short, out=tmp_path, executor=Threads(2))
    assert list(tmp_path.glob("checkpoints/*/*.npz"))
    told = []
    found = run(where, SEEDS, out=tmp_path, executor=Threads(2), on_chunk=told.append)
    assert_same_bits(found, whole)
    assert min(one.first_round for one in told) > 1


@pytest.mark.check
def test_the_callback_is_called_by_the_driver(where, whole):
    told, threads = [], set()

    def see(progress):
        told.append(progress)
        threads.add(threading.current_thread())

    run(where, SEEDS, executor=Threads(1), on_chunk=see)
    assert threads == {threading.main_thread()}
    assert {one.num_runs for one in told} == {8} and max(one.runs_done for one in told) >= 2
    last = [one for one in told if one.round == T and "uniform" in one.num_succeeded]
    both = sum(one.num_succeeded["uniform"] * len(one.seeds["uniform"]) for one in last)
    assert both == whole["num_succeeded"].values[whole["method"].values == "uniform"].sum()
    with pytest.raises(ZeroDivisionError):
        run(where, SEEDS, executor=Threads(2), on_chunk=lambda progress: 1 / 0)
    with pytest.raises(Unfinished, match="The callback has ended it"):
        run(where, SEEDS, Layout(2, 1), executor=Threads(2), on_chunk=lambda progress: True)


def test_an_error_in_a_worker_ends_the_command(where, monkeypatch):
    def broken(*args):
        raise jax.errors.JaxRuntimeError("INTERNAL: something is broken")
        yield

    monkeypatch.setattr(station, "compute_group", broken)
    with pytest.raises(RuntimeError, match="JaxRuntimeError: INTERNAL: something is broken"):
        run(where, SEEDS, executor=Threads(2))


def test_a_seat_for_every_group_before_two_work_at_one(where):
    planned = [units.plan([point], range(6), LAYOUT) for point in where]
    groups = [[dataclasses.replace(u, group=number) for u in own] for number, own in enumerate(planned)]
    backlog = Backlog(groups, 1)
    first, second, third = backlog.take(None), backlog.take(None), backlog.take(None)
    assert [one[0].group for one in (first, second, third)] == [0, 1, 0]
    assert [one[0].group for one in (backlog.take(1), backlog.take(1), backlog.take(1))] == [1, 1, 0]
    assert backlog.take(1) == [] and not backlog.left()
    backlog.back(second)
    assert backlog.take(0) == second


@pytest.mark.check
def test_training_on_workers(tmp_path):
    where = points(TRAINING, "e3cs-0.5")
    found = run(where, [0, 1, 2, 3], executor=Threads(2))
    assert_same_bits(found, run(where, [0, 1, 2, 3]))
    assert np.isfinite(found["test_accuracy"].values).all()


def test_a_unit_can_be_sent(where):
    (unit, *_) = units.plan(where, SEEDS, LAYOUT)
    sent = pickle.loads(pickle.dumps(unit))
    assert (sent.id, sent.spec) == (unit.id, unit.spec) and [r.id for r in sent.runs] == [r.id for r in unit.runs]
    assert "options" not in vars(sent.spec.selector)  # whose class no other process knows


def test_devices_of_this_process(where, whole):
    assert_same_bits(run(where, SEEDS, devices=1), whole)
    for devices, sentence in (
        (9, "devices=9, and jax has 2"),
        (0, "whole number from 1 on, found 0"),
        ("2", "found '2'"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            run(where, SEEDS, devices=devices)
    with pytest.raises(ConfigError, match="leave them out with an executor"):
        run(where, SEEDS, devices=1, executor=Threads())


def full(*args):
    raise StorageError("A result cannot be written: the disk is full.")


def test_what_an_earlier_command_left_behind_reaches_no_later_one(where, whole, monkeypatch, tmp_path):
    longer = points(jfed.replace(SELECTION, {"num_rounds": T + 1}), "uniform", "e3cs-0.5")
    with Threads(2) as crew:
        with monkeypatch.context() as patch:
            patch.setattr(crews, "keep", full)
            with pytest.raises(StorageError, match="the disk is full"):
                run(where, SEEDS, out=tmp_path / "a", executor=crew)
        found = run(longer, SEEDS, out=tmp_path / "b", executor=crew)
        assert_same_bits(found, run(longer, SEEDS))
        assert jfed.load(tmp_path / "b").sizes == found.sizes and found.sizes["round"] == T + 1
        assert_same_bits(run(where, SEEDS, out=tmp_path / "a", executor=crew), whole)
    assert all(worker.ended for worker in crew.begun)


def test_an_executor_is_used_again_after_a_short_command_that_needed_few_workers(where, whole):
    crew = Threads(3)
    for _ in range(3):
        assert_same_bits(run(where, SEEDS, executor=crew), whole)
        assert_same_bits(run(where[:1], SEEDS[:2], executor=crew), run(where[:1], SEEDS[:2]))


@pytest.mark.parametrize("error", [OSError(12, "Cannot allocate memory"), AttributeError("no such class")])
def test_a_replacement_that_cannot_begin_ends_the_command(where, error):
    class Poor(Threads):
        def _start(self, number, given):
            if self.begun:
                raise error
            return super()._start(number, given)

    with pytest.raises(type(error), match=str(error.args[-1])):
        run(where, SEEDS, executor=Poor(1, deaths=[0]))


def test_settings_of_the_calling_thread_are_those_of_workers():
    with jax.enable_x64(True):
        assert station.setup([]).settings["jax_enable_x64"] is True
    assert station.setup([]).settings["jax_enable_x64"] is False


@pytest.mark.parametrize("executor", ["processes:2", Threads, 3])
def test_what_is_no_executor(where, executor):
    with pytest.raises(ConfigError, match=r"The executor must be such as jfed.Processes\(4\), found"):
        run(where, SEEDS, executor=executor)


def test_a_command_is_planned_for_the_devices_of_its_workers():
    where = points(TRAINING, "e3cs-0.5")
    eight = Site("gpu", "float32, products highest", "NVIDIA H100", 8)
    (there,), (here,) = (units.ask(where, range(10), Layout(), site=site) for site in (eight, None))
    assert (there.spec.lane, here.spec.lane) == ("vmapped", "sequential")
    assert there.runs[0].kind.what["backend"] == "gpu" and {r.id for r in there.runs}.isdisjoint(
        r.id for r in here.runs
    )
    assert [len(unit.runs) for unit in units.blocks(there, Layout())] == [2] * 5  # five of eight GPUs, not one
    one = Site("gpu", "float32, products highest", "NVIDIA H100", 1)
    (alone,) = units.ask(where, range(10), Layout(), site=one)
    assert [len(unit.runs) for unit in units.blocks(alone, Layout())] == [10]
    assert [run.id for run in alone.runs] == [run.id for run in there.runs]


def test_whoever_leaves_accelerators_idle_is_told_of_processes():
    eight = Site("gpu", "float32, products highest", "NVIDIA H100", 8)
    assert local.idle([5, 5, 5, 16], eight).startswith("On average 6.2 of 8 devices have work")  # 31 units in 5 turns
    assert local.idle([1, 1, 9], eight).startswith("On average 2.8 of 8 devices have work")  # 11 units in 4 turns
    assert local.idle([8, 7, 8], eight) == local.idle([5], eight) == local.idle([], eight) == ""
    assert local.idle([1, 1], dataclasses.replace(eight, backend="cpu")) == ""
