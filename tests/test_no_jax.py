"""Analysis runs where jax is not installed, and opens no window."""

import subprocess
import sys

import jfed.analysis


def test_import_brings_neither_jax_nor_pyplot():
    code = "import sys, jfed.analysis; print([m for m in ('jax', 'jaxlib', 'matplotlib.pyplot') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists_and_is_documented():
    for name in dir(jfed.analysis):
        assert getattr(jfed.analysis, name).__doc__
