"""Fetching from a server on this machine that can fail in each way; nothing half-fetched gets a final name."""

import errno
import gzip
import hashlib
import io
import re
import socket
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest
from rich.console import Console
from tiny import LETTERS, MNIST, assert_same, expect, md5_of, write_cifar10, write_idx_set

from jfed import cli
from jfed.data import get as get_module
from jfed.data import sources
from jfed.data.get import REMOTES, Remote, get
from jfed.data.load import fetched_folder, load, where
from jfed.errors import ConfigError, DataError


class Server(ThreadingHTTPServer):
    """Serves /good/NAME whole, /changed/NAME with another last byte, half of /cut/NAME, and 404 for all else."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []

    def urls(self, name, *ways):
        return tuple(f"http://127.0.0.1:{self.server_port}/{way}/{name}" for way in ways)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.asked.append(self.path)
        _, way, name = self.path.split("/")
        content = self.server.files.get(name)
        if content is None or way == "absent":
            self.send_error(404)
            return
        self.send_response(200)
        if way != "cut-and-silent":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if way.startswith("cut"):
            content = content[: len(content) // 2]
        self.wfile.write(content[:-1] + bytes([content[-1] ^ 1]) if way == "changed" else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/jfed/data"


def serve_mnist(server, monkeypatch, folder, *ways, ways_of=None):
    """Serve a tiny MNIST from ``folder``; ``ways_of`` says how each file fails, or how all do."""
    write_idx_set(folder, MNIST, suffix=".gz")
    expect(monkeypatch, "mnist", (4, 3), md5_of(folder))
    remotes = []
    for path in sorted(folder.iterdir()):
        server.files[path.name] = path.read_bytes()
        urls = server.urls(path.name, *(ways_of or {}).get(path.name, ways))
        remotes.append(Remote(urls, hashlib.sha256(path.read_bytes()).hexdigest()))
    monkeypatch.setitem(REMOTES, "mnist", tuple(remotes))


def files(folder):
    """Everything below the folder, hidden files too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_was_fetched_is_found_and_not_fetched_again(server, monkeypatch, tmp_path, cache):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    data, folder = get("mnist")
    assert folder == cache / "mnist" == where("mnist")
    assert files(cache) == sorted(f"mnist/{path.name}" for path in (tmp_path / "origin").iterdir())
    assert_same(load("mnist"), data)
    assert_same(load("mnist", tmp_path / "origin"), data)
    assert len(server.asked) == 4
    get("mnist")
    assert len(server.asked) == 4


def test_where_it_goes(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert fetched_folder() == tmp_path / ".cache/jfed/data"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert fetched_folder() == tmp_path / "cache/jfed/data"
    monkeypatch.setenv("JFED_DATA_DIR", str(tmp_path / "variable"))
    assert fetched_folder() == tmp_path / "variable"
    assert fetched_folder(tmp_path / "argument") == tmp_path / "argument"


@pytest.mark.parametrize("place", ["JFED_DATA_DIR", "argument"])
def test_other_places(server, monkeypatch, tmp_path, cache, place):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    argument = tmp_path / "there" if place == "argument" else None
    if not argument:
        monkeypatch.setenv("JFED_DATA_DIR", str(tmp_path / "there"))
    assert get("mnist", argument)[1] == tmp_path / "there/mnist" == where("mnist", argument)
    assert not cache.exists()


WAYS = {
    "absent": r"404 Client Error: Not Found",
    "changed": r"expected the sha256 sum [0-9a-f]{64}, found [0-9a-f]{64}",
    "cut": r"the connection broke before the end",
    "cut-and-silent": r"expected the sha256 sum [0-9a-f]{64}, found [0-9a-f]{64}",
}


@pytest.mark.parametrize("way", WAYS)
def test_each_failure_has_its_sentence_and_leaves_nothing(server, monkeypatch, tmp_path, cache, way):
    serve_mnist(server, monkeypatch, tmp_path / "origin", way)
    name = "t10k-images-idx3-ubyte.gz"
    sentence = rf"^{name} could not be fetched from http://127\.0\.0\.1:\d+/{way}/{name} \({WAYS[way]}\)$"
    with pytest.raises(DataError, match=sentence):
        get("mnist")
    assert files(cache) == []


@pytest.mark.parametrize("way", WAYS)
def test_the_next_address_is_used_if_one_fails(server, monkeypatch, tmp_path, cache, way):
    serve_mnist(server, monkeypatch, tmp_path / "origin", way, "good")
    data, _ = get("mnist")
    assert_same(load("mnist", tmp_path / "origin"), data)
    assert [path.split("/")[1] for path in server.asked] == [way, "good"] * 4


def test_all_failures_are_named(server, monkeypatch, tmp_path, cache):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "absent", "changed")
    with pytest.raises(
        DataError, match=r"absent/t10k-images.* \(404 .*\), nor from .*changed/t10k-images.* \(expected"
    ):
        get("mnist")


def test_no_network(monkeypatch, cache):
    with socket.socket() as closed:  # a port that nobody listens on
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/train-images-idx3-ubyte.gz"
        monkeypatch.setitem(REMOTES, "mnist", (Remote((url,), "0" * 64),))
        with pytest.raises(DataError, match=rf"could not be fetched from {re.escape(url)} \(no connection\)$"):
            get("mnist")
    assert files(cache) == []


def test_a_second_attempt_fetches_only_what_is_missing(server, monkeypatch, tmp_path, cache):
    ways_of = {"train-images-idx3-ubyte.gz": ("cut",)}
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good", ways_of=ways_of)
    with pytest.raises(DataError, match="the connection broke"):
        get("mnist")
    assert files(cache) == ["mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"]
    server.asked.clear()
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    get("mnist")
    assert server.asked == ["/good/train-images-idx3-ubyte.gz", "/good/train-labels-idx1-ubyte.gz"]


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


def test_files_in_another_usual_folder_are_not_fetched_again(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "_CIFAR10_BATCH", 2)
    write_cifar10(tmp_path / "cifar10/cifar-10-batches-bin")
    expect(monkeypatch, "cifar10", (10, 2))
    monkeypatch.setitem(REMOTES, "cifar10", tuple(Remote((), "", r.members) for r in REMOTES["cifar10"]))
    assert get("cifar10", tmp_path)[1] == tmp_path / "cifar10/cifar-10-batches-bin"


def test_a_wrong_file_that_was_there_is_named_and_kept(server, monkeypatch, tmp_path, cache):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    wrong = cache / "mnist/train-labels-idx1-ubyte"
    wrong.parent.mkdir(parents=True)
    content = gzip.decompress((tmp_path / "origin/train-labels-idx1-ubyte.gz").read_bytes())
    wrong.write_bytes(content[:-1] + b"\7")
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte of MNIST .* found \w+; move what is wrong out of"):
        get("mnist")
    assert wrong.read_bytes()[-1] == 7
    wrong.unlink()
    get("mnist")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails(server, monkeypatch, tmp_path, cache, error):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good", "good")

    def half(_, url, output_file, pooch):
        Path(output_file).write_bytes(b"half of it")
        raise OSError(error, {errno.ENOSPC: "No space left on device", errno.EIO: "Input/output error"}[error])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", half)
    with pytest.raises(DataError, match=rf"^cannot put mnist into {cache} \((No space left on|Input/output)"):
        get("mnist")
    assert files(cache) == []


def test_an_interrupt_leaves_nothing(server, monkeypatch, tmp_path, cache):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(get_module._Bar, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        get("mnist")
    assert files(cache) == []


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=rf"^cannot put mnist into {tmp_path}/file \(Not a directory\)$"):
        get("mnist", tmp_path / "file")


def test_progress_is_shown(server, monkeypatch, tmp_path, cache):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    shown = io.StringIO()
    get("mnist", console=Console(file=shown, force_terminal=True, width=120))
    size = len(server.files["train-images-idx3-ubyte.gz"]) / 1000
    assert re.search(
        rf"train-images-idx3-ubyte\.gz .*{size:.1f}/{size:.1f} kB", re.sub(r"\x1b\[[\d;?]*\w", "", shown.getvalue())
    )


def test_names():
    with pytest.raises(ConfigError, match=r"unknown data set 'cifar' \(did you mean 'cifar10'\?\)"):
        get("cifar")
    assert get("digits")[0].title == "digits"
    assert set(REMOTES) == set(sources.SOURCES)


@pytest.mark.parametrize("name", REMOTES)
def test_the_addresses_leave_every_file_once(name):
    source = sources.SOURCES[name]
    left = [file for remote in REMOTES[name] for file in remote.files]
    assert sorted(left) == sorted(source.train_files + source.test_files)
    for remote in REMOTES[name]:
        assert re.fullmatch(r"[0-9a-f]{64}", remote.sha256)
        assert all(url.startswith("http") and url.endswith(remote.name) for url in remote.urls)


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["jfed", "data", *arguments])
    cli.main()


def test_the_command(server, monkeypatch, tmp_path, cache, capsys):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    command(monkeypatch, "list")
    assert re.search(r"^mnist +not here: jfed data get mnist$", capsys.readouterr().out, re.M)
    command(monkeypatch, "get", "mnist", "digits")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        f"mnist is in {cache}/mnist: MNIST, 4 + 3 images",
        "digits ships with jfed: digits, 1,437 + 360 images",
    ]
    command(monkeypatch, "list")
    assert re.search(rf"^mnist +{cache}/mnist$", capsys.readouterr().out, re.M)
    command(monkeypatch, "get", "mnist", "--data-dir", str(tmp_path / "there"))
    assert (tmp_path / "there/mnist/train-labels-idx1-ubyte.gz").is_file()


def test_the_command_refuses_before_it_fetches(server, monkeypatch, tmp_path, cache):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    for arguments, sentence in (((), "say which data sets to fetch"), (("mnist", "mnits"), "unknown data set 'mnits'")):
        with pytest.raises(SystemExit, match=f"^error: {sentence}"):
            command(monkeypatch, "get", *arguments)
    assert server.asked == []
