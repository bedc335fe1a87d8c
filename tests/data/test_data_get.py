"""Downloads from a server that can fail in each way; no incomplete file gets a final name."""

import errno
import gzip
import io
import re
import socket
from pathlib import Path

import pooch
import pytest
from loopback import files, serve_mnist
from rich.console import Console
from tiny import assert_same, expect, write_cifar10

from jfed.core.errors import ConfigError, DataError
from jfed.data import get as get_module
from jfed.data import sources
from jfed.data.get import REMOTES, Remote, get
from jfed.data.load import fetched_folder, load, where


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
    with pytest.raises(DataError, match=r"could not be fetched from .*the connection broke before the end"):
        get("mnist")
    assert files(cache) == ["mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"]
    server.asked.clear()
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    get("mnist")
    assert server.asked == ["/good/train-images-idx3-ubyte.gz", "/good/train-labels-idx1-ubyte.gz"]


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
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte of MNIST .* found \w+; move the wrong files out of"):
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
