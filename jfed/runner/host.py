"""Settings of jax that a command makes before jax first uses a device; importing jfed makes none."""

import os
from pathlib import Path

import jax

from jfed.runner.cache import mend


def setup(devices: int | None = None) -> None:
    """Request virtual CPU devices, one per core by default, and a compile cache that later processes reuse.

    Nothing changes if jax has been used, and the number of devices stays as it is if jax's or XLA's settings give one.
    The cache is at $JFED_CACHE_DIR, else where jax's settings have it, else in jfed's folder of the
    user's cache.
    """
    if _used():
        return
    if not _chosen():
        jax.config.update("jax_num_cpu_devices", devices or cores())
    own = os.environ.get("JFED_CACHE_DIR")
    if jax.config.values["jax_compilation_cache_dir"] is not None and not own:
        return
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = own or str(Path(home) / "jfed" / "jax")
    jax.config.update("jax_compilation_cache_dir", folder)
    mend(Path(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def drive() -> None:
    """Leave accelerators to workers: this process, which plans, uses its CPU, unless jax has been used."""
    if not _used():
        jax.config.update("jax_platforms", "cpu")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _used() -> bool:
    """Return whether jax has been used: then its devices are fixed, and it refuses another number of them."""
    number = jax.config.values["jax_num_cpu_devices"]
    try:
        jax.config.update("jax_num_cpu_devices", max(number, 0) + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", number)
    return False


def _chosen() -> bool:
    """Return whether jax's settings or XLA's flags already give the number of CPU devices."""
    flags = os.environ.get("XLA_FLAGS", "")
    return jax.config.values["jax_num_cpu_devices"] >= 0 or "xla_force_host_platform_device_count" in flags
