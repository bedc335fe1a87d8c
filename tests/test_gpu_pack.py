"""What is carried to a borrowed machine: images that come back, a pack below its limit, archives below theirs."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import names_in

from jfed import catalog
from jfed.core.errors import ConfigError
from jfed.data.dataset import Dataset
from jfed.data.load import load
from tools import gpu_pack
from tools.gpu import carried, coding, tars, wheels

ROOT = Path(__file__).parents[1]
IMAGES = arrays.arrays(np.uint8, st.tuples(*(st.integers(1, 5) for _ in range(3)), st.just(3)))


# ------------------------------------------------------------------------------------------------ what is carried


@given(images=IMAGES, step=st.sampled_from(coding.STEPS))
def test_colours_come_back_within_half_a_step(images, step):
    codes = coding.encode(images, step)
    assert codes.shape == (3, *images.shape[:3]) and codes.max() < 256 // step
    back = coding.decode(codes, step)
    assert back.dtype == np.uint8 and np.abs(back.astype(int) - images).max() <= step // 2
    np.testing.assert_array_equal(coding.encode(back, step), codes)  # a second time changes nothing


def test_rounded_colours_are_right_on_average():
    images = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    apart = coding.decode(coding.encode(images)).astype(int) - images
    assert np.abs(apart).max() == 4 and abs(apart.mean()) < 0.05
    assert abs(apart[:, ::2, ::2, 0].mean()) > 0.3  # one field of the chessboard alone


def test_an_unknown_step_is_refused():
    with pytest.raises(ConfigError, match="The step is one of 1, 2, 4, 8, 16, found 3"):
        coding.encode(np.zeros((1, 2, 2, 3), np.uint8), 3)


def tiny(name, shape, classes, many=(12, 6)):
    """Return a small stand-in of a published data set."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (n, *shape), dtype=np.uint8) for n in many]
    labels = [np.arange(n, dtype=np.int32) % classes for n in many]
    return Dataset(name, name, images[0], labels[0], images[1], labels[1], classes, 255, 0.5, 0.5)


@pytest.fixture
def published(monkeypatch):
    """Let the data sets of a pack be small stand-ins."""
    found = {
        "emnist_letters": tiny("emnist_letters", (28, 28, 1), 26, (52, 26)),
        "cifar10": tiny("cifar10", (32, 32, 3), 10, (20, 10)),
    }
    monkeypatch.setattr(carried, "load", lambda name, data_dir: found[name])
    return found


@pytest.fixture
def without_wheels(monkeypatch):
    monkeypatch.setattr(wheels, "download", lambda folder, constraints: "")


@pytest.mark.usefixtures("without_wheels")
@pytest.mark.parametrize(("step", "halves", "tests"), [(8, False, False), (16, False, True), (8, True, False)])
def test_a_pack_becomes_files_that_jfed_reads(tmp_path, published, step, halves, tests, monkeypatch, capsys):
    monkeypatch.setattr(carried, "HALF", (10, 5))
    out = tmp_path / "pack"
    gpu_pack.main(gpu_pack.Settings(out, data=("emnist", "cifar"), step=step, halves=halves, tests=tests))
    assert "MiB of at most 58" in capsys.readouterr().out
    names = list(carried.unpack(out, tmp_path / "files"))
    monkeypatch.undo()
    own = {(8, False): "cifar10-rounded", (16, False): "cifar10-rounded-16", (8, True): "cifar10-half"}[step, halves]
    assert names == [own, "emnist_letters"]
    assert carried.tables(tmp_path / "files") == {"emnist": "emnist_letters", "cifar": own}
    letters = load("emnist_letters", tmp_path / "files")
    for part in ("images", "labels", "test_images", "test_labels"):
        np.testing.assert_array_equal(getattr(letters, part), getattr(published["emnist_letters"], part))
    catalog.load_file(ROOT / "tools" / "gpu" / "rounded.py")
    colours, whole = catalog.find("dataset", own).load(tmp_path / "files"), published["cifar10"]
    assert colours.name == own != "cifar10" and (colours.mean, colours.std) == (0.5, 0.5)
    many, some = (10, 5) if halves else (20, 10 if tests else 0)
    assert (len(colours.images), len(colours.test_images)) == (many, some)
    np.testing.assert_array_equal(colours.labels, whole.labels[:many])
    np.testing.assert_array_equal(colours.test_labels, whole.test_labels[:some])
    apart = np.abs(colours.images.astype(int) - whole.images[:many]).max()
    assert apart == 0 if halves else apart == step // 2


@pytest.mark.usefixtures("published", "without_wheels")
def test_a_pack_above_the_limit_is_refused_and_leaves_nothing(tmp_path):
    settings = gpu_pack.Settings(tmp_path / "pack", data=("emnist",), limit=0.01)
    with pytest.raises(ConfigError, match=r"The pack has 0\.\d MiB, above the limit of 0\.01 MiB: take fewer"):
        gpu_pack.main(settings)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mine").touch()
    with pytest.raises(ConfigError, match="pack is not empty: give a new folder"):
        gpu_pack.main(settings)
    with pytest.raises(ConfigError, match="no data set 'letters' to pack: choose from emnist"):
        gpu_pack.main(gpu_pack.Settings(tmp_path / "new", data=("letters",)))
    with pytest.raises(ConfigError, match="rounded to steps of 8 or 16, found 4"):
        gpu_pack.main(gpu_pack.Settings(tmp_path / "new", data=("cifar",), step=4))


def test_wheels_that_cannot_be_downloaded_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "download", lambda folder, constraints: "no connection")
    settings = gpu_pack.Settings(tmp_path / "pack", data=())
    with pytest.raises(ConfigError, match=r"wheels could not be downloaded \(no connection\): try again"):
        gpu_pack.main(settings)


def test_every_package_of_the_wheels_is_pinned():
    assert all("==" in pin for pin in wheels.pins(wheels.LACKING, gpu_pack.CONSTRAINTS))


# ------------------------------------------------------------------------------------------------ the archives


def test_an_archive_leaves_the_largest_files_out(tmp_path):
    folder = tmp_path / "stage"
    (folder / "checkpoints").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, size in (("small.csv", 10), ("middle.npz", 60_000), ("large.npz", 90_000), ("checkpoints/x", 10)):
        (folder / name).write_bytes(rng.bytes(size))
    target = tmp_path / "stage.tar.gz"
    assert tars.pack(folder, target) == []
    assert names_in(target) == ["stage/large.npz", "stage/middle.npz", "stage/small.csv"]
    limit = 100_000
    assert tars.pack(folder, target, limit) == ["stage/large.npz"]
    assert names_in(target) == ["stage/middle.npz", "stage/small.csv"] and target.stat().st_size < limit
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stage", "stage.tar.gz"]
