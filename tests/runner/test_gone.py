"""A directory of results that somebody removes while a command works on it."""

import dataclasses
import logging
import shutil

import pytest
from support import LAYOUT, SELECTION, points, run

from jfed.core.errors import ConfigError
from jfed.results import index, parts, store
from jfed.results.load import read_rows
from jfed.runner import checkpoint

WHERE = points(SELECTION, "uniform")


@pytest.mark.parametrize("checkpoint_s", [0.0, 1000.0])
def test_it_is_said_as_what_it_is(checkpoint_s, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "jfed")
    out, layout = tmp_path / "out", dataclasses.replace(LAYOUT, chunk_rounds=2, checkpoint_s=checkpoint_s)
    content = parts.Part.content

    def removed(part):
        shutil.rmtree(out)
        return content(part)

    monkeypatch.setattr(parts.Part, "content", removed)
    with pytest.raises(ConfigError, match=rf"^{out}/results is gone: something removed it while this command wrote"):
        run(WHERE, [0, 1, 2, 3], layout, out=out)
    assert not caplog.messages and not out.exists()
    monkeypatch.undo()
    assert run(WHERE, [0, 1], layout, out=out).sizes["run"] == 2


def test_no_checkpoint_makes_it_anew(tmp_path):
    with pytest.raises(ConfigError, match=r"results is gone: something removed it"):
        checkpoint.begin(store.checkpoint_folder(tmp_path / "out", "unit"), {"runs": []})
    assert not (tmp_path / "out").exists()


def test_a_result_that_is_gone_is_named(tmp_path):
    run(WHERE, [0, 1], out=tmp_path)
    known = index.survey(tmp_path, store.files(tmp_path), set_aside=False)
    shutil.rmtree(tmp_path / "results")
    with pytest.raises(FileNotFoundError, match=r"npz is gone: something removed it while it was needed"):
        read_rows(known, [(next(iter(known.runs)), {"coords": {}, "open": []})])
