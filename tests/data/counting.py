"""What clients hold, label by label."""

import numpy as np


def label_counts(indices, labels):
    """How many images of each label 0 .. max(labels) every client has: (K, L)."""
    labels = np.asarray(labels)
    num_labels = int(labels.max(initial=-1)) + 1
    return np.array([np.bincount(labels[np.asarray(hand, np.int64)], minlength=num_labels) for hand in indices])
