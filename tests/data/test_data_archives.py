"""Downloads of archives: only the data set's own files are kept."""

import hashlib
import io
import tarfile
import zipfile

from loopback import files
from tiny import LETTERS, assert_same, expect, md5_of, write_cifar10, write_idx_set

from jfed.data import sources
from jfed.data.get import REMOTES, Remote, get
from jfed.data.load import load, where


def archive_tar(paths):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path in paths:
            tar.add(path, f"cifar-10-batches-bin/{path.name}")
    return packed.getvalue()


def archive_zip(paths):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in paths:
            archive.writestr(f"gzip/{path.name}", path.read_bytes())
    return packed.getvalue()


def serve_archive(server, monkeypatch, name, content):
    (remote,) = REMOTES[name]
    server.files[remote.name] = content
    here = Remote(server.urls(remote.name, "good"), hashlib.sha256(content).hexdigest(), remote.members)
    monkeypatch.setitem(REMOTES, name, (here,))


def test_cifar10_is_unpacked(server, monkeypatch, tmp_path, cache):
    monkeypatch.setattr(sources, "_CIFAR10_BATCH", 2)
    write_cifar10(tmp_path / "origin")
    expect(monkeypatch, "cifar10", (10, 2), md5_of(tmp_path / "origin"))
    names = sorted(path.name for path in (tmp_path / "origin").iterdir())
    (tmp_path / "origin/readme.html").write_text("not wanted")
    serve_archive(server, monkeypatch, "cifar10", archive_tar((tmp_path / "origin").iterdir()))
    data, folder = get("cifar10")
    assert files(cache) == [f"cifar10/{name}" for name in names]
    assert_same(load("cifar10", tmp_path / "origin"), data)
    assert where("cifar10") == folder
    get("cifar10")
    assert len(server.asked) == 1


def test_only_the_letters_of_emnist_are_kept(server, monkeypatch, tmp_path, cache):
    write_idx_set(tmp_path / "origin", LETTERS, first_label=1, suffix=".gz")
    expect(monkeypatch, "emnist_letters", (4, 3))
    names = sorted(path.name for path in (tmp_path / "origin").iterdir())
    write_idx_set(tmp_path / "origin", ("emnist-digits-train", "emnist-digits-test"), suffix=".gz")
    serve_archive(server, monkeypatch, "emnist_letters", archive_zip((tmp_path / "origin").iterdir()))
    data, _ = get("emnist_letters")
    assert files(cache) == [f"emnist_letters/{name}" for name in names]
    assert_same(load("emnist_letters", tmp_path / "origin"), data)
    assert data.title == "EMNIST letters"
