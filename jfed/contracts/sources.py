"""Rules for data sources: a valid data set, the same whenever it is loaded."""

from typing import Any

import numpy as np

from jfed.contracts.finding import Failed, Rules, Untried, require, shared
from jfed.contracts.models import fixed
from jfed.contracts.options import Bench, frozen, named
from jfed.core.errors import ConfigError, DataError
from jfed.data.dataset import Dataset


class DataBench(Bench):
    """One data source under test."""

    @shared
    def data(self) -> Dataset:
        """The data set; access raises `Untried` if its files are not on this machine."""
        made = self.loaded()
        require(
            isinstance(made, Dataset),
            f"load must return a data set, such as jfed.arrays(...).load(), found {type(made).__name__}.",
        )
        return made

    def loaded(self) -> Any:
        """Return the data set, loaded anew.

        Raises:
            Untried: its files are not on this machine.
            Failed: `load` raised another error.
        """
        try:
            return self.options.load()
        except DataError as error:
            raise Untried(str(error)) from error
        except ConfigError:
            raise
        except Exception as error:
            raise Failed("load") from error


# --------------------------------------------------------------------------------------------------- rules


def loads(bench: DataBench) -> str | None:
    """Check that `load` returns a data set, or note that its files are not on this machine."""
    try:
        bench.data  # noqa: B018
    except Untried as error:
        return f"not loaded here: {str(error).split(' (')[0]}"
    return None


def sound(bench: DataBench) -> None:
    """Check that examples are uint8 or finite float32, test examples like them, and labels those of known classes."""
    data = bench.data
    for name in ("images", "test_images"):
        array = getattr(data, name)
        require(array.dtype in (np.uint8, np.float32), f"{name} must be uint8 or float32, found {array.dtype}.")
        require(array.dtype == np.uint8 or np.isfinite(array).all(), f"{name} must be finite.")
    alike = (data.images.dtype, data.images.shape[1:]) == (data.test_images.dtype, data.test_images.shape[1:])
    require(
        data.images.ndim >= 2 and len(data.images) > 0 and alike,
        "images must hold examples, and test_images must be like images.",
    )
    for name, of in (("labels", data.images), ("test_labels", data.test_images)):
        labels = getattr(data, name)
        require(
            labels.dtype == np.int32 and labels.shape == of.shape[:1], f"{name} must be int32, one for each example."
        )
        inside = not labels.size or (labels.min() >= 0 and labels.max() < data.num_classes)
        require(inside, f"{name} must be from 0 to num_classes - 1 = {data.num_classes - 1}.")
    with np.errstate(all="ignore"):
        scaled = (data.images[:100] / data.max_value - np.asarray(data.mean)) / np.asarray(data.std)
    require(np.isfinite(scaled).all(), "max_value, mean and std do not scale the examples to finite numbers.")


def owned(bench: DataBench) -> str | None:
    """Check that the data set has owners if `has_owners` says so, one for each example."""
    owners = bench.data.owners
    require(
        bench.options.has_owners() == (owners is not None),
        f"has_owners() returns {bench.options.has_owners()}, but the data set has"
        f" {'no owners' if owners is None else 'owners'}.",
    )
    if owners is None:
        return "no owners"
    fine = owners.dtype == np.int32 and owners.shape == bench.data.labels.shape
    require(fine and owners.min() == 0, "owners must be int32 from 0, one for each training example.")
    require(len(np.unique(owners)) == owners.max() + 1, "Each owner must have an example.")
    return f"{owners.max() + 1} owners"


def same(bench: DataBench) -> None:
    """Check that `load` gives the same data each time: draws must depend on a seed among the fields alone."""
    require(
        bench.data.digest == bench.loaded().digest,
        "load gives other data when it is called again: draw from numpy.random.default_rng(self.seed).",
    )


RULES: Rules = (
    ("options", frozen),
    ("names", named),
    ("static fields", fixed),
    ("loads", loads),
    ("sound", sound),
    ("owners", owned),
    ("same", same),
)
