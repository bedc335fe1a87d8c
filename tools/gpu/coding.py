"""A compact code of colour images: fewer levels of brightness, colours as differences from green, differences in space.

A byte becomes one of 256 / step levels. It is decoded near the middle of its level, half a unit above and below in
turn like the fields of a chessboard, so that the mean error is about 0 and the largest is step / 2. A step of 1 loses
nothing. The differences are modulo the number of levels; a general compressor makes them small.
"""

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import require

Bytes = NDArray[np.uint8]
STEPS = (1, 2, 4, 8, 16)


def encode(images: Bytes, step: int = 8) -> Bytes:
    """Return the codes of images: one plane for green and two for what red and blue differ from it.

    Args:
        images: (N, height, width, 3).
        step: bytes per level, one of `STEPS`.

    Returns:
        codes (3, N, height, width), each below 256 / step.
    """
    require(step in STEPS, f"The step is one of {', '.join(map(str, STEPS))}, found {step}.")
    red, green, blue = np.moveaxis(images // np.uint8(step), -1, 0)
    codes = np.stack([green, red - green, blue - green])  # modulo 256, of which the number of levels is a divisor
    for axis in (2, 3):
        codes = np.diff(codes, axis=axis, prepend=np.uint8(0))
    return codes & np.uint8(256 // step - 1)


def decode(codes: Bytes, step: int = 8) -> Bytes:
    """Return the images (N, height, width, 3) of some codes."""
    for axis in (3, 2):
        codes = np.cumsum(codes, axis=axis, dtype=np.uint8)
    green, red, blue = codes[0], codes[1] + codes[0], codes[2] + codes[0]
    levels = np.stack([red, green, blue], axis=-1) & np.uint8(256 // step - 1)
    return levels * np.uint8(step) + _middle(levels.shape[1:], step)


def _middle(shape: tuple[int, ...], step: int) -> Bytes:
    """Return what is added to the lower end of each pixel's level."""
    field = np.indices(shape).sum(axis=0) % 2
    return ((step - 1 + field * (step > 1)) // 2).astype(np.uint8)
