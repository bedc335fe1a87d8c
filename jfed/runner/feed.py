"""The data of a block of runs: a shared pool of examples, and each run's tables of positions in it."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from jfed import catalog
from jfed import config as configs
from jfed.config import Config, Training
from jfed.core import prng
from jfed.core.errors import DataError, require
from jfed.data import official
from jfed.data import partition as partitions
from jfed.data.dataset import Dataset, Examples
from jfed.data.federated import FederatedData, stack
from jfed.data.options import DataOptions
from jfed.engine.simulate import Pool

CACHE_LINE = 64  # bytes


def dataset(source: Any, data_dir: str | None) -> Dataset:
    """Return the data set for a name, a path, or options such as those of `jfed.arrays`; the last four are cached.

    Raises:
        ConfigError: the name is unknown, or the source breaks its contract.
        DataError: the data cannot be obtained.
    """
    return _loaded(configs.resolve("dataset", source), data_dir)


@functools.lru_cache(maxsize=4)
def _loaded(source: DataOptions, data_dir: str | None) -> Dataset:
    if data_dir is not None and isinstance(source, official.Options) and source.source != "digits":
        _require_here(source, Path(data_dir))
    made, kind = source.load(data_dir), type(source).__qualname__
    require(
        isinstance(made, Dataset),
        f"{kind}.load must return a data set, such as jfed.arrays(...).load(), found {type(made).__name__}.",
    )
    require(
        source.has_owners() or made.owners is None,
        f"{kind} gives a data set with owners: let its has_owners() return True.",
    )
    return made


def _require_here(source: official.Options, folder: Path) -> None:
    """Check that a folder that was named holds a published data set, which would otherwise be read from elsewhere."""
    found = source.where(str(folder))
    elsewhere = not found.startswith("not here") and not Path(found).is_relative_to(folder)
    if elsewhere:
        name = catalog.label(source)
        raise DataError(
            f"{folder} (data_dir) lacks {name}, which is in {found}: leave data_dir out, or name that folder."
        )


def pool(source: Any, data_dir: str | None, num_devices: int = 1) -> Pool:
    """Return a data set's examples on each of the first devices: training examples, then its own test examples."""
    return _pool(configs.resolve("dataset", source), data_dir, num_devices)


@functools.lru_cache(maxsize=4)
def _pool(source: DataOptions, data_dir: str | None, num_devices: int) -> Pool:
    images, labels = _host_pool(source, data_dir)
    devices = jax.local_devices()[:num_devices]
    whole = NamedSharding(Mesh(np.array(devices), ("block",)), PartitionSpec())

    def everywhere(array: NDArray[Any]) -> jax.Array:
        copies = [jax.device_put(array, device, may_alias=True) for device in devices]
        return jax.make_array_from_single_device_arrays(array.shape, whole, copies)

    return Pool(everywhere(images), everywhere(labels))


@functools.lru_cache(maxsize=4)
def _host_pool(source: DataOptions, data_dir: str | None) -> tuple[Examples, NDArray[np.int32]]:
    whole = _loaded(source, data_dir)
    return _end_to_end(whole.images, whole.test_images), _end_to_end(whole.labels, whole.test_labels)


def _end_to_end(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Return both as one array that begins at a cache line, so that XLA uses it in place on CPU devices.

    NumPy allocates it because it requests huge pages: picking random images from small pages takes a sixth longer.
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
    """Return the settings that the runs of a block share: the pool, and how its examples are dealt out."""
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
    """Return the clients' images and the test images of each run, as positions in the pool.

    Args:
        training: settings that all runs share; its data set and test set are used.
        configs: one per run.
        seeds: data seed of each run.
        data_dir: directory of the data sets.
        widths: least widths of the tables of clients' images and of test images.

    Raises:
        DataError: there are too few images, or no test images.
    """
    whole = dataset(training.dataset, data_dir)
    parts = [_partition(c, s, data_dir) for c, s in zip(configs, seeds, strict=True)]
    if training.test_set == "reserved":
        data = stack(parts)
    else:
        if not len(whole.test_labels):
            raise DataError(
                f"the data set {whole.name!r} has no test examples of its own: set training.test_set to 'reserved', to"
                " use those that clients set aside (training.test_fraction), or give it test_images and test_labels"
            )
        data = stack(parts, len(whole.test_labels))
        data = dataclasses.replace(data, test_index=data.test_index + len(whole.labels))
    lacking = [max(wide - x.shape[-1], 0) for wide, x in zip(widths, (data.index, data.test_index), strict=True)]
    index = np.pad(data.index, ((0, 0), (0, 0), (0, lacking[0])))
    return dataclasses.replace(data, index=index, test_index=np.pad(data.test_index, ((0, 0), (0, lacking[1]))))


def labels(config: Config, seed: int, data_dir: str | None) -> NDArray[np.int64]:
    """Return the number of training images of each label of each client, (K, L), for a data seed."""
    assert config.training is not None
    whole, part = dataset(config.training.dataset, data_dir), _partition(config, seed, data_dir)
    real = np.arange(part.train.shape[1]) < part.num_train[:, None]
    client = np.nonzero(real)[0]
    cell = client * whole.num_classes + whole.labels[part.train[real]]
    return np.bincount(cell, minlength=config.num_clients * whole.num_classes).reshape(config.num_clients, -1)


def _partition(config: Config, seed: int, data_dir: str | None) -> partitions.Partition:
    t = config.training
    assert t is not None and t.partition is not None and isinstance(t.partition_options, tuple)  # by `config.normal`
    return _partition_cached(
        t.dataset, data_dir, t.partition, t.partition_options, config.num_clients, t.samples_per_client,
        t.test_fraction, seed,
    )  # fmt: skip


@functools.lru_cache(maxsize=512)
def _partition_cached(
    source: DataOptions, data_dir: str | None, scheme: str, options: tuple[tuple[str, Any], ...], num_clients: int,
    samples: int | tuple[int, ...] | None, test_fraction: float, seed: int,
) -> partitions.Partition:  # fmt: skip
    whole, rng = _loaded(source, data_dir), prng.host_generator(seed)
    if scheme == partitions.NATURAL:
        return partitions.natural_partition(whole.owners, num_clients, samples, test_fraction, rng, dict(options))
    sizes = partitions.sizes(num_clients, np.asarray(samples))
    return partitions.partition(scheme, whole.labels, sizes, test_fraction, rng, dict(options))
