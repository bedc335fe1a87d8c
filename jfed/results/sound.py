"""Runs that count as failed: those whose model was not finite any more, and those whose loss exploded.

A run has diverged if the last test loss is above `MOST_LOSS`, infinite included. Losses of classifiers are logarithms:
exp(-loss) is the probability that the model gives the right label, on geometric average. A model that knows nothing has
a loss of ln(classes): 2.3 for ten classes, 7 for a thousand. exp(88) is the largest whole power of e in float32, so
that beyond it that probability is no number any more, whatever the number of classes. The accuracy of such a model may
still look right: the largest logit of a linear model does not depend on its scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

MOST_LOSS = 88.0
WHY = (
    f"the last test loss is above {MOST_LOSS:g}, where exp(-loss), the probability of the right label, is 0 in float32;"
    " a model that knows nothing has the logarithm of the number of classes"
)


def broken(dataset: xr.Dataset) -> np.ndarray:
    """Return whether each run's model was not finite after some round, (runs,)."""
    return dataset["broken_round"].values > 0 if "broken_round" in dataset else np.zeros(dataset.sizes["run"], bool)


def diverged(dataset: xr.Dataset) -> np.ndarray:
    """Return whether each run's loss exploded, (runs,)."""
    if "test_loss" not in dataset:
        return np.zeros(dataset.sizes["run"], bool)
    losses = dataset["test_loss"].values  # shorter runs are filled up with NaN
    return (last_known(losses, ~np.isnan(losses)) > MOST_LOSS) & ~broken(dataset)


def last_known(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the last known value of each row, (rows,); the last one of all if none is known."""
    last = known.shape[1] - 1 - known[:, ::-1].argmax(1)
    return np.take_along_axis(values, last[:, None], 1)[:, 0]


def failed(dataset: xr.Dataset) -> np.ndarray:
    """Return whether each run counts as failed, whatever the metric, (runs,)."""
    return broken(dataset) | diverged(dataset)
