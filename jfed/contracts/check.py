"""The check of a member by the rules of its room."""

import dataclasses
from collections.abc import Collection, Iterator
from typing import Any

from jfed import catalog
from jfed.contracts import algorithms, controllers, environments, models, scheme, selectors, sources
from jfed.contracts.finding import Finding, Rules, findings
from jfed.contracts.options import Bench
from jfed.core.errors import ConfigError
from jfed.core.members import MODES, MemberOptions
from jfed.core.options import static_half

BENCHES: dict[str, tuple[type[Bench], Rules]] = {
    "selector": (scheme.SelectorBench, selectors.RULES),
    "environment": (environments.EnvironmentBench, environments.RULES),
    "controller": (controllers.ControllerBench, controllers.RULES),
    "algorithm": (algorithms.AlgorithmBench, algorithms.RULES),
    "dataset": (sources.DataBench, sources.RULES),
    "model": (models.ModelBench, models.RULES),
}


def check(member: MemberOptions | type[MemberOptions], only: Collection[str] = ()) -> list[Finding]:
    """Return what the rules of its room find in a member, without rules that could not be tried because another failed.

    Args:
        member: its options, or their class, to check the defaults.
        only: rules to try; all of them by default.

    Raises:
        ConfigError: it is not derived from any of the bases of members.
    """
    kind = member if isinstance(member, type) else type(member)
    room = next((room for room in catalog.ROOMS.values() if issubclass(kind, room.base)), None)
    if room is None:
        raise ConfigError(f"{kind.__qualname__} is not derived from any of the bases of members: {catalog.bases()}.")
    make, rules = BENCHES[room.field]
    bench = make(member, room)
    return findings(_label(member, room.word), bench.home, rules, bench, only)


def _label(member: Any, word: str) -> str:
    """Return the word for a room's members and the member's name, since two rooms may use one name."""
    try:
        options = catalog.instance(member)
        modes = options.modes._asdict() if options.modes else {}
        own = [mode for mode, changed in modes.items() if all(getattr(options, k) == v for k, v in changed.items())]
        return f"{word} {catalog.label(options)}" + (f" ({own[0]})" if own else "")
    except Exception:  # the rules report what is wrong with the options
        return f"{word} {(member if isinstance(member, type) else type(member)).__qualname__}"


def variants(kind: type[MemberOptions]) -> Iterator[MemberOptions]:
    """Yield the options of a class's names and modes, once for each program."""
    seen = set()
    for name in kind.called():
        number = name.examples[0] if name.examples else None
        value = number if number is None or number in name.words else float(number)
        made = catalog.Entry(name, catalog.instance(kind)).at(value)
        for mode in MODES:
            changed = getattr(kind.modes, mode) if kind.modes else {}
            options = dataclasses.replace(made, **changed)
            if (half := static_half(options)) not in seen:
                seen.add(half)
                yield options
