"""Defaults and meanings of all settings, as their classes document them."""

import dataclasses
import functools
from typing import Any

WORDS = {
    "num_clients": "number of clients",
    "cohort_size": "clients selected per round",
    "num_rounds": "number of rounds",
    "eval_every": "rounds from one test of the model to the next",
}


@functools.cache
def known() -> dict[str, Any]:
    """Return `Known` settings by class and name, such as "jfed.config.Config.num_clients"."""
    import docstring_parser

    from jfed import catalog
    from jfed.config import Config, Training, canonical
    from jfed.report.page.settings import Known

    found = {}
    for kind in (Config, Training, *(kind for field in catalog.ROOMS for kind in catalog.members(field))):
        words = {
            one.arg_name: " ".join((one.description or "").split())
            for parent in reversed(kind.__mro__)
            for one in docstring_parser.parse(parent.__doc__ or "").params
        }
        for field in dataclasses.fields(kind):
            has_none = field.default is dataclasses.MISSING
            default = ... if has_none else canonical(field.default)
            own = WORDS.get(field.name, words.get(field.name, "")) if kind is Config else words.get(field.name, "")
            found[f"{kind.__module__}.{kind.__qualname__}.{field.name}"] = Known(default, own)
    return found
