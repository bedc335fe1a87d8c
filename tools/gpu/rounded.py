"""CIFAR-10 as it is carried to a borrowed machine: rounded, or half of it; under names of its own, scaled as always.

Load this file with `--load` to use the names: results on these images are never called CIFAR-10.
"""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

from jfed.core.members import Name
from jfed.core.options import static
from jfed.data.arrays import from_file
from jfed.data.dataset import Dataset
from jfed.data.options import DataOptions, Folder
from jfed.data.sources import SOURCES

TITLES = {
    "cifar10-rounded": "CIFAR-10, rounded to 32 levels",
    "cifar10-rounded-16": "CIFAR-10, rounded to 16 levels",
    "cifar10-half": "CIFAR-10, half of its images",
}


@dataclass(frozen=True)
class Options(DataOptions):
    """A carried form of CIFAR-10.

    Attributes:
        file: name of the form, and of its npz file without the ending.
    """

    names = tuple(Name(name, {"file": name}) for name in TITLES)

    file: str = static("cifar10-rounded")

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set, scaled like CIFAR-10 and not by its own moments."""
        path = Path(data_dir or os.environ.get("JFED_DATA_DIR") or ".") / f"{self.file}.npz"
        whole = SOURCES["cifar10"]
        found: Dataset = from_file(path).content
        return dataclasses.replace(
            found, name=self.file, title=TITLES.get(self.file, self.file), mean=whole.mean, std=whole.std
        )
