"""Dealing images by a table of how many of each class a client gets."""

import numpy as np
from numpy.typing import NDArray


def deal(classes: NDArray[np.int64], counts: NDArray[np.int64], rng: np.random.Generator) -> list[NDArray[np.int32]]:
    """Return, for each client, the positions of its images in random order.

    No image is given twice.

    Args:
        classes: (N,), class 0 .. L - 1 of each image.
        counts: (K, L), number of images of each class for each client; no column may sum to more than its class has.
        rng: decides which images of a class a client gets.
    """
    stacks = [
        np.split(rng.permutation(np.flatnonzero(classes == c))[: column.sum()], column.cumsum())
        for c, column in enumerate(counts.T)
    ]
    hands = (np.concatenate([stack[i] for stack in stacks]) for i in range(len(counts)))
    return [rng.permutation(hand).astype(np.int32) for hand in hands]
