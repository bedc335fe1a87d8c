"""Label counts of clients."""

import numpy as np


def label_counts(indices, labels):
    """Return how many images of each label 0 .. max(labels) a client has: (K, L)."""
    labels = np.asarray(labels)
    num_labels = int(labels.max(initial=-1)) + 1
    return np.array([np.bincount(labels[np.asarray(hand, np.int64)], minlength=num_labels) for hand in indices])
