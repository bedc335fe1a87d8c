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

    Rows are valid up to their number; the padding is 0, a real image's position.

    Attributes:
        index: (S, K, n_max), positions in the data set's training images.
        num_samples: (S, K), valid entries of each row of `index`.
        test_index: (S, M), positions in the training images (the union of the clients' reserved parts), or in the data
            set's own test images (the same for every seed).
        num_test: (S,), valid entries of each row of `test_index`.
    """

    index: NDArray[np.int32]
    num_samples: NDArray[np.int32]
    test_index: NDArray[np.int32]
    num_test: NDArray[np.int32]


def stack(partitions: Sequence[Partition], num_official_test: int | None = None) -> FederatedData:
    """Return one partition per seed as stacked tables, padded to the largest client.

    Args:
        partitions: one per seed.
        num_official_test: how many of the data set's own test images, from the first on, form the test set; None: the
            test set is the union of the reserved parts, as in E3CS.

    Raises:
        DataError: there is no partition, the partitions differ in their numbers of clients, no client has a training
            image, or a seed has no test images.
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
        raise DataError("no client has an image to train on: raise samples_per_client")
    if num_test.min() < 1:
        raise DataError(
            "there are no test images: reserve a fraction of the clients' data that is at least one image "
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
