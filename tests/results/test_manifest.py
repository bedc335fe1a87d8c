"""The manifest of a directory of results: the command that made them."""

import json
import sys
from types import SimpleNamespace

import pytest

from jfed.results import store


@pytest.mark.parametrize(
    ("program", "module", "arguments", "line"),
    [
        ("/env/bin/jfed", None, ["run", "--set", "selector.eta=(0.1, 2)"], "jfed run --set 'selector.eta=(0.1, 2)'"),
        ("/site/jfed/__main__.py", "jfed.__main__", ["run"], "jfed run"),
        ("/repo/experiments/e3cs.py", "experiments.e3cs", [], "python -m experiments.e3cs"),
        ("my study.py", None, ["--fast"], "python 'my study.py' --fast"),
        ("/env/ipykernel_launcher.py", "ipykernel_launcher", ["-f", "kernel.json"], None),
        ("-c", None, [], None),
        ("/env/bin/pytest", None, ["-q"], None),
        ("", None, [], None),
    ],
)
def test_an_entry_has_the_line_that_repeats_the_command(monkeypatch, tmp_path, program, module, arguments, line):
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    spec = None if module is None else SimpleNamespace(name=module)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", spec)
    store.write_manifest(tmp_path, {"units": []})
    (entry,) = json.loads((tmp_path / "manifest.json").read_text())
    assert entry["command"] == line and entry["units"] == []
