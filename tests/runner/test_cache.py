"""A damaged entry of jax's compile cache is removed and said once."""

import logging
import os
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import pytest

import jfed
from jfed.runner import cache


@pytest.fixture
def warned(tmp_path, caplog):
    """Return a function that warns as jax does, with the cache mended, and what was said so far."""
    caplog.set_level(logging.WARNING, "jfed")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        cache.mend.cache_clear()
        cache.mend(tmp_path)

        def warn(text):
            warnings.warn(text, stacklevel=2)
            return caplog.messages

        yield warn


def entry(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


READING = "Error reading persistent compilation cache entry for '{}': error: Error -5 while\ndecompressing data"


def test_the_damaged_entries_of_a_program_are_removed_and_the_folder_is_named_once(tmp_path, warned):
    whole = zlib.compress(b"program" * 9)
    bad = [entry(tmp_path, f"jit_f-{i}-cache", cut) for i, cut in enumerate((whole[:-3], b"", b"x"))]
    good = [entry(tmp_path, "jit_f-9-cache", whole), entry(tmp_path, "jit_f_2-0-cache", b"x")]
    for _ in range(3):
        said = warned(READING.format("jit_f"))
    assert said == [f"A compiled program in {tmp_path} is damaged: it is removed and compiled again."]
    assert all(path.exists() for path in good[1:]) and not any(path.exists() for path in bad)


def test_entries_that_unpack_and_yet_are_no_programs_go_together(tmp_path, warned):
    path = entry(tmp_path, "jit_f-0-cache", zlib.compress(b"no program"))
    warned(READING.format("jit_f"))
    assert not path.exists()


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path, warned):
    for _ in range(2):
        said = warned("Error writing persistent compilation cache entry for 'jit_f': OSError: No space left on device")
    assert said == [
        f"Compiled programs cannot be kept in {tmp_path} (OSError: No space left on device): later commands"
        " compile them again."
    ]


def test_other_warnings_are_shown_as_before(tmp_path):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        cache.mend.cache_clear()
        cache.mend(tmp_path)
        warnings.warn("something else", stacklevel=1)
    assert [str(one.message) for one in shown] == ["something else"]


PROGRAM = """
import logging, sys
from pathlib import Path
logging.basicConfig(format="%(message)s")
from jfed.runner import host
host.setup()
import jax
import jax.numpy as jnp
f = jax.jit(lambda x: (x @ x.T).sum())
want = float(f(jnp.ones((3, 3))))
folder = Path(sys.argv[1])
for path in folder.glob("*-cache"):
    path.write_bytes(path.read_bytes()[:-20])
jax.clear_caches()
assert float(f(jnp.ones((3, 3)))) == want
jax.clear_caches()
assert float(f(jnp.ones((3, 3)))) == want
"""


@pytest.mark.check
def test_jax_says_it_in_the_words_that_are_known_here(tmp_path):
    env = os.environ | {"PYTHONPATH": str(Path(jfed.__file__).parents[1]), "JFED_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=True, env=env
    )
    assert done.stderr == f"A compiled program in {tmp_path} is damaged: it is removed and compiled again.\n"
    programs = list(tmp_path.glob("jit__lambda*-cache"))
    assert programs and all(cache._unpacks(path) for path in programs)
