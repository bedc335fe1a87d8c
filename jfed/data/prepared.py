"""Folders that tensorflow-datasets has prepared, read without TensorFlow.

They store examples in the order of a hash of their number, the same for every preparation of one version. That order is
undone here, so that the images come in the order of the official files.
"""

import functools
import hashlib
import io
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError, extra, reason
from jfed.data.sources import Held, Raw, Source

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def prepared_folder(source: Source, folder: Path) -> Held | None:
    """Return the newest version of a data set that was prepared below `folder`; None if there is none.

    Reading it takes about 0.1 ms per image, and raises `DataError` if that fails.
    """
    infos = (folder / source.prepared).glob("*/dataset_info.json")
    versions = [path.parent for path in infos if _VERSION.fullmatch(path.parent.name)]
    if not versions:
        return None
    newest = max(versions, key=lambda path: [int(part) for part in path.name.split(".")])
    return Held(newest, functools.partial(_read, source, newest))


def _read(source: Source, folder: Path) -> Raw:
    import tensorflow_datasets as tfds  # takes half a second, so only where such a folder exists

    try:
        builder = tfds.builder_from_directory(folder)
        parts = [_split(builder, split, source.image_shape) for split in ("train", "test")]
    except DataError:
        raise
    except Exception as error:  # whatever the readers of its formats raise
        raise DataError(
            f"{folder} cannot be read as a folder that tensorflow-datasets prepared "
            f"({type(error).__name__}: {reason(error)}): prepare it again, as array_record or tfrecord"
        ) from error
    (images, labels), (test_images, test_labels) = parts
    return Raw(images, labels, test_images, test_labels, folder)


def _split(builder: Any, split: str, image_shape: tuple[int, int, int]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    with extra("data"):
        from PIL import Image
    from tensorflow_datasets.proto import tf_example_pb2

    parse: Any = tf_example_pb2.Example  # type: ignore[attr-defined]  # made when it is imported
    records = _records(builder, split)
    images = np.empty((len(records), *image_shape), np.uint8)
    labels = np.empty(len(records), np.uint8)
    numbers = range(len(records)) if builder.info.disable_shuffling else _hash_order(split, len(records))
    # Decoded here, since tensorflow-datasets' own decoder takes twice as long.
    for number, record in zip(numbers, records, strict=True):
        feature = parse.FromString(record).features.feature
        with Image.open(io.BytesIO(feature["image"].bytes_list.value[0]), formats=["PNG"]) as image:
            images[number] = np.asarray(image).reshape(image_shape)
        labels[number] = feature["label"].int64_list.value[0]
    return images, labels


def _hash_order(split: str, num: int) -> list[int]:
    """Return 0 .. num - 1 as tensorflow-datasets orders them: by the md5 sum of the split's name and the number."""
    return sorted(
        range(num), key=lambda number: hashlib.md5(f"{split}{number}".encode(), usedforsecurity=False).digest()
    )


def _records(builder: Any, split: str) -> Sequence[bytes]:
    """Return the serialized examples of a split, in stored order."""
    from tensorflow_datasets import decode

    if builder.info.file_format.value == "tfrecord":  # no random access, and tensorflow-datasets reads it by TensorFlow
        return [record for path in builder.info.splits[split].filepaths for record in _tfrecords(Path(path))]
    source = builder.as_data_source(split, deserialize_method=decode.DeserializeMethod.RAW_BYTES)
    return source.__getitems__(range(len(source)))


def _tfrecords(path: Path) -> Iterator[bytes]:
    """Yield the records of a TFRecord file: each has its length (8 bytes) and a checksum (4) before it, and one after.

    The checksums are not verified: those of the images' PNG format and the published md5 sums are.
    """
    content = path.read_bytes()
    position = 0
    while position + 12 <= len(content):
        (length,) = struct.unpack_from("<Q", content, position)
        yield content[position + 12 : position + 12 + length]
        position += 12 + length + 4
    if position != len(content):
        raise DataError(f"{path} is truncated")
