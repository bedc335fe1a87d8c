"""The clients' data for several seeds at once, as the engine reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError
from jfed.data.partition import Partition, union_test


@dataclass(frozen=True, eq=False)
class FederatedData:
    """Positions of the clients' and the test images, for S seeds and K clients.

    ``index`` points into the data set's training images. ``test_index`` points into them too (the
    union of the clients' reserved parts), or into the data set's own test images (then the same for
    every seed), as ``stack`` was asked. Rows are valid up to their number; the padding is 0, a real
    image's position.
    """

    index: NDArray[np.int32]  # (S, K, n_max)
    num_samples: NDArray[np.int32]  # (S, K)
    test_index: NDArray[np.int32]  # (S, M)
    num_test: NDArray[np.int32]  # (S,)


def stack(partitions: Sequence[Partition], num_official_test: int | None = None) -> FederatedData:
    """Stack one partition per seed, padded to the largest client.

    The test set is the union of the reserved parts (as in E3CS), or, if
    ``num_official_test`` is given, that many of the data set's own test images from the first on.
    Raises ``DataError`` if there is no partition, if they differ in the number of clients, or if a
    seed would be left without test images.
    """
    if not partitions:
        raise DataError("there is no partition to stack: at least one seed is needed")
    clients = sorted({len(p.num_train) for p in partitions})
    if len(clients) > 1:
        raise DataError(f"the partitions differ in their numbers of clients: {clients}")
    num_samples = np.stack([p.num_train for p in partitions])
    width = max(p.train.shape[1] for p in partitions)
    index = np.stack([np.pad(p.train, ((0, 0), (0, width - p.train.shape[1]))) for p in partitions])
    test_index, num_test = _test(partitions, num_official_test)
    if num_samples.max() == 0:
        raise DataError("no client has an image to train on: let them have more (samples_per_client)")
    if num_test.min() < 1:
        raise DataError(
            "there are no test images: reserve a fraction of the clients' data that makes at least one of them "
            "(training.test_fraction), or use the data set's own test images (training.test_set='official')"
        )
    return FederatedData(index, num_samples, test_index, num_test)


def _test(
    partitions: Sequence[Partition], num_official_test: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    if num_official_test is not None:
        row = np.arange(num_official_test, dtype=np.int32)
        num = np.full(len(partitions), len(row), np.int32)
        return np.broadcast_to(row, (len(partitions), len(row))), num
    rows = [union_test(p) for p in partitions]
    num = np.array([len(row) for row in rows], np.int32)
    return np.stack([np.pad(row, (0, num.max() - len(row))) for row in rows]), num
