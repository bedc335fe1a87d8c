"""Digests of the code that decides a member's numbers, so that no result outlives its formula.

The source is taken as it was when the class was defined: later edits on disk do not change the code that runs.
"""

import ast
import builtins
import functools
import linecache
import os
import site
import sys
import sysconfig
import weakref
from collections.abc import Iterable, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from jfed.core import source

# The rooms of members, and the array operations of the core, which decide their numbers.
ROOMS = ("selectors", "envs", "controllers", "algorithms", "models", "data")
SHARED = tuple(f"jfed.core.{name}" for name in ("cut", "mixing", "once", "ops", "pairs", "prng", "rarely", "total"))
CORE = "jfed.core."


class Origin(NamedTuple):
    """The origin of a class.

    Attributes:
        text: source of its module or notebook cell; None if it is not available.
        package: package of its module, for relative imports.
        modules: sources of the modules that may decide its numbers, by name.
        reached: modules that a notebook cell uses without importing them itself.
    """

    text: bytes | None
    package: str
    modules: Mapping[str, bytes]
    reached: frozenset[str] = frozenset()


_origins: weakref.WeakKeyDictionary[type, Origin] = weakref.WeakKeyDictionary()
_taken: dict[str, tuple[Any, bytes]] = {}


def remember(kind: type) -> None:
    """Keep the source of a class that is being defined, and of the modules that may decide its numbers."""
    name = kind.__module__
    if name.startswith(CORE):
        return
    module, frame = sys.modules.get(name), _defining_frame(name)
    file, reached = getattr(module, "__file__", None), frozenset()
    text = None
    if module is not None and frame is not None and file is not None and frame.f_code.co_filename == file:
        text = _read(module)
        if text is not None:
            _taken[name] = module.__spec__, text
    elif frame is not None and "<locals>" not in kind.__qualname__:
        text = "".join(linecache.getlines(frame.f_code.co_filename)).encode() or None
        uses = None if text is None else _reached(text, kind.__qualname__, frame.f_globals)
        text, reached = (None, frozenset()) if uses is None else (text, uses)
    if text is not None and not decides(name) and not _defined_at(text, kind, frame):
        text = None
    package = getattr(module, "__package__", None) or ""
    _origins[kind] = Origin(text, package, _beside(name, file), reached)


def _defining_frame(name: str) -> FrameType | None:
    """Return the frame in which a class of a module is being defined."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") != name:
        frame = frame.f_back
    return frame


def _defined_at(text: bytes, kind: type, frame: FrameType | None) -> bool:
    """Return whether the current line of a frame belongs to the `class` statement of a class, outside of functions.

    A class made by `type(...)` or in a function depends on values that its source does not show, and a file name such
    as "<string>" may lead to the text of another program.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    own = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    lines = [range(min([n.lineno, *(d.lineno for d in n.decorator_list)]), (n.end_lineno or 0) + 1) for n in own]
    return "<locals>" not in kind.__qualname__ and frame is not None and any(frame.f_lineno in r for r in lines)


def _read(module: ModuleType) -> bytes | None:
    try:
        return Path(str(module.__file__)).read_bytes()
    except OSError:
        loader: Any = getattr(module, "__loader__", None)
        try:
            return loader.get_source(module.__name__).encode()
        except (AttributeError, ImportError, OSError):
            return None


def _beside(name: str, file: str | None) -> dict[str, bytes]:
    """Return the sources of jfed's members and of the user's own modules, each as it was when first read."""
    found, own = {}, name.split(".")[0] == "jfed"
    for other, module in sys.modules.copy().items():  # a copy in one step: another thread may import
        if decides(other) or (not own and _users(other, module, name, file)):  # jfed imports no module of the user's
            known = _taken.get(other)
            if known is None or known[0] is not getattr(module, "__spec__", None):  # new, or reloaded
                text = _read(module) if getattr(module, "__file__", None) else None
                if text is None:
                    continue
                known = _taken[other] = module.__spec__, text
            found[other] = known[1]
    return found


def decides(name: str) -> bool:
    """Return whether a module is one of jfed's that decide a member's numbers."""
    parts = name.split(".")
    return parts[0] == "jfed" and ((len(parts) > 2 and parts[1] in ROOMS) or name in SHARED)


def _users(other: str, module: Any, name: str, file: str | None) -> bool:
    """Return whether a module is not installed, or belongs to the same package or folder as a member from outside."""
    top, beside = name.split(".")[0], getattr(module, "__file__", None)
    if top == "jfed" or other.split(".")[0] == "jfed":
        return False
    if top != "__main__" and other.split(".")[0] == top:
        return True
    near = file is not None and beside is not None and os.path.dirname(beside) == os.path.dirname(file)
    return near or (beside is not None and not installed(beside))


@functools.cache
def installed(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return os.path.realpath(file).startswith(_homes())


@functools.cache
def _homes() -> tuple[str, ...]:
    """Return the folders of Python's own and of installed packages, each with a separator at its end."""
    homes = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(os.path.realpath(home) + os.sep for home in [*homes, site.getusersitepackages()])


def _reached(text: bytes, qualname: str, namespace: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the modules that a cell uses through names bound in other cells; None if it uses anything else of theirs.

    Other definitions of other cells may have changed by the time they are used.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell with IPython commands
        return None
    binds, uses = set(), set()
    for statement in source.needed(tree, qualname.split(".")[0]):
        bound, used = source.names(statement)
        binds |= bound
        uses |= used
    modules = set()
    for name in uses - binds - set(dir(builtins)) - {"__name__"}:
        value = namespace.get(name)
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if home is None or home == namespace.get("__name__"):
            return None
        modules.add(home)
    return frozenset(modules)


# ----------------------------------------------------------------------------------------------- digests


def digest(kind: type) -> str | None:
    """Return a digest of the code that decides a member's numbers; None if its source is not available.

    It covers the definition of the class (for a member of jfed: its module), its base classes, and what these import
    from the rooms of members and from the array operations of the core. For a member from outside it always covers
    these, and also what is imported from modules that are not installed, and from those of its own package, if that is
    installed, that were loaded before it. For a class without source, it is a digest of its `version`.
    """
    return _digest(kind, _origins.get(kind))


@functools.lru_cache(maxsize=512)
def _digest_of(text: bytes, name: str, package: str, modules: tuple[tuple[str, bytes], ...], reached: frozenset) -> str:
    tree, known = ast.parse(text), dict(modules)
    home, _, top = name.partition(":")
    own = tree.body if decides(home) else source.needed(tree, top)
    roots = [*reached, *_followed(home, source.imported(own, package)), *(() if decides(home) else SHARED)]
    texts = [source.normal(own)]
    for other in _closure(roots, known):
        texts += [other, _normal(known[other])]
    return source.digest(texts)


def _digest(kind: type, origin: Origin | None) -> str | None:
    if origin is None or origin.text is None:
        version = getattr(kind, "version", None)
        return None if version is None else source.digest([f"version {version}"])
    name = f"{kind.__module__}:{kind.__qualname__.split('.')[0]}"
    texts = [_digest_of(origin.text, name, origin.package, tuple(sorted(origin.modules.items())), origin.reached)]
    for base in kind.__bases__:
        if base in _origins and base.__module__ != kind.__module__:
            above = _digest(base, _origins[base])
            if above is None:
                return None
            texts.append(above)
    return source.digest(texts)


def _closure(roots: Iterable[str], known: dict[str, bytes]) -> list[str]:
    """Return the known modules that names refer to, and all that these import, sorted; read those not loaded yet."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        parts = todo.pop().split(".")
        for name in (".".join(parts[:n]) for n in range(len(parts), 0, -1)):
            if name in known or _read_ahead(name, known):
                if name not in found:
                    found.add(name)
                    todo += _followed(name, _imports(known[name], name.rpartition(".")[0]))
                break
    return sorted(found)


def _followed(home: str, names: Iterable[str]) -> list[str]:
    """Return those names used in a module that are worth following: in jfed, only jfed's own.

    jfed imports no module of the user's (tests/test_layers.py), so an `x.ndim` in one of its modules is not about the
    x.py beside a script. Looking all of them up on the disk would also take most of a digest's time.
    """
    return [name for name in names if home.split(".")[0] != "jfed" or name.split(".")[0] == "jfed"]


def _read_ahead(name: str, known: dict[str, bytes]) -> bool:
    """Add the source of a module that is not loaded yet, without loading it; return whether it was found."""
    own = name.split(".")[0] == "jfed"
    file = _own_file(name) if own else _file(name)
    if file is None or not file.endswith(".py"):
        return False
    if decides(name) or not (own or installed(file)):
        known[name] = Path(file).read_bytes()
    return name in known


def _file(name: str) -> str | None:
    """Return the file of a module, found without loading it."""
    where, spec, parts = None, None, name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), where)
        if spec is None:
            return None
        where = spec.submodule_search_locations
    return None if spec is None else spec.origin


_own_file = functools.cache(_file)  # no module is added to jfed while it runs


@functools.lru_cache(maxsize=512)
def _imports(text: bytes, package: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source.imported([ast.parse(text)], package)))


@functools.lru_cache(maxsize=512)
def _normal(text: bytes) -> str:
    return source.normal(ast.parse(text))


def module_digest(name: str) -> str:
    """Return a digest of a module of jfed and of all it imports that decides members' numbers."""
    known = _beside("jfed", None)
    return source.digest(x for other in _closure([name], known) for x in (other, _normal(known[other])))


@functools.cache
def engine_digest() -> str:
    """Return a digest of the engine's own code: `jfed/core` and `jfed/engine`."""
    home = Path(__file__).parent
    files = sorted([*home.glob("*.py"), *(home.parent / "engine").glob("*.py")])
    return source.digest(x for file in files for x in (file.stem, _normal(file.read_bytes())))
