"""Parts of composed worlds, one file each: on/off processes, changes of rates, times, ends of a round and energy."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
