"""The base class of data sources."""

import abc
import os
from dataclasses import dataclass

from jfed.core.members import MemberOptions
from jfed.data.dataset import Dataset

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class DataOptions(MemberOptions):
    """The options of a data source; all of their fields are static.

    A source gives one data set, on which all runs train whatever their seeds: if it draws, it draws from a seed among
    its own fields. The data seed of a run decides which client holds which examples.
    """

    @abc.abstractmethod
    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set, such as `jfed.arrays(...).load()`.

        Args:
            data_dir: a folder that the user named, for sources that read files.

        Raises:
            DataError: the data set is not available.
        """

    def has_owners(self) -> bool:
        """Return whether the examples have owners; if so, these are the clients unless another partition is chosen."""
        return False

    def where(self, data_dir: Folder = None) -> str:
        """Return in a few words where the data set comes from, without loading it."""
        return "made when it is used"
