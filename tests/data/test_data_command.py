"""`jfed data get` and `jfed data list`."""

import re
import sys

import pytest
from loopback import serve_mnist

from jfed import cli


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["jfed", "data", *arguments])
    cli.main()


def test_the_command(server, monkeypatch, tmp_path, cache, capsys):
    serve_mnist(server, monkeypatch, tmp_path / "origin", "good")
    command(monkeypatch, "list")
    listed = capsys.readouterr().out
    assert re.search(r"^mnist +not here: jfed data get mnist$", listed, re.M)
    assert re.search(r"^fashion-mnist +not here: jfed data get fashion-mnist$", listed, re.M)
    assert re.search(r"^synthetic-iid +made when it is used$", listed, re.M)
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
    for arguments, sentence in (((), "Say which data sets to fetch"), (("mnist", "mnits"), "unknown data set 'mnits'")):
        with pytest.raises(SystemExit, match=f"^error: {sentence}"):
            command(monkeypatch, "get", *arguments)
    assert server.asked == []
