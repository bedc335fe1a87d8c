"""Names for members: what `"e3cs-0.5"`, `"wireless"` or `"fedprox"` stand for, and what there is to choose from.

A member declares its own names (`core.members.Name`). The catalogue finds the members that ship with jfed in their
rooms, and those from outside by `register`, by entry points (`jfed.selectors`, `jfed.environments`, ...), by
`load_file` and by the files that $JFED_LOAD lists.
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
)
from jfed.catalog.outside import load_file, register
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
    "members",
    "names",
    "register",
    "resolve",
    "room_of",
    "scheme",
    "set_by_name",
    "shipped",
]
