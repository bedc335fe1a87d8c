"""Checks that an action is refused in one sentence, before anything compiles."""

import re

import pytest
from support import LAYOUT, SELECTION

import jfed
from jfed.core.errors import ConfigError
from jfed.engine import simulate


def refused(action, words, kind=ConfigError):
    """Check that the action is refused in one sentence with these words, and that nothing compiles."""
    assert len(words.split()) > 2
    before = len(simulate.TRACES)
    with pytest.raises(kind, match=re.escape(words)) as caught:
        action()
    assert len(simulate.TRACES) == before
    message = str(caught.value)
    assert "\n" not in message
    assert not re.search(r"[.!?] +[A-Z]", message), f"more than one sentence: {message}"


def attempt(base=SELECTION, delta=None, seeds=(0,), layout=LAYOUT):
    def action():
        point = jfed.Point(jfed.replace(base, delta or {}), {"method": "x", "mode": "faithful"})
        jfed.run([point], seeds, layout=layout, progress=False)

    return action
