"""Files of absurd sizes: one sentence, in little memory and time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jfed

pytestmark = pytest.mark.proof

SMALL = ("report.json", "labels.json", "manifest.json")  # a damaged one counts as none
PATIENCE_S = 600.0  # they take less than a minute


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory in use is read from /proc")
def test_absurd_sizes(tmp_path):
    root = Path(jfed.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.absurd", str(tmp_path)], capture_output=True, text=True, check=False,
        timeout=PATIENCE_S, cwd=root, env=os.environ | {"PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, told in json.loads(done.stdout).items():
        if not name.endswith(SMALL):
            kind, sentence = told
            assert kind in ("ValueError", "ConfigError", "DataError"), f"{name}: {told}"
            assert Path(name).name in sentence and len(sentence) < 1000, f"{name}: {sentence[:1000]}"
        elif told:
            assert told[0] == "FileNotFoundError" and "There are no results" in told[1], f"{name}: {told}"
