"""Controllers: how many local steps clients make, and when a run is over. One file each, found by the catalogue."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
