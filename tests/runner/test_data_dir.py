"""A folder that is named for the data is the one that they are read from, or the call is refused."""

import pytest

from jfed.core.errors import DataError
from jfed.data.sources import SOURCES
from jfed.runner import feed


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return a folder with the files of MNIST, which $JFED_DATA_DIR names, and an empty one."""
    full, empty = tmp_path / "full", tmp_path / "empty"
    for folder in (full, empty):
        folder.mkdir()
    for name in (*SOURCES["mnist"].train_files, *SOURCES["mnist"].test_files):
        (full / name).write_bytes(b"")  # read no further than its header
    monkeypatch.setenv("JFED_DATA_DIR", str(full))
    return full, empty


def test_data_from_elsewhere_are_refused(folders):
    full, empty = folders
    words = rf"{empty} \(data_dir\) lacks mnist, which is in {full}: leave data_dir out, or name that folder"
    with pytest.raises(DataError, match=words):
        feed.dataset("mnist", str(empty))


@pytest.mark.parametrize("named", [True, False])
def test_data_that_are_there_are_read(folders, named):
    with pytest.raises(DataError, match="train-images-idx3-ubyte is truncated: expected a header of 16 bytes"):
        feed.dataset("mnist", str(folders[0]) if named else None)


def test_the_digits_of_the_package_need_no_folder(folders):
    assert feed.dataset("digits", str(folders[1])).title == "digits"
