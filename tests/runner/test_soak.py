"""A soak: minutes of kills, stops, full disks, damaged files and changed studies on one directory lose and mix nothing.

$JFED_SOAK_MINUTES is its length, by default 10; $JFED_SOAK_SEED its random numbers.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from support import assert_same_bits

import jfed

pytestmark = pytest.mark.proof

SCHEMES, SEEDS = ["e3cs-0.5", "fedcs", "pow-d"], range(6)
COMMAND = """
import resource, signal, sys
from pathlib import Path
import jfed
from jfed.core.errors import ConfigError, StorageError
from jfed.runner.executors.named import named
from jfed.runner.executors.shared import work

def main():
    out, on, schemes, seeds, most = sys.argv[1:]
    if int(most):  # a disk that is full after so many bytes of a file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
    training = jfed.Training(samples_per_client=20, batch_size=8, test_set="official")
    base = jfed.Config(num_clients=8, cohort_size=5, num_rounds=400, eval_every=50, training=training)
    points = jfed.methods(base, schemes.split(","))
    layout = jfed.Layout(block_size=2, chunk_rounds=25, checkpoint_s=0.0)
    try:
        if on.startswith("shard"):
            work(points, eval(seeds), Path(out), layout, shard=(int(on[-1]), 2))
        else:
            jfed.run(points, eval(seeds), out=out, layout=layout, executor=named(on))
    except (ConfigError, StorageError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped.")

if __name__ == "__main__":
    main()
"""


class Soak:
    """A directory and what happens to it."""

    def __init__(self, home, draw):
        self.out, self.draw, self.said, self.counts = home / "out", draw, [], {}
        self.script = home / "command.py"
        self.script.write_text(COMMAND)

    def begin(self, out, on, schemes, seeds, most=0):
        """Return a driver that has begun."""
        command = [self.script, out, on, ",".join(schemes), repr(list(seeds)), most]
        env = os.environ | {"PYTHONPATH": str(Path(jfed.__file__).parents[1])}
        return subprocess.Popen(
            [sys.executable, *map(str, command)], stderr=subprocess.PIPE, text=True, env=env, start_new_session=True
        )

    def step(self, name):
        """Let one thing happen."""
        self.counts[name] = self.counts.get(name, 0) + 1
        if name == "damage":
            self.damage()
            return
        some = self.draw.sample(SCHEMES, self.draw.randint(1, 3)), self.draw.sample(SEEDS, self.draw.randint(1, 6))
        most = self.draw.choice([2_000, 20_000]) if name == "full" else 0
        ons = ["shard 1", "shard 2"] if name == "shards" else [self.draw.choice(["here", "processes:2"])]
        drivers = [self.begin(self.out, on, *some, most) for on in ons]
        for one in drivers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(self.draw.uniform(2, 25))
        for one in drivers:
            self.end(one, name)

    def end(self, one, name):
        """End a driver in the way of the step; workers of a killed driver end by themselves."""
        children = []
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(one.pid).children(recursive=True)
        if name == "worker" and children:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.draw.choice(children).kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(self.draw.uniform(1, 10))
        if name in ("stop", "worker", "full", "shards") and one.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, self.draw.choice([signal.SIGINT, signal.SIGTERM]))
        elif one.poll() is None:
            one.kill()
        self.said.append((name, one.communicate(timeout=120)[1]))
        psutil.wait_procs(children, timeout=90)

    def damage(self):
        """Change, cut or delete a file."""
        files = [path for path in self.out.rglob("*") if path.is_file() and path.name != "lock"]
        if not files:
            return
        path = self.draw.choice(files)
        content = bytearray(path.read_bytes())
        how = self.draw.choice(["flip", "cut", "delete", "empty"])
        if how == "delete":
            path.unlink()
        elif how == "flip" and content:
            content[self.draw.randrange(len(content))] ^= 1 << self.draw.randrange(8)
            path.write_bytes(content)
        else:
            path.write_bytes(content[: self.draw.randrange(len(content) + 1)] if how == "cut" else b"")


def test_nothing_is_lost_or_mixed(tmp_path):
    seed = int(os.environ.get("JFED_SOAK_SEED", "0"))
    soak = Soak(tmp_path, random.Random(seed))
    undisturbed = soak.begin(tmp_path / "whole", "here", SCHEMES, SEEDS)
    said = undisturbed.communicate(timeout=600)[1]
    assert undisturbed.returncode == 0, said
    over, kinds = threading.Event(), ["kill", "kill", "worker", "stop", "full", "damage", "damage", "shards"]
    timer = threading.Timer(60 * float(os.environ.get("JFED_SOAK_MINUTES", "10")), over.set)
    timer.start()
    while not over.is_set():
        soak.step(soak.draw.choice(kinds))
    timer.cancel()
    broken = [(name, text) for name, text in soak.said if "Traceback" in text]
    assert not broken, broken[0]
    assert len(soak.counts) == len(set(kinds)) or "JFED_SOAK_MINUTES" in os.environ, soak.counts
    last = soak.begin(soak.out, "processes:2", SCHEMES, SEEDS)
    said = last.communicate(timeout=600)[1]
    assert last.returncode == 0, said
    found, whole = jfed.load(soak.out), jfed.load(tmp_path / "whole")
    assert_same_bits(found, whole)
    assert found["seed"].values.tolist() == whole["seed"].values.tolist()
    assert not list(soak.out.rglob("*.part"))
