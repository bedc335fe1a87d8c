"""Worlds: who can be asked, who returns, and how long it takes. One file each, found by the catalogue."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
