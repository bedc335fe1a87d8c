"""`jfed check FILE`, and a member inside jfed that is one file."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
import toys
from rich.console import Console
from toys import GOOD

import jfed
from jfed import catalog, cli
from jfed.catalog import outside
from jfed.commands import listing

pytestmark = pytest.mark.check


def test_the_command_reads_a_file(tmp_path, monkeypatch, capsys):
    path = tmp_path / "crooked_scheme.py"
    path.write_text(
        "import jfed\nfrom dataclasses import dataclass\nimport toys\n\n"
        "@dataclass(frozen=True)\nclass Crooked(jfed.SelectorOptions):\n"
        "    luck: float = 0.5\n\n    def make(self, dims):\n        return toys.ToyScheme().make(dims, self.luck)\n"
    )
    monkeypatch.setattr(outside, "_files", {})
    monkeypatch.setattr(sys, "argv", ["jfed", "check", str(path)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == (
        "scheme crooked: make: Crooked.make reads luck, which is dynamic: take it from the params that each function"
        " gets, or declare it static, as in `luck: ... = jfed.static(...)`."
    )
    assert said[1:] == ["scheme crooked: 4 rules hold"]
    path.write_text(path.read_text().replace("return", "").replace("self.luck", ""))
    monkeypatch.setattr(outside, "_files", {})
    monkeypatch.delitem(sys.modules, "crooked_scheme")
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().out.startswith("scheme crooked: make: Crooked.make must return a jfed.Selector, found")
    monkeypatch.setattr(sys, "argv", ["jfed", "check", "unifrom"])
    with pytest.raises(SystemExit, match=r"unknown member 'unifrom' \(did you mean 'uniform'"):
        cli.main()


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """A copy of the toys in the folder of every room."""
    for field in GOOD:
        package = importlib.import_module(catalog.ROOMS[field].package)
        folder = tmp_path / field
        folder.mkdir()
        shutil.copy(Path(toys.__file__), folder / f"toy_{field}.py")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    for cached in (catalog.members, catalog.shipped):
        cached.cache_clear()
    yield
    for cached in (catalog.members, catalog.shipped):
        cached.cache_clear()


@pytest.mark.usefixtures("inside")
def test_a_member_inside_is_one_file(capsys):
    """The catalogue, `jfed list`, configs, and the test of any scheme in any world find a member by its file alone."""
    listing.main(listing.Settings(), Console(width=1000))
    said = capsys.readouterr().out
    for field, kind in GOOD.items():
        (found,) = (k for k in catalog.members(field) if k.__module__.endswith(f".toy_{field}"))
        name = found.called()[0].name
        assert found.__name__ == kind and name in said.replace(",", " ").split()
        assert name in catalog.names(field) and catalog.label(catalog.find(field, name)) == name
    spec = importlib.util.spec_from_file_location("pairs", Path(__file__).parent / "test_any_scheme_in_any_world.py")
    pairs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pairs)
    pairs.test_nothing_is_forgotten()
    tried = {param.values for param in pairs.pairs(pairs.ALONE, pairs.WORLDS)}
    assert {("toy-scheme", "wireless"), ("uniform", "toy-world"), ("toy-scheme", "toy-world")} <= tried
    config = jfed.Config(8, 3, 2, selector="toy-scheme", environment="toy-world", controller="toy-controller")
    results = jfed.run([jfed.Point(config, {"method": "toy"})], [0], progress=False)
    assert results["num_selected"].values.any()
