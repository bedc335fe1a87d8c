"""The published data sets: digits ships with jfed, the others are read from files (see `jfed data get`)."""

from dataclasses import dataclass

from jfed.core.members import Name
from jfed.core.options import static
from jfed.data import load as files
from jfed.data.dataset import Dataset
from jfed.data.options import DataOptions, Folder


@dataclass(frozen=True)
class Options(DataOptions):
    """A published data set, with its own test images and scaling.

    Attributes:
        source: digits, mnist, fashion_mnist, emnist_letters or cifar10.
    """

    names = tuple(Name(name.replace("_", "-"), {"source": name}) for name in files.names())

    source: str = static("digits")

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set; see `jfed.data.load.load`."""
        return files.load(self.source, data_dir)

    def where(self, data_dir: Folder = None) -> str:
        """Return the folder that the data set would be read from, or the command that downloads it."""
        return str(files.where(self.source, data_dir) or f"not here: jfed data get {self.source.replace('_', '-')}")
