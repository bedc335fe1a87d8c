import dataclasses
import threading

import pytest
from loopback import Server

from jfed.data import sources


@pytest.fixture(autouse=True)
def _no_real_files(monkeypatch, tmp_path_factory):
    """Hide the data sets of this machine, in folders of variables, of the system and of the user."""
    home = tmp_path_factory.mktemp("home")
    for variable in ("JFED_DATA_DIR", "TFDS_DATA_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    for name, source in sources.SOURCES.items():
        monkeypatch.setitem(sources.SOURCES, name, dataclasses.replace(source, system_folders=()))


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
