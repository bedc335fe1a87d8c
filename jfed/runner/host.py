"""What a command asks of the machine before jax first touches a device. Importing jfed never does."""

import os
from pathlib import Path

import jax


def setup() -> None:
    """One virtual CPU device per core, and a compile cache that a new process starts warm from.

    The cache is at $JFED_CACHE_DIR, or in jfed's folder of the user's cache.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jax.config.update("jax_num_cpu_devices", cores)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("JFED_CACHE_DIR") or Path(home) / "jfed" / "jax")
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
