"""Hand out images by a table of how many of each class every client gets."""

import numpy as np
from numpy.typing import NDArray


def deal(classes: NDArray[np.int64], counts: NDArray[np.int64], rng: np.random.Generator) -> list[NDArray[np.int32]]:
    """Return, for each client, the positions of its images in random order.

    ``classes`` (N,) is the class 0 .. L-1 of each image and ``counts`` (K, L) the number of images
    of each class that a client gets; no column may ask for more than its class has. No image is
    given twice.
    """
    stacks = [
        np.split(rng.permutation(np.flatnonzero(classes == c))[: column.sum()], column.cumsum())
        for c, column in enumerate(counts.T)
    ]
    hands = (np.concatenate([stack[i] for stack in stacks]) for i in range(len(counts)))
    return [rng.permutation(hand).astype(np.int32) for hand in hands]
