"""Checks of labels and sizes, shared by the partitions that are given sizes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError


def checked(labels: ArrayLike, sizes: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return labels (N,) and sizes (K,) as int64.

    Raises:
        DataError: one is not a vector of integers, a size is negative, there is no client or no image, or the sizes add
            up to more images than there are.
    """
    labels, sizes = _vector("labels", labels), _vector("sizes", sizes)
    if sizes.size == 0:
        raise DataError("there must be at least one client, found none")
    if labels.size == 0:
        raise DataError("there must be at least one image to deal out, found none")
    if sizes.min() < 0:
        client = int(sizes.argmin())
        raise DataError(f"client {client} cannot have {sizes[client]} images")
    if sizes.sum() > labels.size:
        raise DataError(
            f"{sizes.size:,} clients ask for {sizes.sum():,} images, but there are only {labels.size:,}: lower"
            " samples_per_client or num_clients"
        )
    return labels, sizes


def _vector(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or not (array.size == 0 or np.issubdtype(array.dtype, np.integer)):
        raise DataError(f"{name} must be a vector of integers, found {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)
