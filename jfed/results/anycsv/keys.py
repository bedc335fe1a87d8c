"""The columns that say which run a row belongs to, under the names that others give them."""

import difflib
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jfed.core.errors import shown

ALIASES = {
    "scheme": ("method", "algorithm", "strategy", "selector", "name", "group"),
    "seed": ("run", "run_id", "trial", "repeat", "replicate", "rep", "random_seed"),
}
KEYS = tuple(ALIASES)
FACTORS = ("data_seed", "model_seed", "environment_seed")
ROUNDS = ("round", "server_round", "step", "_step", "epoch", "iteration")
_SHOWN = 8  # columns that a message names


class Keys(NamedTuple):
    """The columns of a table under the names that jfed uses.

    Attributes:
        places: index of each column, by name; columns without a name are left out.
        notes: a sentence for each column that was guessed.
        doubts: columns that may be a key, by key, where there are several.
    """

    places: dict[str, int]
    notes: tuple[str, ...]
    doubts: dict[str, list[str]]


def find_keys(path: object, header: Sequence[str], scheme: str | None = None, seed: str | None = None) -> Keys:
    """Return the columns with those of the scheme and the seeds under their own names.

    A key is the column that is given; else the one with its name, in any case; else the only one with another name
    that is known for it.

    Args:
        path: the file, for messages.
        header: names of the columns, each once.
        scheme: the column of schemes, if given.
        seed: the column of seeds, if given.

    Raises:
        ValueError: there is no column of a given name.
    """
    places = {name: i for i, name in enumerate(header) if name}
    nameless = [str(i + 1) for i, name in enumerate(header) if not name]
    notes = [f"A column without a name is left out: {', '.join(nameless)}."] if nameless else []
    doubts: dict[str, list[str]] = {}
    for key, given in {"scheme": scheme, "seed": seed, **dict.fromkeys((*FACTORS, "experiment"))}.items():
        if given is not None:
            own = [given] if given in places else _called(places, [given])
            if len(own) != 1:
                raise ValueError(f"{path} has no column {given!r}; {_near(given, places)}")
        elif key in places:
            continue
        else:
            own = _called(places, [key]) or _called(places, ALIASES.get(key, ()))
            if len(own) == 1 and _plain(own[0]) != key:
                notes.append(f"The {key} is the column {own[0]!r}.")
        if len(own) == 1:
            places = {key if name == own[0] else name: i for name, i in places.items() if name in own or name != key}
        elif own:
            doubts[key] = own
    return Keys(places, tuple(notes), doubts)


def require_key(path: object, key: str, keys: Keys) -> None:
    """Raise ValueError unless the key was found."""
    if key in keys.doubts:
        may = " or ".join(map(repr, keys.doubts[key]))
        raise ValueError(f"{path} has no column {key!r}, which may be {may}: choose with --{key}-column")
    others = [name for name in keys.places if name not in KEYS]
    if key not in keys.places:
        raise ValueError(f"{path} has no column {key!r}: name it with --{key}-column; {_near(key, others)}")


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for an unknown name, with the near matches or else the known names."""
    return f"no {kind} {shown(name)}; {_near(name, known)}"


def round_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that may count rounds, in the order of `ROUNDS`."""
    names = list(names)
    return [name for known in ROUNDS for name in _called(names, [known])]


def count_known(header: Iterable[str]) -> int:
    """Return how many columns have names known for a key or for rounds."""
    known = {*ALIASES, *itertools.chain(*ALIASES.values()), *FACTORS, *ROUNDS}
    return sum(_plain(name) in known for name in header)


def _called(names: Iterable[str], wanted: Sequence[str]) -> list[str]:
    plain = {_plain(name) for name in wanted}
    return [name for name in names if _plain(name) in plain]


def _plain(name: str) -> str:
    """Return a name in small letters, with an underscore for blanks and hyphens."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def _near(name: str, names: Iterable[str]) -> str:
    names = [str(one) for one in names]
    if near := difflib.get_close_matches(name, names, n=3):
        return f"did you mean {' or '.join(map(shown, near))}?"
    more = ", ..." if len(names) > _SHOWN else ""
    return f"there are {', '.join(map(shown, names[:_SHOWN])) or 'none'}{more}"
