"""Worlds: which clients are available, which return, and how long they take. One file each, found by the catalogue."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
