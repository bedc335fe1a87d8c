"""Data sets as jfed holds them: examples, labels, owners if there are any, and what titles and scaling need."""

import functools
import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Examples = NDArray[np.uint8] | NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test examples with labels 0 .. num_classes - 1.

    Examples are uint8 images or float32 features. The input of a model is `(example / max_value - mean) / std`; `mean`
    and `std` are one number, or one for each entry of the last axis.

    Attributes:
        name: name in results.
        title: name in tables and figures.
        images: (N, ...), such as (N, height, width, channels) or (N, features).
        labels: (N,).
        test_images: (M, ...), of the same shape and type as images; M may be 0.
        test_labels: (M,).
        num_classes: L.
        max_value: divisor of the examples; 255 for uint8 images of full range.
        mean: what is subtracted after that division.
        std: divisor of the difference.
        owners: (N,) whole numbers from 0, the owner of each training example; None if there are no owners.
    """

    name: str
    title: str
    images: Examples
    labels: NDArray[np.int32]
    test_images: Examples
    test_labels: NDArray[np.int32]
    num_classes: int
    max_value: float
    mean: float | tuple[float, ...]
    std: float | tuple[float, ...]
    owners: NDArray[np.int32] | None = None

    @functools.cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that identify the content: types, shapes and values of all arrays."""
        whole = hashlib.sha256()
        for array in (self.images, self.labels, self.test_images, self.test_labels, self.owners):
            kind = "none" if array is None else f"{array.dtype.str}{array.shape}"
            whole.update(kind.encode())
            if array is not None:
                whole.update(hashlib.sha256(np.ascontiguousarray(array).data).digest())
        return whole.hexdigest()[:16]
