"""Read files of absurd sizes, with at most 1 GB of memory above what is in use before; it is a process of its own."""

import gzip
import io
import json
import resource
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np

from jfed.commands import studyfile
from jfed.data.arrays import from_file
from jfed.data.formats import read_cifar10, read_idx
from jfed.report.contents import contents
from jfed.report.kept import kept
from jfed.results import index, journal
from jfed.results.frames import read_csv
from jfed.results.load import load
from jfed.results.sealed import seal

MOST = 1 << 30
DEEP = b"[" * (1 << 20)


def npz(header: str, size: int = 100) -> bytes:
    """Return an npz file with an array of zeros and a header of one's own."""
    head = header.encode().ljust(117) + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("images.npy", "w") as file,
    ):
        file.write(member)
        for _ in range(-(-size // (1 << 20))):
            file.write(bytes(min(size, 1 << 20)))
    return buffer.getvalue()


def shaped(shape: str) -> str:
    """Return the header of an array of bytes."""
    return f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"


def bomb(head: bytes = b"") -> bytes:
    """Return a gzip file with 1 GB of zeros behind a head."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(1 << 10):
            file.write(bytes(1 << 20))
    return buffer.getvalue()


GIGABYTE = bomb(struct.pack(">HBB3I", 0, 8, 3, 1 << 10, 1 << 10, 1 << 10))
SIDE = 1 << 15
FILES = {
    "a-idx3": (struct.pack(">HBB3I", 0, 8, 3, 1 << 31, 1 << 31, 1) + bytes(99), lambda path: read_idx(path, 3)),
    "a-idx3.gz": (GIGABYTE, lambda path: read_idx(path, 3)),
    "b-idx1.gz": (GIGABYTE, lambda path: read_idx(path, 1)),
    "batch.bin.gz": (GIGABYTE, read_cifar10),
    "claims.npz": (npz(shaped("(1000000000, 1000000000)")), from_file),
    "deep.npz": (npz(shaped("(" * 50 + "5" + ")" * 50)), from_file),
    "zeros.npz": (npz(shaped(f"({SIDE}, {SIDE})"), SIDE**2), from_file),
    "objects.npz": (npz("{'descr': '|O', 'fortran_order': False, 'shape': (1000000000,), }"), from_file),
    "deep.toml": (b"x = " + DEEP, studyfile.read),
    "tables.toml": (b"[" + b"a." * 100_000 + b"a]\n", studyfile.read),
    "columns.csv": (b"scheme,seed," + b",".join(b"x%d" % i for i in range(10**6)) + b"\na,0" + b",1" * 10**6, read_csv),
    "quotes.csv": (b'scheme,seed,x\na,0,"' + b"1,2\n" * (1 << 20), read_csv),
    "quoted.csv": (b"scheme,seed,x\n" + b'"",0,1\n' * (1 << 17) + b'"' * 9999, read_csv),
    "digits.csv": (b"scheme,seed,x\na,0," + b"9" * 100_000 + b"\n", lambda path: read_csv(path, "x")),
    "x/looks.json": (DEEP, lambda path: journal.planned(path.parent, "x")),
    "y/report.json": (DEEP, lambda path: kept(path.parent)),
    "z/labels.json": (DEEP, lambda path: index.survey(path.parent, [], set_aside=False)),
    "u/manifest.json": (DEEP, lambda path: contents(path.parent)),
    "v/results/x.npz": (seal({"x": np.zeros(9)}, {"format": 1, "dims": {"x": ["run"] * 10**6}}), load),
}


def main(folder: Path) -> None:
    """Read each file, and print as JSON what became of it: the type of the error and its sentence, or nothing."""
    for name, (content, _) in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MOST
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    told = {}
    for name, (_, read) in FILES.items():
        try:
            read(folder / name)
            told[name] = None
        except Exception as error:  # what it is, the test says
            told[name] = [type(error).__name__, str(error)]
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
