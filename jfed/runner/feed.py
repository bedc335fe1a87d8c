"""What the runs of a block train and test on: a shared pool of images, and each run's tables into it."""

import dataclasses
import functools
import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from jfed.config import Config, Training
from jfed.core import prng
from jfed.data import load as loading
from jfed.data import partition as partitions
from jfed.data.federated import FederatedData, stack
from jfed.engine.simulate import Pool

CACHE_LINE = 64  # bytes


@functools.lru_cache(maxsize=4)
def dataset(name: str, data_dir: str | None) -> loading.Dataset:
    """A data set, read once per process."""
    return loading.load(name, data_dir)


@functools.lru_cache(maxsize=4)
def digest(name: str, data_dir: str | None) -> str:
    """Names a data set by its content."""
    whole = dataset(name, data_dir)
    arrays = (whole.images, whole.labels, whole.test_images, whole.test_labels)
    return hashlib.sha256(b"".join(hashlib.sha256(a.tobytes()).digest() for a in arrays)).hexdigest()[:16]


@functools.lru_cache(maxsize=4)
def pool(name: str, data_dir: str | None, num_devices: int = 1) -> Pool:
    """A data set on each of the first devices: the training images, and behind them its own test images."""
    images, labels = _host_pool(name, data_dir)
    devices = jax.devices()[:num_devices]
    whole = NamedSharding(Mesh(np.array(devices), ("block",)), PartitionSpec())

    def everywhere(array: NDArray[Any]) -> jax.Array:
        copies = [jax.device_put(array, device, may_alias=True) for device in devices]
        return jax.make_array_from_single_device_arrays(array.shape, whole, copies)

    return Pool(everywhere(images), everywhere(labels))


@functools.lru_cache(maxsize=4)
def _host_pool(name: str, data_dir: str | None) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    whole = dataset(name, data_dir)
    return _end_to_end(whole.images, whole.test_images), _end_to_end(whole.labels, whole.test_labels)


def _end_to_end(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Both in one array that CPU devices can use in place: for that XLA wants it to begin at a cache line.

    NumPy asks the system for huge pages: images picked at random from small ones take a sixth longer.
    """
    shape = (len(first) + len(second), *first.shape[1:])
    size = first.nbytes + second.nbytes
    room = np.empty(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    both = room[start : start + size].view(first.dtype).reshape(shape)
    np.concatenate([first, second], out=both)
    both.flags.writeable = False
    return both


def shape(training: Training | None) -> Any:
    """What runs must have in common to share a block: the pool, and how images are dealt out."""
    if training is None:
        return None
    return (
        training.dataset, training.partition, training.partition_options, training.samples_per_client,
        training.test_fraction, training.test_set,
    )  # fmt: skip


def federated(
    training: Training, configs: Sequence[Config], seeds: Sequence[int], data_dir: str | None,
    widths: tuple[int, int] = (0, 0),
) -> FederatedData:  # fmt: skip
    """The clients' and the test images of each run, as positions in the pool.

    Args:
        training: what all runs have in common: data set, sizes and test set.
        configs: of each run.
        seeds: data seed of each run.
        data_dir: where data sets are.
        widths: of the tables of clients' and of test images, at least.

    Raises:
        DataError: too few images, or no test images.
    """
    whole = dataset(training.dataset, data_dir)
    parts = [_partition(c, s, data_dir) for c, s in zip(configs, seeds, strict=True)]
    if training.test_set == "reserved":
        data = stack(parts)
    else:
        data = stack(parts, len(whole.test_labels))
        data = dataclasses.replace(data, test_index=data.test_index + len(whole.labels))
    lacking = [max(wide - x.shape[-1], 0) for wide, x in zip(widths, (data.index, data.test_index), strict=True)]
    index = np.pad(data.index, ((0, 0), (0, 0), (0, lacking[0])))
    return dataclasses.replace(data, index=index, test_index=np.pad(data.test_index, ((0, 0), (0, lacking[1]))))


def _partition(config: Config, seed: int, data_dir: str | None) -> partitions.Partition:
    t = config.training
    assert t is not None
    return _partition_cached(
        t.dataset, data_dir, t.partition, t.partition_options, config.num_clients, t.samples_per_client,
        t.test_fraction, seed,
    )  # fmt: skip


@functools.lru_cache(maxsize=512)
def _partition_cached(
    name: str, data_dir: str | None, scheme: str, options: tuple[tuple[str, Any], ...], num_clients: int,
    samples: int | tuple[int, ...], test_fraction: float, seed: int,
) -> partitions.Partition:  # fmt: skip
    sizes = partitions.sizes(num_clients, np.asarray(samples))
    labels = dataset(name, data_dir).labels
    return partitions.partition(scheme, labels, sizes, test_fraction, prng.host_generator(seed), dict(options))
