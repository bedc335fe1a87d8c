"""Downloads of official data sets to where `load` finds them.

A file is downloaded to a scratch folder inside the final one, checked, and then moved to its final name. So a file
under its final name is complete and correct, even if the process is killed on the way.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from jfed.core.errors import DataError, extra, unknown
from jfed.data.dataset import Dataset
from jfed.data.load import DIGITS, dataset, fetched_folder, load, names
from jfed.data.sources import SOURCES, official_files, plain_or_gz


@dataclass(frozen=True)
class Remote:
    """One file to download.

    Attributes:
        urls: official addresses of the same content, tried in this order.
        sha256: checksum of that content.
        members: files to keep of an archive; empty: the file itself is kept.
    """

    urls: tuple[str, ...]
    sha256: str
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name at its first address."""
        return self.urls[0].rpartition("/")[2]

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that are kept, without `.gz`."""
        kept = self.members or (self.name,)
        return tuple(member.rpartition("/")[2].removesuffix(".gz") for member in kept)


def _each(folders: Sequence[str], sha256: dict[str, str]) -> tuple[Remote, ...]:
    return tuple(Remote(tuple(folder + name for folder in folders), digest) for name, digest in sha256.items())


def _members(name: str, form: str) -> tuple[str, ...]:
    return tuple(form.format(file) for file in SOURCES[name].train_files + SOURCES[name].test_files)


REMOTES = {
    "mnist": _each(
        ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
        {
            "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        },
    ),
    "fashion_mnist": _each(
        (
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        ),
        {
            "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        },
    ),
    "emnist_letters": (
        Remote(
            ("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",),
            "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
            _members("emnist_letters", "gzip/{}.gz"),
        ),
    ),
    "cifar10": (
        Remote(
            ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            _members("cifar10", "cifar-10-batches-bin/{}"),
        ),
    ),
}


def get(
    name: str, data_dir: str | os.PathLike[str] | None = None, console: Console | None = None
) -> tuple[Dataset, Path]:
    """Download the missing files of a data set, check all of its files, and return it with its folder.

    Args:
        name: one of `names()`; "digits" needs no download.
        data_dir: folder above that of the data set; None: `$JFED_DATA_DIR`, or a folder of the user's cache.
        console: shows the progress; None: no progress is shown.

    Raises:
        ConfigError: the name is unknown.
        DataError: no address provides the published content (the message gives the reason for each address), the folder
            cannot be written to, or a file that was there already is not the published one.
    """
    if name == "digits":
        return load(name), DIGITS.parent
    if name not in REMOTES:
        raise unknown("data set", name, names())
    source = SOURCES[name]
    root = fetched_folder(data_dir)
    below = [root / sub for sub in source.subfolders]
    try:
        folder = next((sub for sub in below if official_files(source, sub)), below[-1])
        missing = [remote for remote in REMOTES[name] if not all(plain_or_gz(folder / file) for file in remote.files)]
        if missing:
            _fetch_all(missing, folder, console)
    except OSError as error:
        raise DataError(f"cannot put {name} into {root} ({error.strerror or error})") from error
    held = official_files(source, folder)
    if held is None:
        raise DataError(f"the download of {name} contains none of its files")
    try:
        return dataset(name, held.read()), folder
    except DataError as error:
        raise DataError(f"{error}; move the wrong files out of {folder} and run the command again") from error


def _fetch_all(remotes: Sequence[Remote], folder: Path, console: Console | None) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    folder.mkdir(parents=True, exist_ok=True)
    with Progress(*columns, console=console, disable=console is None, transient=True) as bars:
        for remote in remotes:
            _fetch(remote, folder, bars)


def _fetch(remote: Remote, folder: Path, bars: Progress) -> None:
    """Download a file, or the members of an archive, into the folder; raise `OSError` if the disk fails."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
        target = Path(scratch, remote.name)
        failures = []
        for url in remote.urls:
            failure = _failure(url, target, remote.sha256, bars)
            if failure is None:
                break
            failures.append(f"{url} ({failure})")
        else:
            raise DataError(f"{remote.name} could not be fetched from {', nor from '.join(failures)}")
        for path in _unpacked(target, remote.members):
            path.replace(folder / path.name)


def _failure(url: str, target: Path, sha256: str, bars: Progress) -> str | None:
    """Download to `target`, and return what went wrong; None if nothing did."""
    with extra("data"):
        import pooch
        import requests

    bar: Any = _Bar(bars, target.name)  # pooch takes any such object, but declares a bool
    # A server that compresses the file once more for the transfer would change its checksum.
    download = pooch.HTTPDownloader(bar, 1 << 16, headers={"Accept-Encoding": "identity"})
    try:
        download(url, str(target), None)
    except requests.HTTPError as error:
        return str(error).partition(" for url")[0]
    except requests.RequestException as error:
        begun = isinstance(error, requests.exceptions.ChunkedEncodingError) or target.stat().st_size
        return "the connection broke before the end" if begun else "no connection"
    found = pooch.file_hash(str(target), "sha256")
    return None if found == sha256 else f"expected the sha256 sum {sha256}, found {found}"


def _unpacked(path: Path, members: tuple[str, ...]) -> list[Path]:
    if not members:
        return [path]
    import pooch

    pooch.get_logger().setLevel("WARNING")
    unpack = pooch.Unzip if path.suffix == ".zip" else pooch.Untar
    return [Path(file) for file in unpack(members=list(members), extract_dir="members")(str(path), "download", None)]


class _Bar:
    """A line of rich's progress display for pooch, which sets `total` and calls the three methods."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars = bars
        self._task = bars.add_task(name, total=None)

    @property
    def total(self) -> float | None:
        return self._bars.tasks[self._task].total

    @total.setter
    def total(self, num_bytes: int) -> None:
        self._bars.update(self._task, total=num_bytes or None)  # 0: the server did not say

    def update(self, num_bytes: int) -> None:
        self._bars.advance(self._task, num_bytes)

    def reset(self) -> None:
        self._bars.update(self._task, completed=0)

    def close(self) -> None:
        self._bars.stop_task(self._task)
