"""Folders that tensorflow-datasets prepared: made here by its own writer, so in its own order, and read back."""

import io
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image
from tiny import LETTERS, MNIST, assert_same, expect, md5_of, write_cifar10, write_idx_set

from jfed.core.errors import DataError
from jfed.data import sources
from jfed.data.load import load, where

VERSION = {"mnist": "3.0.1", "fashion_mnist": "3.0.1", "emnist_letters": "3.1.0", "cifar10": "3.0.2"}
NUM = (23, 6)  # 23! orders: the right one does not come up by chance


def png(image):
    file = io.BytesIO()
    Image.fromarray(image.squeeze()).save(file, "PNG")
    return io.BytesIO(file.getvalue())


def prepare(root, name, raw, form="array_record", version=None):
    """Let tensorflow-datasets write `raw`, in two shards per split; return the folder of the version."""
    features = tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(shape=raw.images.shape[1:]),
            "label": tfds.features.ClassLabel(num_classes=37 if name == "emnist_letters" else 10),
        }
    )
    dataset_name, _, config = sources.SOURCES[name].prepared.partition("/")

    class Prepared(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version(version or globals()["VERSION"][name])
        BUILDER_CONFIGS = [tfds.core.BuilderConfig(name=config)] if config else []

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=features)

        def _split_generators(self, _):
            parts = {"train": (raw.images, raw.labels), "test": (raw.test_images, raw.test_labels)}
            return {split: self._generate_examples(*part) for split, part in parts.items()}

        def _generate_examples(self, images, labels):
            for number, (image, label) in enumerate(zip(images, labels, strict=True)):
                yield number, {"image": png(image), "label": int(label)}

    Prepared.name = dataset_name
    builder = Prepared(data_dir=root, file_format="array_record" if form == "tfrecord" else form)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(num_shards=2))
    if form == "tfrecord":  # its writer needs TensorFlow
        as_tfrecord(builder)
    return Path(builder.data_dir)


def as_tfrecord(builder):
    """Put the same records, shard by shard, into TFRecord files (with checksums of 0)."""
    from array_record.python.array_record_data_source import ArrayRecordDataSource

    for path in sorted(builder.data_path.glob("*.array_record-*")):
        shard = ArrayRecordDataSource([str(path)])
        framed = [struct.pack("<QI", len(r), 0) + r + bytes(4) for r in shard.__getitems__(range(len(shard)))]
        path.with_name(path.name.replace("array_record", "tfrecord")).write_bytes(b"".join(framed))
        path.unlink()
    info = builder.data_path / "dataset_info.json"
    info.write_text(json.dumps(json.loads(info.read_text()) | {"fileFormat": "tfrecord"}))


def official(folder, name, monkeypatch, num=NUM):
    """Write a tiny official data set below the folder, and return what its files hold."""
    if name == "cifar10":
        monkeypatch.setattr(sources, "_CIFAR10_BATCH", 5)
        num = (25, 5)
        write_cifar10(folder / name, num=5)
    else:
        letters = name == "emnist_letters"
        write_idx_set(folder / name, LETTERS if letters else MNIST, num=num, first_label=int(letters))
    expect(monkeypatch, name, num, {} if name == "emnist_letters" else md5_of(folder / name))
    held = sources.official_files(sources.SOURCES[name], folder / name)
    assert held is not None
    return held.read()


@pytest.mark.parametrize("form", ["array_record", "tfrecord", "parquet"])
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "emnist_letters", "cifar10"])
def test_the_same_data_set_as_from_the_official_files(tmp_path, monkeypatch, name, form):
    raw = official(tmp_path / "official", name, monkeypatch)
    folder = prepare(tmp_path / "prepared", name, raw, form)
    assert where(name, tmp_path / "prepared") == folder
    before = "tensorflow" in sys.modules
    data, expected = load(name, tmp_path / "prepared"), load(name, tmp_path / "official")
    assert_same(data, expected)
    assert data.title == expected.title
    assert ("tensorflow" in sys.modules) == before


def test_the_writer_shuffled(tmp_path, monkeypatch):
    # Otherwise no test above would show that the order is undone.
    raw = official(tmp_path, "mnist", monkeypatch)
    prepare(tmp_path, "mnist", raw)
    stored = tfds.builder_from_directory(tmp_path / "mnist" / VERSION["mnist"]).as_data_source("train")
    same = [np.array_equal(example["image"], image) for example, image in zip(stored, raw.images, strict=True)]
    assert sum(same) < len(same) / 2


@pytest.mark.parametrize("place", ["argument", "JFED_DATA_DIR", "TFDS_DATA_DIR", "HOME"])
def test_where_it_is_found(tmp_path, monkeypatch, place):
    raw = official(tmp_path / "official", "mnist", monkeypatch)
    root = tmp_path / "tensorflow_datasets"
    folder = prepare(root, "mnist", raw)
    if place != "argument":
        monkeypatch.setenv(place, str(tmp_path if place == "HOME" else root))
    assert where("mnist", root if place == "argument" else None) == folder


def test_it_comes_after_official_files_and_before_fetched_ones(tmp_path, monkeypatch):
    raw = official(tmp_path / "official", "mnist", monkeypatch)
    folder = prepare(tmp_path / "tfds", "mnist", raw)
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_idx_set(tmp_path / "cache/jfed/data/mnist", MNIST)
    assert where("mnist") == folder
    assert where("mnist", tmp_path / "official") == tmp_path / "official/mnist"


def test_the_newest_whole_version(tmp_path, monkeypatch):
    raw = official(tmp_path / "official", "mnist", monkeypatch)
    for version in ("3.0.9", "3.0.10"):
        prepare(tmp_path, "mnist", raw, version=version)
    (tmp_path / "mnist/incomplete.ABC_4.0.0").mkdir()
    (tmp_path / "mnist/incomplete.ABC_4.0.0/dataset_info.json").write_text("{}")
    (tmp_path / "mnist/5.0.0").mkdir()
    assert where("mnist", tmp_path) == tmp_path / "mnist/3.0.10"


def test_other_counts(tmp_path, monkeypatch):
    # tensorflow-datasets has 88,800 + 14,800 EMNIST letters; MNIST must be complete.
    for name in ("emnist_letters", "mnist"):
        prepare(tmp_path, name, official(tmp_path / "official", name, monkeypatch))
        expect(monkeypatch, name, (60_000, 10_000))
    assert load("emnist_letters", tmp_path).title == "EMNIST letters (29 images)"
    with pytest.raises(DataError, match=r"mnist/3\.0\.1 holds 23 training images, but MNIST has 60,000"):
        load("mnist", tmp_path)


def test_other_content_is_refused(tmp_path, monkeypatch):
    raw = official(tmp_path / "official", "mnist", monkeypatch)
    prepare(tmp_path, "mnist", raw._replace(images=255 - raw.images))
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte of MNIST in .*/mnist/3\.0\.1 is not the published"):
        load("mnist", tmp_path)


BROKEN = r"/mnist/3\.0\.1 cannot be read as a folder that tensorflow-datasets prepared"


@pytest.mark.parametrize(
    ("form", "break_it", "message"),
    [
        (
            "tfrecord",
            lambda shard, _: shard.write_bytes(shard.read_bytes()[:-9]),
            r"mnist-train\.tfrecord-00001-of-00002 is truncated$",
        ),
        (
            "tfrecord",
            lambda shard, _: shard.write_bytes(bytes(48) + shard.read_bytes()),
            BROKEN + r" \(IndexError: list",
        ),
        ("tfrecord", lambda shard, _: shard.unlink(), BROKEN + r" \(FileNotFoundError: "),
        ("array_record", lambda shard, _: shard.unlink(), BROKEN + r" \(RuntimeError: open\(\) failed"),
        (
            "array_record",
            lambda shard, _: shard.write_bytes(shard.read_bytes()[:-9]),
            BROKEN + r" \(RuntimeError: Invalid",
        ),
        (
            "array_record",
            lambda _, folder: (folder / "features.json").unlink(),
            BROKEN + r" \(ValueError: Cannot restore mnist",
        ),
        ("array_record", lambda _, folder: (folder / "dataset_info.json").write_text("{"), BROKEN + r" \(ParseError: "),
    ],
)
def test_broken_folders(tmp_path, monkeypatch, form, break_it, message):
    raw = official(tmp_path / "official", "mnist", monkeypatch)
    folder = prepare(tmp_path, "mnist", raw, form)
    break_it(folder / f"mnist-train.{form}-00001-of-00002", folder)
    with pytest.raises(DataError, match=message) as caught:
        load("mnist", tmp_path)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tensorflow_datasets_is_imported_only_for_such_a_folder(tmp_path):
    program = (
        "import sys\nfrom jfed.data.load import load, where\nload('digits')\nassert where('mnist') is None\n"
        "assert not {'tensorflow_datasets', 'jax', 'pooch', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"HOME": str(tmp_path)})
