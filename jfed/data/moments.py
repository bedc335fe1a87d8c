"""Mean and standard deviation of examples, computed piece by piece."""

from collections.abc import Sequence

import numpy as np

from jfed.data.dataset import Examples

_PIECE = 1 << 20  # numbers that are held in double precision at once
_FLAT = 1e-7  # a deviation this small relative to the values is rounding of float32: the feature is constant
_TINY = 1e-30  # in units of the scale; below it float32 could not divide

Number = float | tuple[float, ...]


def moments(examples: Examples, scale: float) -> tuple[Number, Number]:
    """Return mean and standard deviation of `examples / scale` for each entry of the last axis.

    The entries are the features of vectors (N, features), or the channels of images (N, height, width, channels). A
    single entry gives two numbers, more give two tuples. A constant entry has a deviation of 1, so that it can be a
    divisor.
    """
    rows = examples.reshape(-1, examples.shape[-1])
    pieces = np.array_split(rows, max(1, rows.size // _PIECE))
    unit = np.float64(scale)  # so that quotients are in double precision
    if rows.dtype == np.uint8:
        mean, variance = _of_pixels(pieces, len(rows), unit)
    else:
        mean = np.sum([(piece / unit).sum(axis=0) for piece in pieces], axis=0) / len(rows)
        variance = np.sum([np.square(piece / unit - mean).sum(axis=0) for piece in pieces], axis=0) / len(rows)
    std, size = np.sqrt(variance), np.abs(rows).max(axis=0) / unit
    std = np.where(std > np.maximum(_FLAT * size, _TINY), std, 1.0)
    return _plain(mean), _plain(std)


def _of_pixels(pieces: Sequence[np.ndarray], count: int, unit: np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of pixels from exact sums.

    Sums of integers far below 2^53 are exact, and take a third of the time of sums of quotients.
    """
    total, squares = np.zeros((2, pieces[0].shape[1]))
    for piece in pieces:
        values = piece.astype(np.float64)
        total, squares = total + values.sum(axis=0), squares + np.einsum("ij,ij->j", values, values)
    exact = [(int(one), count * int(two) - int(one) ** 2) for one, two in zip(total, squares, strict=True)]
    mean, variance = np.array([(one / count, left / count**2) for one, left in exact]).T
    return mean / unit, variance / unit**2


def _plain(values: np.ndarray) -> Number:
    return float(values[0]) if len(values) == 1 else tuple(values.tolist())
