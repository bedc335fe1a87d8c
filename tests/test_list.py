"""`jfed list` and --help: what they print, and that they load neither jax nor pandas for it."""

import json
import re
import subprocess
import sys

import pytest

from jfed import catalog
from jfed.commands import listing
from tools import names

LOADED = """
import contextlib, io, sys
from jfed import cli
said = io.StringIO()
with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
    cli.main()
print([name for name in ("jax", "flax", "pandas", "xarray", "matplotlib") if name in sys.modules], len(said.getvalue()))
"""


@pytest.mark.parametrize("words", [["list"], ["--help"], ["run", "--help"], ["table", "--help"]], ids=" ".join)
def test_text_is_printed_without_large_libraries(words):
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded, _, length = done.stdout.rpartition("]")
    assert loaded == "[" and int(length) > 500


def test_the_written_names_are_those_of_the_catalogue():
    assert listing.SHIPPED.read_text(encoding="utf-8") == names.text(), "run `python -m tools.names`"
    written = {room["word"]: room["names"] for room in json.loads(names.text())}
    assert written == {room.word: list(catalog.shipped(field)) for field, room in catalog.ROOMS.items()}


def test_other_members_are_not_left_out(monkeypatch):
    written = json.loads(listing.SHIPPED.read_text(encoding="utf-8"))
    assert listing.complete(written)
    fewer = [room | {"files": room["files"][1:]} for room in written]
    assert not listing.complete(fewer)
    monkeypatch.setattr(listing.metadata, "entry_points", lambda group: ["one"] if group == "jfed.models" else [])
    assert not listing.complete(written)
    monkeypatch.setattr(listing.metadata, "entry_points", lambda group: [])
    assert listing.complete(written)
    monkeypatch.setenv("JFED_LOAD", "mine.py")
    assert not listing.complete(written)


def test_the_groups_of_flags(told, capsys):
    with pytest.raises(SystemExit) as stopped:
        told("run", "--help")
    said = capsys.readouterr().out
    assert stopped.value.code == 0
    assert set(re.findall(r"(\w+) options ", said)) == {"what", "training", "amount", "further", "results"}
