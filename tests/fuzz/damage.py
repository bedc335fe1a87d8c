"""Damage to the bytes and to the values of files, and the rule for what a reader may answer to it."""

import json
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import jfed
from jfed.core.errors import ConfigError
from jfed.results.sealed import Damaged

PACKAGE = Path(jfed.__file__).parent
EXAMPLES = int(os.environ.get("JFED_FUZZ_EXAMPLES", "2500"))  # of each test and lap: some ten minutes for all
HUGE = (0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def fuzz(share: float = 1.0) -> Any:
    """Return the settings of a test that draws `share` times as many examples as usual; each may use one folder.

    Examples are others each time, so that every proof searches on; a failing one is printed as it can be repeated.
    """
    many = max(1, int(share * EXAMPLES))
    return settings(max_examples=many, derandomize=False, print_blob=True, suppress_health_check=list(HealthCheck))


@st.composite
def damaged(draw: Any, wholes: Sequence[bytes]) -> bytes:
    """Return one of several contents after up to three damages, or random bytes."""
    content = draw(st.sampled_from(wholes))
    for _ in range(draw(st.integers(0, 3))):
        content = draw(st.sampled_from([_cut, _flip, _insert, _repeat, _swap, _number, _noise]))(draw, content, wholes)
    return content


def _place(draw: Any, content: bytes) -> int:
    """Return a position: headers are at the start, and directories of archives at the end."""
    size = len(content)
    near = st.integers(0, min(40, size)) | st.integers(max(0, size - 200), size)
    return draw(near | st.integers(0, size))


def _cut(draw: Any, content: bytes, _: Sequence[bytes]) -> bytes:
    start, stop = _place(draw, content), _place(draw, content)
    return content[:start] if draw(st.booleans()) else content[: min(start, stop)] + content[max(start, stop) :]


def _flip(draw: Any, content: bytes, _: Sequence[bytes]) -> bytes:
    place, bit = _place(draw, content), draw(st.integers(0, 7))
    return content[:place] + bytes(b ^ 1 << bit for b in content[place : place + 1]) + content[place + 1 :]


def _insert(draw: Any, content: bytes, _: Sequence[bytes]) -> bytes:
    place = _place(draw, content)
    return content[:place] + draw(st.binary(min_size=1, max_size=9)) + content[place:]


def _repeat(draw: Any, content: bytes, _: Sequence[bytes]) -> bytes:
    start, stop = sorted((_place(draw, content), _place(draw, content)))
    return content[:stop] + content[start:stop] * draw(st.integers(1, 3)) + content[stop:]


def _swap(draw: Any, content: bytes, wholes: Sequence[bytes]) -> bytes:
    place = _place(draw, content)
    return draw(st.sampled_from(wholes))[:place] + content[place:]


def _number(draw: Any, content: bytes, _: Sequence[bytes]) -> bytes:
    place, order = _place(draw, content), draw(st.sampled_from(["big", "little"]))
    return content[:place] + draw(st.sampled_from(HUGE)).to_bytes(4, order) + content[place + 4 :]


def _noise(draw: Any, *_: Any) -> bytes:
    return draw(st.binary(max_size=300))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(HUGE)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@st.composite
def changed(draw: Any, whole: Any) -> Any:
    """Return plain JSON values in which up to two of them, at any depth, are another, gone or doubled."""
    made = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 2))):
        node, depth = made, draw(st.integers(0, 8))
        for _ in range(depth):
            inner = [v for v in (node.values() if isinstance(node, dict) else node) if isinstance(v, dict | list) and v]
            if not inner:
                break
            node = draw(st.sampled_from(inner))
        if not node:
            continue
        key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        how = draw(st.sampled_from(["other", "gone", "doubled"]))
        if how == "gone":
            del node[key]
        elif how == "other":
            node[key] = draw(VALUES)
        elif isinstance(node, dict):
            node[draw(st.text(max_size=5))] = node[key]
        else:
            node.append(node[key])
    return made


def told(whole: Any) -> st.SearchStrategy[bytes]:
    """Return the damaged contents of a JSON file: damaged values, and damaged bytes."""
    return changed(whole).map(lambda made: json.dumps(made).encode()) | damaged([json.dumps(whole).encode()])


def answered(read: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a reader returns; None if it refuses with a sentence of jfed, and fail if it ends in another way."""
    try:
        return read(*arguments)
    except (ValueError, FileNotFoundError) as error:
        refused = error
    last = Path(traceback.extract_tb(refused.__traceback__)[-1].filename)
    assert type(refused) is ValueError or isinstance(refused, ConfigError | Damaged | FileNotFoundError), repr(refused)
    assert last.is_relative_to(PACKAGE), f"not a sentence of jfed: {refused!r}"
    assert len(str(refused).split()) >= 2 and len(str(refused)) < 2000, f"no sentence: {str(refused)[:2000]}"
    return None
