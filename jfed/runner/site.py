"""The site of a computation: what of a machine decides a run's numbers, and into which blocks runs are cut."""

from dataclasses import dataclass

import jax

from jfed.core.errors import require, shown
from jfed.engine.simulate import products


@dataclass(frozen=True)
class Site:
    """The devices that compute runs. The process that plans may have others.

    Attributes:
        backend: kind of jax's backend: cpu, gpu or tpu.
        precision: precision of the numbers and, on an accelerator, of the products of matrices.
        device: kind of the devices, as their maker calls them.
        num_devices: number of devices that compute at the same time.
    """

    backend: str
    precision: str
    device: str
    num_devices: int


def here(devices: int | None = None) -> Site:
    """Return the site of this process.

    Args:
        devices: number of devices to use; None for all.

    Raises:
        ConfigError: jax has fewer devices.
    """
    have = jax.local_devices()
    if devices is not None:
        whole = isinstance(devices, int) and not isinstance(devices, bool) and devices >= 1
        require(whole, f"devices must be a whole number from 1 on, found {shown(devices)}.")
        kind = have[0].device_kind
        require(devices <= len(have), f"devices={devices}, and jax has {len(have)} ({kind}) since it was first used.")
    numbers = "float64" if jax.config.jax_enable_x64 else "float32"  # type: ignore[attr-defined]
    backend = jax.default_backend()
    precision = numbers if backend == "cpu" else f"{numbers}, products {products()}"
    return Site(backend, precision, str(have[0].device_kind), devices or len(have))
