"""Commands that are killed or told to stop: real processes, real signals."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr

import jfed

pytestmark = pytest.mark.proof

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it runs in the background ignore it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this one
import jax
out, devices, rounds, most = sys.argv[1], *map(int, sys.argv[2:])
jax.config.update("jax_num_cpu_devices", devices)
import jfed
from jfed.runner import watch
watch.CHUNK_S = 0.2 if most < 1000 else 1e9
watch.GROWTH = most
training = jfed.Training(samples_per_client=20, batch_size=8, test_set="official")
base = jfed.Config(num_clients=8, cohort_size=5, num_rounds=rounds, eval_every=50, training=training)
layout = jfed.Layout(block_size=2, chunk_rounds=most, checkpoint_s=0.0)
try:
    jfed.run(jfed.methods(base, ["e3cs-0.5", "pow-d"]), range(4), out=out, layout=layout, progress=False)
except KeyboardInterrupt:
    sys.exit("Stopped.")
"""


class Command:
    """A process that trains two schemes on four seeds."""

    def __init__(self, out, devices=2, rounds=2000, most=40):
        where = str(Path(jfed.__file__).parents[1])
        cache = {"JAX_COMPILATION_CACHE_DIR": str(out.parent / "cache")}
        always = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0"}
        self.out = out
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(out), str(devices), str(rounds), str(most)],
            stderr=subprocess.PIPE, text=True, env=os.environ | cache | always | {"PYTHONPATH": where},
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()

    def rounds(self):
        """Return the rounds of all checkpoints."""
        return sorted(int(p.name[:8]) for p in self.out.glob("checkpoints/*/*.npz"))

    def wait_for(self, round):
        """Wait for a checkpoint of the round, or of a later one."""
        while not [r for r in self.rounds() if r >= round]:
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.05)

    def end(self):
        """Wait for the end; return the messages and the exit status."""
        return self.process.communicate(timeout=500)[1], self.process.returncode


def test_killed_again_and_again_it_ends_with_the_same_bits(tmp_path):
    with Command(tmp_path / "whole") as command:
        assert command.end()[1] == 0
    whole = jfed.load(tmp_path / "whole")
    draw, in_work = random.Random(1), 0
    for attempt in range(8):
        with Command(tmp_path / "cut", devices=1 + attempt % 2) as command:
            before = command.rounds()
            while attempt % 4 and command.rounds() == before and command.process.poll() is None:
                time.sleep(0.01)  # three times of four until it writes a checkpoint
            time.sleep(draw.uniform(0, 1.5))
            command.process.kill()
            in_work += bool(command.rounds())
    assert in_work >= 3  # so that there were checkpoints to resume from
    with Command(tmp_path / "cut") as command:
        assert command.end()[1] == 0
    xr.testing.assert_identical(whole, jfed.load(tmp_path / "cut"))
    assert sorted(p.name for p in (tmp_path / "cut").iterdir() if p.name != "checkpoints") == [
        "lock", "manifest.json", "results",
    ]  # fmt: skip
    assert not list((tmp_path / "cut").rglob("*.part")) and not command.rounds()


def test_told_to_stop_once_it_leaves_soon_and_in_good_order(tmp_path):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        with Command(tmp_path / number.name, rounds=200_000) as command:
            command.wait_for(3)
            command.process.send_signal(number)
            said, status = command.end()
            assert status == 1  # what `sys.exit("Stopped.")` leaves
            assert said.count("Stopping after this chunk; press Ctrl-C again to leave at once.\n") == 1
            assert said.endswith("\nStopped.\n")
            assert len(command.rounds()) == 4  # two of each unit in the batch
            assert command.rounds()[-1] < 100_000  # after a chunk of 40 rounds, not at the end
            assert not list(command.out.glob("checkpoints/*/*.part"))


def test_told_twice_it_leaves_at_once(tmp_path):
    with Command(tmp_path / "out", rounds=200_000, most=200_000) as command:
        command.wait_for(2)  # the next chunk takes minutes
        time.sleep(2)
        command.process.send_signal(signal.SIGINT)
        time.sleep(3)
        assert command.process.poll() is None
        command.process.send_signal(signal.SIGINT)
        said, status = command.end()
        assert "Stopping after this chunk" in said and said.endswith("Stopped.\n")
        assert status == 130
        assert command.rounds() == [1, 1, 2, 2]  # not one chunk more
