"""Several processes on one directory without a driver: plans, leases, shards."""

import json
import os
import threading

import jax
import pytest
from support import SELECTION, TRAINING, assert_same_bits, points, run

import jfed
from jfed.core.errors import ConfigError, Unfinished
from jfed.results import lease
from jfed.results.lease import Leases
from jfed.runner.executors import shared
from jfed.runner.executors.shared import work
from jfed.runner.units import Layout

SEEDS, LAYOUT = range(6), Layout(block_size=1, chunk_rounds=6)


@pytest.fixture(scope="module")
def where():
    return points(SELECTION, "uniform", "e3cs-0.5")


@pytest.fixture(scope="module")
def whole(where):
    return run(where, SEEDS)


def one(where, out, shard=(1, 1), layout=LAYOUT, seeds=SEEDS):
    return work(where, seeds, out, layout, shard=shard, progress=False)


@pytest.mark.check
def test_one_process_after_another(where, whole, tmp_path):
    with pytest.raises(Unfinished):
        one(where, tmp_path, (2, 2), Layout(1, 6, max_seconds=0))
    assert list(tmp_path.glob("checkpoints/*/*.npz")) and not list(tmp_path.glob("leases/*"))
    assert one(where, tmp_path, (2, 3)) == (12, 0)
    assert one(where, tmp_path, (1, 3)) == (0, 0)
    assert_same_bits(run(where, SEEDS, out=tmp_path), whole)
    assert len(list(tmp_path.glob("plans/*.json"))) == 1 and not list(tmp_path.glob("leases/*"))
    told = json.loads((tmp_path / "manifest.json").read_text())
    assert [(entry["shard"], len(entry["units"])) for entry in told] == [("2/3", 12)]


def test_processes_at_the_same_time_compute_each_unit_once(where, whole, tmp_path):
    computed, failed = [], []

    def target(number):
        try:
            computed.append(one(where, tmp_path, (number, 3))[0])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=target, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and sum(computed) == 12
    assert_same_bits(jfed.load(tmp_path).sortby("run"), jfed.load(tmp_path))
    assert_same_bits(run(where, SEEDS, out=tmp_path), whole)


def test_what_was_finished_or_begun_before_is_left_alone(where, whole, tmp_path):
    run(where, SEEDS[:2], out=tmp_path)
    before = sorted(tmp_path.glob("results/*"))
    assert one(where, tmp_path) == (8, 0)
    assert set(before) < set(tmp_path.glob("results/*"))
    assert_same_bits(run(where, SEEDS, out=tmp_path), whole)


def test_a_unit_of_a_living_process_is_left_to_it_and_one_of_a_dead_process_is_not(where, tmp_path):
    one(where, tmp_path, seeds=[0])
    (tmp_path / "leases").mkdir(exist_ok=True)
    plan = shared.ask(where, [0, 1], LAYOUT)
    (unit,) = [u for u in shared.blocks(plan[0], LAYOUT) if int(u.runs[0].seeds.data) == 1]
    held = tmp_path / "leases" / unit.id
    held.write_text("process 1 on another machine")
    assert one(where, tmp_path, seeds=[0, 1]) == (1, 1)
    os.utime(held, (0, 0))  # long ago
    assert one(where, tmp_path, seeds=[0, 1]) == (1, 0) and not held.exists()


def test_leases(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "TOUCH_S", 0.05)
    with Leases(tmp_path) as mine, Leases(tmp_path) as other:
        assert mine.take("a") and not other.take("a") and not mine.take("a") and other.take("b")
        os.utime(tmp_path / "a", (0, 0))
        touched = threading.Event()
        while (tmp_path / "a").stat().st_mtime < 1e9:
            touched.wait(0.02)
        assert not other.take("a")
        mine.give_back("a")
        assert other.take("a")
    assert not list(tmp_path.iterdir())


def test_a_process_that_would_compute_other_bits_is_refused(where, tmp_path):
    one(where, tmp_path, seeds=[0])
    (plan,) = tmp_path.glob("plans/*.json")
    told = json.loads(plan.read_text())
    told["made"]["jax"] = "0.1"
    plan.write_text(json.dumps(told))
    with pytest.raises(
        ConfigError, match=f"jax is {jax.__version__} on this process and 0.1 on the one that planned.*delete {plan}"
    ):
        one(where, tmp_path, seeds=[0])
    told["made"] |= {"jax": jax.__version__, "the code or the data of a member": "another"}
    plan.write_text(json.dumps(told))
    with pytest.raises(ConfigError, match=r"the code or the data of a member is .* and another on the one"):
        one(where, tmp_path, seeds=[0])
    plan.write_text("{")
    with pytest.raises(ConfigError, match="is damaged: delete it"):
        one(where, tmp_path, seeds=[0])


def test_a_result_that_is_damaged_after_the_plan_is_computed_again(where, whole, tmp_path):
    run(where, SEEDS[:2], LAYOUT, out=tmp_path)
    assert one(where, tmp_path, (2, 2)) == (8, 0)  # the plan has eight
    for path in sorted(tmp_path.glob("results/*"))[:3]:
        path.write_bytes(path.read_bytes()[:-1])
    assert one(where, tmp_path) == (3, 0)
    assert_same_bits(run(where, SEEDS, out=tmp_path), whole)


def test_units_that_become_free_are_taken_before_the_end(where, tmp_path, monkeypatch):
    (tmp_path / "leases").mkdir(parents=True)
    first = shared.blocks(shared.ask(where, [0], LAYOUT)[0], LAYOUT)[0]
    held = tmp_path / "leases" / first.id
    held.write_text("process 1 on another machine")
    real = shared.keep

    def die(*args):
        os.utime(held, (0, 0))  # its holder has been dead for long
        real(*args)

    monkeypatch.setattr(shared, "keep", die)
    assert one(where, tmp_path, seeds=[0]) == (2, 0)


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (1, 0)])
def test_shards_that_there_are_not(where, tmp_path, shard):
    with pytest.raises(ConfigError, match=r"A shard is a number of how many, such as 3/100, found"):
        one(where, tmp_path, shard)


def test_a_driver_is_refused_while_processes_share_the_directory(where, tmp_path):
    refused = []

    def also(*args, real=shared.keep):
        with pytest.raises(ConfigError, match="is in use by process"):
            run(where, [7], out=tmp_path)
        refused.append(1)
        real(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "keep", also)
        one(where[:1], tmp_path, seeds=[0])
    assert refused


@pytest.mark.check
def test_training(tmp_path):
    where = points(TRAINING, "e3cs-0.5")
    assert one(where, tmp_path, seeds=[0, 1]) == (2, 0)
    assert_same_bits(run(where, [0, 1], out=tmp_path), run(where, [0, 1]))


def test_the_results_are_listed_seldom_and_a_unit_that_another_process_finished_is_seen(where, tmp_path, monkeypatch):
    looks, survey, compute_group = [], shared.index.survey, shared.compute_group

    def looked(*arguments, **named):
        looks.append(arguments)
        return survey(*arguments, **named)

    def helped(batch, host):
        monkeypatch.setattr(shared, "compute_group", compute_group)
        run(where, [5], out=tmp_path / "elsewhere", layout=LAYOUT)  # another process finishes two units meanwhile
        for path in (tmp_path / "elsewhere" / "results").iterdir():
            (tmp_path / "results" / path.name).write_bytes(path.read_bytes())
        return compute_group(batch, host)

    monkeypatch.setattr(shared.index, "survey", looked)
    monkeypatch.setattr(shared, "compute_group", helped)
    monkeypatch.setattr(shared, "LOOKING", 1e9)
    assert one(where, tmp_path) == (10, 0)
    assert len(looks) < 12
