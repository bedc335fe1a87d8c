"""What machine this is: versions, device, driver, memory."""

import os
import platform
import subprocess
from collections.abc import Iterator
from importlib import metadata

import jax
import psutil

PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "pandas", "xarray", "matplotlib", "tyro")
QUERY = "name,driver_version,memory.total,clocks.max.sm,power.limit"
GIB = 1 << 30


def facts() -> Iterator[tuple[str, str]]:
    """Yield names and values."""
    device = jax.devices()[0]
    yield "python", platform.python_version()
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "missing"
    yield "backend", jax.default_backend()
    yield "device", f"{device.device_kind} ({jax.device_count()} in all)"
    yield "platform", str(getattr(device.client, "platform_version", "")).replace("\n", " ")
    for name, value in (device.memory_stats() or {}).items():
        yield f"memory: {name}", f"{value / GIB:.2f} GiB" if value > GIB else str(value)
    yield "cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    yield "memory", f"{psutil.virtual_memory().total / GIB:.1f} GiB"
    yield "nvidia-smi", _said("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader")
    yield "XLA_FLAGS", os.environ.get("XLA_FLAGS", "")


def _said(*command: str) -> str:
    """Return what a program prints, if it is there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"none ({type(error).__name__})"
    return (done.stdout or done.stderr).strip().replace("\n", "; ")
