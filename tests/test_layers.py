"""One-way layers, read from the imports; and two rules about what modules may hold."""

import ast
from pathlib import Path

import pytest

import jfed

HOME = Path(jfed.__file__).parent
ROOMS = ("data", "models", "algorithms", "envs", "selectors", "controllers")
FOUNDATION = {"types", "interfaces", "prng", "errors", "options"}
# What may be imported from jfed, by layer. A room may also import itself.
ALLOWED = {
    "types": set(),
    "interfaces": {"types"},
    "errors": set(),
    "prng": {"types", "errors"},
    "options": {"types", "errors"},
    "ops": FOUNDATION,
    **dict.fromkeys(ROOMS, FOUNDATION | {"ops"}),
    "config": FOUNDATION | {"ops", *ROOMS},
    "schemes": {"errors", "selectors"},
    "sweep": FOUNDATION | {"ops", "config", "schemes", *ROOMS},
    "engine": FOUNDATION | {"ops", "config", "sweep", "store", "analysis", *ROOMS},
    "analysis": {"errors"},
    "store": {"errors", "__version__", "jfed"},
    "__init__": set(),
}
# `experiments` and the command line stand above everything.
TOP = {"cli", "commands"}
NO_JAX = {"analysis", "store", "errors", "data"}


def modules():
    return sorted(p for p in HOME.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def imports(path: Path, everywhere: bool = True):
    """Full names of what a module imports; without `everywhere` only when it is loaded, not for type checkers."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(HOME)))
def test_a_module_imports_only_from_below(path):
    own = layer(path)
    if own in TOP:
        return
    assert own in ALLOWED, f"{own} has no place among the layers"
    if own == "__init__":
        names = list(imports(path, everywhere=False))
        assert not [n for n in names if n.startswith("jfed")]
        return
    for name in imports(path):
        if name == "jfed" or not name.startswith("jfed."):
            assert name != "jfed" or own == "store", f"{path}: imports the whole of jfed"
            continue
        target = name.split(".")[1]
        assert target == own or target in ALLOWED[own], f"{own} must not import {name}"


@pytest.mark.parametrize("path", [p for p in modules() if layer(p) in NO_JAX], ids=lambda p: str(p.relative_to(HOME)))
def test_no_jax_here(path):
    heavy = {"jax", "jaxlib", "flax", "optax", "chex"}
    assert not heavy & {name.split(".")[0] for name in imports(path)}


def test_only_the_round_knows_all_four_interfaces():
    four = {"Environment", "Selector", "Controller", "Algorithm"}
    for path in modules():
        if layer(path) in ROOMS:
            used = {name.rpartition(".")[2] for name in imports(path) if name.startswith("jfed.core.types.")} & four
            assert len(used) <= 1, f"{path} knows {used}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(HOME)))
def test_a_module_is_one_idea(path):
    assert len(path.read_text().splitlines()) <= 300


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
                assert node.args, f"{path}:{node.lineno} draws from the clock"


def test_the_public_face_is_what_it_says():
    for name in jfed._HOME:
        assert getattr(jfed, name) is not None
    assert set(jfed._HOME) <= set(dir(jfed))
    with pytest.raises(AttributeError, match="nothing"):
        _ = jfed.nothing
