"""Client selection schemes: one file each, found by the catalogue. See CONTRIBUTING.md for how to add one."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
