"""Controllers: how many local steps, and when a run is over. One file each, found by the catalogue."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
