"""Workers in processes of their own, and on a Ray cluster: results, members of the user's own, kills and stops."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from support import SELECTION, assert_same_bits, run

import jfed
from jfed.core.errors import ConfigError
from jfed.runner.executors import processes
from jfed.runner.executors.named import named

pytestmark = pytest.mark.check

MEMBER = """
import dataclasses
import jax.numpy as jnp
import jfed

@dataclasses.dataclass(frozen=True)
class FirstOnes(jfed.SelectorOptions):
    def make(self, dims):
        def select(key, state, params, view):
            place = jnp.arange(dims.num_clients, dtype=jnp.result_type(float))
            chosen = jfed.ops.smallest(place, params.k, view.available)
            return state, jfed.Cohort(chosen, jnp.full(place.shape, jnp.nan))

        return jfed.Selector(lambda key, params: (), select, lambda state, *_: state)
"""


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    file = tmp_path_factory.mktemp("own") / "first_ones.py"
    file.write_text(MEMBER)
    (kind,) = jfed.load_file(file)
    return jfed.methods(SELECTION, ["e3cs-0.5", kind()])


def test_processes_write_the_same_files(where, tmp_path):
    found = run(where, range(4), out=tmp_path, executor=named("processes:2"))
    assert_same_bits(found, run(where, range(4)))
    assert len(list(tmp_path.glob("results/*.npz"))) == 4
    assert not [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import jfed\njfed.run(jfed.methods(jfed.Config(num_rounds=3), ['uniform']), [0], executor=jfed.Processes(1))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 1 and processes.MAIN in done.stderr


def test_a_class_that_workers_cannot_have_is_said(tmp_path):
    (tmp_path / "first_ones.py").write_text(MEMBER)
    script = tmp_path / "script.py"
    script.write_text(
        "import jfed\nimport first_ones\nimport dataclasses\n"
        "if __name__ == '__main__':\n"
        "    @dataclasses.dataclass(frozen=True)\n"
        "    class Mine(first_ones.FirstOnes):\n"
        "        pass\n"
        "    mine = jfed.methods(jfed.Config(num_rounds=3), [Mine()])\n"
        "    jfed.run(mine, [0], executor=jfed.Processes(1))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 1 and "A worker does not know a class" in done.stderr, done.stderr


def test_shares_of_the_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 3, 5, 7, 9}, raising=False)
    assert [processes._share(i, 2) for i in range(2)] == [(1, 3), (5, 7, 9)]
    assert [processes._share(i, 7)[0] for i in range(7)] == [1, 3, 5, 7, 9, 1, 3]


def test_visible_gpus(monkeypatch):
    for text, names in (("0,2", ["0", "2"]), ("", []), ("-1", []), ("GPU-5ebe9f43", ["GPU-5ebe9f43"])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", text)
        assert processes._visible() == names
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert jfed.Processes()._size == 2
    with pytest.raises(ConfigError, match="one of 2 GPUs, so that 3 workers are too many"):
        jfed.Processes(3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cluster", "unknown executor 'cluster'"),
        ("here:2", "unknown executor 'here'"),
        ("processes:two", "workers must be a whole number, found 'two'"),
        ("processes:cpus=2", "setting of processes 'cpus'"),
        ("processes:2,workers=3", "gives workers twice"),
        ("processes:0", "At least one worker is needed, found 0"),
        ("processes:-1", "At least one worker is needed, found -1"),
    ],
)
def test_executors_that_there_are_not(text, sentence):
    with pytest.raises(ConfigError, match=sentence):
        named(text)


def environment():
    return os.environ | {"PYTHONPATH": str(Path(jfed.__file__).parents[1])}


# ------------------------------------------------------------------------------------------------------ commands

COMMAND = """
import signal, sys
for number in (signal.SIGTERM, signal.SIGHUP):  # what was started by nohup ignores them
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
import jfed
from jfed.runner.executors.named import named
def main():
    out, on, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    (kind,) = jfed.load_file(sys.argv[4])
    base = jfed.Config(num_clients=40, cohort_size=4, num_rounds=rounds)
    layout = jfed.Layout(block_size=2, chunk_rounds=500, checkpoint_s=float(sys.argv[5]))
    def see(progress):
        with open(out + ".seen", "a") as file:
            print(*progress.seeds, file=file)
    both = jfed.methods(base, ["e3cs-0.5", kind()])
    try:
        jfed.run(both, range(6), out=out, layout=layout, executor=named(on), on_chunk=see)
    except KeyboardInterrupt:
        sys.exit("Stopped.")
if __name__ == "__main__":
    main()
"""


@contextlib.contextmanager
def driver(tmp_path, out, on, rounds=4000, checkpoint_s=0.0):
    """Yield a driver, as the head of a process group of its own."""
    script = tmp_path / "driver.py"
    script.write_text(COMMAND)
    (tmp_path / "first_ones.py").write_text(MEMBER)
    one = subprocess.Popen(
        [sys.executable, str(script), str(out), on, str(rounds), str(tmp_path / "first_ones.py"), str(checkpoint_s)],
        stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True,
    )  # fmt: skip
    try:
        yield one
    finally:
        one.kill()
        one.communicate()


def workers(one, on):
    """Return the processes of a driver's workers."""
    word = "spawn_main" if on.startswith("processes") else "ray::_Seat"
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(one.pid).children(recursive=True)
        return [child for child in children if child.is_running() and word in " ".join(child.cmdline())]
    return []


def wait_for(condition, one):
    while not condition():
        assert one.poll() is None, one.communicate()[1]
        time.sleep(0.05)


def checkpoints(out):
    return list(out.glob("checkpoints/*/*.npz"))


def test_ray_writes_the_same_files(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    for on in ("ray:2", "here"):
        with driver(tmp_path, tmp_path / on[:3], on, rounds=50) as one:
            said = one.communicate(timeout=300)[1]
            assert one.returncode == 0, said
    found, whole = jfed.load(tmp_path / "ray"), jfed.load(tmp_path / "her")
    assert_same_bits(found, whole)
    assert {path.name for path in (tmp_path / "ray" / "results").iterdir()} == {
        path.name for path in (tmp_path / "her" / "results").iterdir()
    }


@pytest.mark.proof
@pytest.mark.parametrize("on", ["processes:2", "ray:2"])
def test_whoever_is_killed_the_results_are_the_same(on, tmp_path):
    if on.startswith("ray"):
        pytest.importorskip("ray", reason="Ray is not installed")
    with driver(tmp_path, tmp_path / "whole", "here") as one:
        assert one.wait(300) == 0
    whole, out = jfed.load(tmp_path / "whole"), tmp_path / "cut"
    with driver(tmp_path, out, on) as one:  # a worker
        wait_for(lambda: checkpoints(out), one)
        workers(one, on)[0].kill()
        said = one.communicate(timeout=300)[1]
        assert one.returncode == 0 and "A worker is replaced" in said
    assert_same_bits(jfed.load(out), whole)
    for again in ("processes:2", on):  # the driver, twice
        with driver(tmp_path, tmp_path / "driver", again) as one:
            wait_for(lambda: checkpoints(tmp_path / "driver"), one)
            mine = workers(one, again)
            one.kill()
            one.wait()
        psutil.wait_procs(mine, timeout=60)
        assert not [p for p in mine if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    with driver(tmp_path, tmp_path / "driver", on) as one:
        assert one.wait(300) == 0
    assert_same_bits(jfed.load(tmp_path / "driver"), whole)


def both_work(out):
    """Return whether both schemes have done a chunk, so that both workers have begun."""
    seen = out.with_suffix(".seen")
    return seen.exists() and len(set(seen.read_text().split())) == 2


@pytest.mark.proof
@pytest.mark.parametrize("on", ["processes:2", "ray:2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_reaches_workers(on, number, tmp_path):
    if on.startswith("ray"):
        pytest.importorskip("ray", reason="Ray is not installed")
    out = tmp_path / "out"
    with driver(tmp_path, out, on, rounds=2_000_000, checkpoint_s=1000) as one:
        wait_for(lambda: both_work(out), one)
        assert not checkpoints(out)  # none is due before the stop
        os.killpg(one.pid, number)  # as a terminal does on Ctrl-C, or a scheduler at the end of a job
        said = one.communicate(timeout=120)[1]
        assert one.returncode == 1 and said.endswith("Stopped.\n"), said
        assert said.count("Stopping after this chunk") == 1
    assert len({path.parent for path in checkpoints(out)}) == 2 and not list(out.rglob("*.part"))


@pytest.mark.proof
def test_workers_whose_driver_is_killed_leave_checkpoints(tmp_path):
    out = tmp_path / "out"
    with driver(tmp_path, out, "processes:2", rounds=2_000_000, checkpoint_s=1000) as one:
        wait_for(lambda: both_work(out), one)
        mine = workers(one, "processes:2")
        one.kill()
        one.wait()
    psutil.wait_procs(mine, timeout=60)
    assert len({path.parent for path in checkpoints(out)}) == 2


LEAVES = """
import sys
import jfed
from ray.cluster_utils import Cluster

def main():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    leaving = cluster.add_node(num_cpus=1)
    seen = []
    def leave(progress):
        seen.append(progress)
        if len(seen) == 8:
            cluster.remove_node(leaving)
    (kind,) = jfed.load_file(sys.argv[2])
    base = jfed.Config(num_clients=40, cohort_size=4, num_rounds=4000)
    layout = jfed.Layout(block_size=2, chunk_rounds=500, checkpoint_s=0.0)
    two = jfed.Ray(cluster.address)
    both = jfed.methods(base, ["e3cs-0.5", kind()])
    jfed.run(both, range(6), out=sys.argv[1], layout=layout, executor=two, on_chunk=leave)
    assert two._size == 2 and len(seen) > 8
    cluster.shutdown()

if __name__ == "__main__":
    main()
"""


@pytest.mark.proof
def test_a_node_that_leaves(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    with driver(tmp_path, tmp_path / "whole", "here") as one:
        assert one.wait(300) == 0
    (tmp_path / "leaves.py").write_text(LEAVES)
    command = [sys.executable, str(tmp_path / "leaves.py"), str(tmp_path / "out"), str(tmp_path / "first_ones.py")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0 and "A worker is replaced" in done.stderr, done.stderr
    assert_same_bits(jfed.load(tmp_path / "out"), jfed.load(tmp_path / "whole"))
