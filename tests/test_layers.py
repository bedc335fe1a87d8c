"""One-way layers, read from the imports; and rules for the content of modules."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import jfed
from jfed.core.interfaces import Algorithm, Controller, Environment, Selector

HOME = Path(jfed.__file__).parent
ROOMS = ("data", "models", "algorithms", "envs", "selectors", "controllers")
SETTINGS = {"config", "catalog", "sweep"}
# Imports from jfed, beside itself, that each room and each file of the core may have.
CORE = {
    "core.types": set(),
    "core.errors": set(),
    "core.version": set(),
    "core.lazy": set(),
    "core.source": set(),
    "core.most": {"core.errors"},
    "core.code": {"core.source"},
    "core.learning": {"core.types"},
    "core.interfaces": {"core.types", "core.learning"},
    "core.once": set(),
    "core.rarely": set(),
    "core.total": set(),
    "core.pairs": {"core.once"},
    "core.cut": {"core.once", "core.pairs", "core.total"},
    "core.prng": {"core.types", "core.errors", "core.once"},
    "core.mixing": {"core.once", "core.prng"},
    "core.options": {"core.types", "core.errors"},
    "core.ops": {"core.mixing", "core.cut", "core.pairs", "core.prng", "core.total"},
    "core.members": {"core.types", "core.errors", "core.interfaces", "core.options", "core.code"},
}
PLAIN = {"core.errors", "core.version"}  # usable without jax
ALLOWED = CORE | {
    "core": set(),
    **{name: {"core"} for name in ROOMS},
    "catalog": {"core", "models", "data"},  # finds the members of the rooms without naming any
    "config": {"core", "algorithms", "data", "catalog"},
    "points": {"core", "config", "catalog"},
    "sweep": {"core", "config", "catalog", "points"},
    "paths": {"core"},
    "engine": {"core", *ROOMS, *SETTINGS},
    "runner": {"core", *ROOMS, *SETTINGS, "engine", "results"},
    "contracts": {"core", *ROOMS, *SETTINGS, "engine", "runner"},
    "results": PLAIN | {"paths"},
    "stats": PLAIN | {"results"},
    "comparisons": PLAIN | {"results", "stats"},
    "measures": PLAIN | {"results"},
    "report": PLAIN | {"results", "stats", "comparisons", "measures"},
    "claims": PLAIN | {"results", "stats", "comparisons", "measures", "report"},
    "calls": PLAIN,
    "analysis": {"calls", "results", "stats", "comparisons", "measures", "report", "claims"},
    "__init__": {"core.version"},
}
# The command line is above everything else, and `experiments` and `tools` are above it.
TOP = {"__main__", "cli", "commands"}
NO_JAX = {"analysis", "calls", "results", "stats", "comparisons", "measures", "report", "claims", "data"}
FILES = {"builtins", "io", "os", "pathlib", "shutil", "tempfile", "glob", "h5py", "xarray", "pandas"}


def modules():
    return sorted(p for p in HOME.rglob("*.py"))


def layer(path: Path) -> str:
    """Return the room of a module or, in the core, its file: files of the core also import in one direction only."""
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts) if parts[0] == "core" and parts[1] != "__init__" else parts[0]


def imports(path: Path, everywhere: bool = True):
    """Yield the full names of a module's imports; without `everywhere`, only those at its top level."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def target(name: str) -> tuple[str, str]:
    """Return the room and the file of an imported name: core and core.types for jfed.core.types.View."""
    parts = name.split(".")
    return parts[1], ".".join(parts[1:3])


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(HOME)))
def test_a_module_imports_only_from_below(path):
    own = layer(path)
    if own in TOP:
        return
    assert own in ALLOWED, f"{own} has no place among the layers"
    for name in imports(path, everywhere=own != "__init__"):
        if name.split(".")[0] != "jfed":
            continue
        assert "." in name, f"{path} imports the whole of jfed"
        room, file = target(name)
        assert room == own or {room, file} & ALLOWED[own], f"{own} must not import {name}"


def test_the_layers_have_no_way_back():
    below = {own: {name.split(".")[0] if "." not in own else name for name in names} for own, names in ALLOWED.items()}
    seen = set()
    while ready := {own for own, names in below.items() if own not in seen and names <= seen | {own}}:
        seen |= ready
    assert seen == set(below)


@pytest.mark.parametrize("path", [p for p in modules() if layer(p) in NO_JAX], ids=lambda p: str(p.relative_to(HOME)))
def test_no_jax_here(path):
    heavy = {"jax", "jaxlib", "flax", "optax", "chex"}
    assert not heavy & {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", sorted((HOME / "engine").rglob("*.py")), ids=lambda p: p.name)
def test_what_is_traced_opens_no_file(path):
    assert not FILES & {name.split(".")[0] for name in imports(path)}
    called = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert "open" not in {f.id for f in called if isinstance(f, ast.Name)}
    files = {"open", "load", "save", "savez", "tofile", "fromfile", "memmap", "read_text", "write_text", "read_bytes"}
    assert not files & {f.attr for f in called if isinstance(f, ast.Attribute)}


def test_the_rules_are_about_what_there_is():
    assert set(ALLOWED) | TOP | NO_JAX == {layer(p) for p in modules()}


def test_a_room_knows_no_interface_but_its_own():
    """Only the bases of members and the engine, which puts them together, know all four interfaces."""
    full = {f"{i.__module__}.{i.__name__}": i for i in (Environment, Selector, Controller, Algorithm)}
    known: dict[str, set[type]] = {}
    for path in modules():
        names = set(imports(path))
        whole = names & {i.__module__ for i in full.values()}
        assert layer(path) not in ROOMS or not whole, f"{path} imports the whole of {whole}"
        used = {full[name] for name in names & set(full)}
        known.setdefault(layer(path), set()).update(used)
        assert len(used) < 4 or layer(path) in ("__init__", "core.members", "engine"), f"{path} knows all four"
    assert {room: known[room] for room in ROOMS} == {
        "data": set(), "models": set(), "algorithms": {Algorithm}, "envs": {Environment}, "selectors": {Selector},
        "controllers": {Controller},
    }  # fmt: skip
    assert known["engine"] == set(full.values())


def test_a_run_needs_neither_pictures_nor_frames():
    heavy = ("matplotlib", "scipy.stats", "pandas", "xarray")
    code = f"import sys, jfed; jfed.run; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=HOME.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("folder", ["experiments", "tools"])
def test_every_file_of_the_folder_is_a_command(folder):
    for path in sorted((HOME.parent / folder).glob("*.py")):
        if path.name != "__init__.py":
            assert 'if __name__ == "__main__":' in path.read_text(), f"{path} belongs in a folder of its own"


@pytest.mark.parametrize("folder", ["jfed", "experiments", "tools", "benchmarks", "tests"])
def test_files_are_short(folder):
    long = [p for p in (HOME.parent / folder).rglob("*.py") if len(p.read_text().splitlines()) > 300]
    assert long == []


def test_no_room_has_grown_out_of_the_house():
    size: dict[str, int] = {}
    for path in modules():
        room = path.relative_to(HOME).parts[0]
        size[room] = size.get(room, 0) + len(path.read_text().splitlines())
    assert max(size.values()) < 0.15 * sum(size.values()), size


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(HOME)))
def test_nothing_uses_a_global_generator(path):
    fine = {"default_rng", "Generator", "SeedSequence", "BitGenerator", "PCG64"}
    assert not [n for n in imports(path) if n.split(".")[0] == "random" or n.startswith("numpy.random")]
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "random"
            and isinstance(node.value.value, ast.Name)
            and node.value.value.id in ("np", "numpy")
        ):
            assert node.attr in fine, f"{path}:{node.lineno} uses numpy.random.{node.attr}"


def test_default_rng_is_always_given_a_seed():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
                assert node.args, f"{path}:{node.lineno} has no seed"


def test_the_public_face_is_what_it_says():
    for name in jfed._HOME:
        assert getattr(jfed, name) is not None
    assert set(jfed._HOME) <= set(dir(jfed))
    with pytest.raises(AttributeError, match="module 'jfed' has no attribute 'nothing'"):
        _ = jfed.nothing


def test_the_names_of_analysis_are_those_that_type_checkers_see():
    tree = ast.parse((HOME / "analysis.py").read_text())
    seen = {a.name: n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}
    assert seen == jfed.analysis._HOME and dir(jfed.analysis) == sorted(seen)
    for name in seen:
        assert callable(getattr(jfed.analysis, name))


def test_rooms_give_their_modules_without_further_imports():
    code = "import jfed; print(jfed.controllers.adaptive.Options().phi, jfed.selectors.e3cs.Options().quota)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=HOME.parent)
    assert done.stdout.split() == ["0.025", "0.5"], done.stderr
    with pytest.raises(AttributeError, match=r"module 'jfed\.selectors' has no attribute 'nobody'"):
        _ = jfed.selectors.nobody


def test_jfed_imports_itself_python_and_installed_packages_only():
    """The digest of a member relies on it: names in jfed's modules are never those of files beside a user's script."""
    known = {"jfed", *sys.stdlib_module_names, *importlib.metadata.packages_distributions()}
    paths = sorted(HOME.rglob("*.py"))
    assert len(paths) > 100
    assert {path.name: found for path in paths if (found := {n.split(".")[0] for n in imports(path)} - known)} == {}
