"""The catalogue of members by name, such as `"e3cs-0.5"`, `"wireless"` or `"fedprox"`.

A member declares its own names (`core.members.Name`). The catalogue finds the members that ship with jfed in their
rooms, and members from outside through `register`, entry points (`jfed.selectors`, `jfed.environments`, ...),
`load_file` and the files listed in $JFED_LOAD.
"""

from jfed.catalog.names import (
    canonical_name,
    entries,
    find,
    has_modes,
    label,
    names,
    resolve,
    scheme,
    set_by_name,
    swept_name,
    untold,
)
from jfed.catalog.outside import load_file, loaded, register
from jfed.catalog.rooms import ROOMS, Entry, Room, bases, defined, instance, members, room_of, shipped

__all__ = [
    "ROOMS",
    "Entry",
    "Room",
    "bases",
    "canonical_name",
    "defined",
    "entries",
    "find",
    "has_modes",
    "instance",
    "label",
    "load_file",
    "loaded",
    "members",
    "names",
    "register",
    "resolve",
    "room_of",
    "scheme",
    "set_by_name",
    "shipped",
    "swept_name",
    "untold",
]
