"""The base of data sources: what the options of one offer."""

import abc
import os
from dataclasses import dataclass

from jfed.core.members import MemberOptions
from jfed.data.dataset import Dataset

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class DataOptions(MemberOptions):
    """What the options of a data source offer; all of their fields are static.

    A source gives one data set, on which all runs train whatever their seeds: where it draws, it draws from a seed
    among its own fields. The runs' data seeds say who holds what of it.
    """

    @abc.abstractmethod
    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set, such as `jfed.arrays(...).load()`; raise `DataError` if it cannot be had.

        Args:
            data_dir: a folder that the user named, for sources that read files.
        """

    def has_owners(self) -> bool:
        """Return whether the examples have owners, so that clients are these unless a partition is asked for."""
        return False

    def where(self, data_dir: Folder = None) -> str:
        """Return in a few words where the data set comes from, without loading it."""
        return "made when it is used"
