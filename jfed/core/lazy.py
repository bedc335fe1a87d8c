"""Modules of a room as attributes of its package, imported on first use."""

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType


def submodules(package: str) -> Callable[[str], ModuleType]:
    """Return a package's `__getattr__`, so that `import jfed; jfed.selectors.e3cs` needs no further import."""

    def find(name: str) -> ModuleType:
        full = f"{package}.{name}"
        if name.startswith("_") or importlib.util.find_spec(full) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(full)

    return find
