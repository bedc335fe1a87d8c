"""Smartwatch: seven shoulder exercises of ten people, recorded on both arms. Clients differ in how they move.

D. M. Burns, N. Leung, M. Hardisty, C. M. Whyne, P. Henry, S. McLachlin: Shoulder physiotherapy exercise recognition:
machine learning the inertial signals from a smartwatch. Physiological Measurement 39, 2018. The recordings come with
the Python package seglearn (BSD licence), which need not be imported for them.

*Data.* 140 recordings at 50 Hz: each person did each exercise with each arm once, in a series of repetitions. The six
channels are acceleration (x, y, z) and rotation (x, y, z). An example is a window of a recording, its label the
exercise, and its owner an arm of a person (20 owners) or a person (10). Each owner has all labels in similar numbers,
so owners differ in the features, not in the labels.

*Departures.* Windows do not overlap by default, unlike in the paper: of two windows that share samples, one could be
trained on and the other tested on. A run still tests on windows of the recordings that it trains on; to test on other
people, take the results of single clients.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError
from jfed.core.members import Name
from jfed.core.options import static
from jfed.data.dataset import Dataset
from jfed.data.moments import moments
from jfed.data.options import DataOptions, Folder

PACKAGE, FILE = "seglearn", Path("data") / "watch_dataset.npy"
MISSING = f"the recordings come with the package {PACKAGE}, which is not installed: pip install 'jfed[natural]'"
CHANNELS, CLASSES = 6, 7
FIELDS = ("X", "y", "subject", "side")


@dataclass(frozen=True)
class Options(DataOptions):
    """Windows of the recordings.

    Attributes:
        window: samples of a window, at 50 Hz.
        step: samples from the start of a window to that of the next one.
        owners: arm: each arm of a person is a client; person: both are one.
    """

    names = (Name("smartwatch"),)

    window: int = static(100)
    step: int = static(100)
    owners: Literal["arm", "person"] = static("arm")

    def has_owners(self) -> bool:
        """Return True."""
        return True

    def where(self, data_dir: Folder = None) -> str:
        """Return the file of the installed package, or the command that installs it."""
        return str(_file() or "not here: pip install 'jfed[natural]'")

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set: training examples only, (N, window, 6), scaled by the moments of each channel."""
        for name in ("window", "step"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} of smartwatch must be at least 1 sample, found {getattr(self, name)}")
        file = _file()
        if file is None:
            raise DataError(MISSING)
        examples, labels, owners = windows(read(file), self.window, self.step, self.owners)
        if not len(labels):
            raise DataError(f"no recording of smartwatch is as long as a window of {self.window} samples")
        mean, std = moments(examples, 1.0)
        return Dataset(
            "smartwatch", "Smartwatch", examples, labels, examples[:0], labels[:0], CLASSES, 1.0, mean, std, owners
        )


def _file() -> Path | None:
    """Return the file of the installed package, which is found without importing it."""
    found = importlib.util.find_spec(PACKAGE)
    file = Path(found.origin).parent / FILE if found is not None and found.origin else None
    return file if file is not None and file.is_file() else None


def read(file: Path) -> dict[str, Any]:
    """Return the recordings by field: X, a list of (samples, 6); y, exercises; subject, people; side, arms.

    Raises:
        DataError: the file is not as the package has it.
    """
    try:
        held = np.load(file, allow_pickle=True).item()  # of an installed package, whose code could do as much
        found = {name: held[name] for name in FIELDS}
        sound = {np.shape(x)[1:] for x in found["X"]} == {(CHANNELS,)} and {len(x) for x in found.values()} == {140}
        sound &= set(np.asarray(found["y"]).tolist()) == set(range(CLASSES))
    except Exception as error:  # unpickling may raise anything
        raise DataError(f"{file} cannot be read ({type(error).__name__}): install {PACKAGE} again") from error
    if not sound:
        raise DataError(f"{file} does not hold 140 recordings of {CLASSES} exercises: another version of {PACKAGE}?")
    return found


def windows(
    held: dict[str, Any], window: int, step: int, owners: str
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:  # fmt: skip
    """Return windows (N, window, 6), labels (N,) and owners (N,), recording by recording; a rest is left out.

    Owners are numbered by person, and within a person by arm, left first.
    """
    person = np.unique(held["subject"], return_inverse=True)[1]
    owner = person if owners == "person" else 2 * person + np.asarray(held["side"], int)
    pieces, labels, whose = [], [], []
    for recording, label, of in zip(held["X"], held["y"], owner, strict=True):
        starts = np.arange(0, len(recording) - window + 1, step)
        pieces.append(np.asarray(recording, np.float32)[starts[:, np.newaxis] + np.arange(window)])
        labels += [label] * len(starts)
        whose += [of] * len(starts)
    return np.concatenate(pieces), np.asarray(labels, np.int32), np.asarray(whose, np.int32)
