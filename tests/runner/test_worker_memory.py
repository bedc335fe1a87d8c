"""A worker whose machine has too little memory: the command ends with a sentence, on a real failed allocation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jfed

pytestmark = pytest.mark.proof

HUNGRY = """
import dataclasses
import jax
import jax.numpy as jnp
import psutil
import jfed

SIDE = int((4 * psutil.virtual_memory().total / 4) ** 0.5)  # of a square of float32 as large as four such machines

@dataclasses.dataclass(frozen=True)
class Hungry(jfed.SelectorOptions):
    def make(self, dims):
        def select(key, state, params, view):
            most = jnp.sort(jax.random.uniform(key, (SIDE, SIDE)), axis=0)[0]
            chosen = jfed.ops.smallest(most[: dims.num_clients], params.k, view.available)
            return state, jfed.Cohort(chosen, jnp.full(dims.num_clients, jnp.nan))

        return jfed.Selector(lambda key, params: (), select, lambda state, *_: state)
"""

COMMAND = """
import sys
import jfed
from jfed.core.errors import ConfigError
from jfed.runner.executors.named import named

def main():
    (kind,) = jfed.load_file(sys.argv[2])
    base = jfed.Config(num_clients=10, cohort_size=2, num_rounds=5)
    try:
        jfed.run(jfed.methods(base, [kind()]), range(4), layout=jfed.Layout(block_size=1), executor=named(sys.argv[1]))
    except ConfigError as error:
        sys.exit(str(error))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("on", ["here", "processes:2", "ray:2"])
def test_a_program_that_needs_more_memory_than_there_is(on, tmp_path):
    if on.startswith("ray"):
        pytest.importorskip("ray", reason="Ray is not installed")
    (tmp_path / "hungry.py").write_text(HUNGRY)
    (tmp_path / "command.py").write_text(COMMAND)
    command = [sys.executable, str(tmp_path / "command.py"), on, str(tmp_path / "hungry.py")]
    environment = os.environ | {"PYTHONPATH": str(Path(jfed.__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last == "Memory ran out with blocks of 1 runs, and even a single run would not fit into the free memory."
