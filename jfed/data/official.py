"""The published data sets: digits ships with jfed, the files of the others are looked for (`jfed data get`)."""

from dataclasses import dataclass

from jfed.core.members import Name
from jfed.core.options import static
from jfed.data import load as files
from jfed.data.dataset import Dataset
from jfed.data.options import DataOptions, Folder


@dataclass(frozen=True)
class Options(DataOptions):
    """Images of a published data set, with the test images and the scaling that belong to it."""

    names = tuple(Name(name.replace("_", "-"), {"source": name}) for name in files.names())

    source: str = static("digits")
    """digits, mnist, fashion_mnist, emnist_letters or cifar10."""

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set; see `jfed.data.load.load`."""
        return files.load(self.source, data_dir)

    def where(self, data_dir: Folder = None) -> str:
        """Return the folder that it would be read from, or how to fetch it."""
        return str(files.where(self.source, data_dir) or f"not here: jfed data get {self.source}")
