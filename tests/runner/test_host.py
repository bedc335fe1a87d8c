"""Commands on a machine with any number of cores, in a new process and in one that has used jax."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jfed
from jfed.runner import host

CORES = """
import os, sys
os.sched_getaffinity = lambda pid: set(range(int(sys.argv[1])))
from jfed.runner import host
host.setup()
host.setup()
import jax
print(jax.device_count())
"""
NOTEBOOK = """
import os, sys
from pathlib import Path
from rich.console import Console
import jax
import jax.numpy as jnp
from jfed.commands import flags, run
jnp.zeros(3).block_until_ready()
before = jax.device_count()
for cores in 1, 4, 8:
    os.sched_getaffinity = lambda pid: set(range(cores))
    small = {"seeds": 2, "num_clients": 4, "cohort_size": 2, "num_rounds": 2, "out": Path(sys.argv[1], str(cores))}
    run.main(flags.changed(flags.Settings(), schemes=("uniform",), **small), Console())
    assert jax.device_count() == before
"""
SCRIPT = """
import os, sys
os.sched_getaffinity = lambda pid: set(range(3))
import jax
before = jax.config.values["jax_compilation_cache_dir"]
if sys.argv[1] == "used":
    jax.devices()
import jfed
points = jfed.methods(jfed.Config(num_clients=4, cohort_size=2, num_rounds=2), ["uniform"])
devices = int(sys.argv[2]) if sys.argv[2:] else None
found = jfed.run(points, range(6), progress=False, devices=devices)
print(jax.device_count(), found.attrs["block_size"], jax.config.values["jax_compilation_cache_dir"] != before)
"""


def done(program, *arguments, home, **env):
    """Return the output of a program in a process of its own, where only `env` can choose devices."""
    free = {name: value for name, value in os.environ.items() if name not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")}
    where = {"PYTHONPATH": str(Path(jfed.__file__).parents[1]), "JFED_CACHE_DIR": str(home / "cache")}
    found = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=False,
        env=free | where | env, cwd=home,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize(
    ("cores", "chosen", "devices"),
    [
        (1, {}, 1),
        (8, {}, 8),
        (8, {"JAX_NUM_CPU_DEVICES": "3"}, 3),
        (8, {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}, 3),
    ],
)
def test_a_new_process_has_a_device_per_core_unless_the_user_chose(tmp_path, cores, chosen, devices):
    assert done(CORES, cores, home=tmp_path, JAX_PLATFORMS="cpu", **chosen) == f"{devices}\n"


def test_the_cache_is_where_the_user_wants_it(tmp_path):
    program = "from jfed.runner import host; host.setup(); host.setup()\n"
    program += "import jax; print(jax.config.jax_compilation_cache_dir)"
    for chosen, place in (
        ({"JFED_CACHE_DIR": "a", "JAX_COMPILATION_CACHE_DIR": "b"}, "a"),
        ({"JFED_CACHE_DIR": "", "JAX_COMPILATION_CACHE_DIR": "b"}, "b"),
        ({"JFED_CACHE_DIR": "", "XDG_CACHE_HOME": "c"}, str(Path("c", "jfed", "jax"))),
    ):
        assert done(program, home=tmp_path, **chosen) == f"{place}\n"


@pytest.mark.check
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("fresh",), "3 2 True"),  # as a command: six runs on three cores, and a compile cache
        (("fresh", 2), "2 3 True"),
        (("used",), "1 6 False"),  # what jax has by now stays
    ],
)
def test_a_script_has_the_devices_and_the_cache_of_a_command(tmp_path, arguments, told):
    assert done(SCRIPT, *arguments, home=tmp_path) == f"{told}\n"
    assert (tmp_path / "cache").exists() == told.endswith("True")


@pytest.mark.check
def test_a_command_runs_on_any_cores_after_jax_was_used(tmp_path):
    assert "uniform" in done(NOTEBOOK, tmp_path / "out", home=tmp_path)


@pytest.mark.parametrize("cores", [1, 4, 8])
def test_devices_that_are_there_stay(monkeypatch, cores):
    """The tests' own two devices stay, whatever the machine has, since later tests in this process need them."""
    before = jax.devices()
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    assert host.cores() == cores
    host.setup()
    assert len(before) == 2 and jax.devices() == before
