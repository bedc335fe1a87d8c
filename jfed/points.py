"""Points: a config and the coordinates that identify it in results, under names that are true and free."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jfed import catalog
from jfed import config as configs
from jfed.config import Config
from jfed.core.errors import require, shown

WATCHED = ("selector_", "controller_", "world_")  # how values begin that schemes, controllers and worlds show
_TAKEN = """
run round eval_round client byte scheme seed data_seed model_seed environment_seed run_id config setting varied
precision versions oracle selected_here num_selected num_succeeded expected_succeeded num_probed num_steps round_time_s
times_selected times_succeeded client_class num_samples selected broken_round ended_round test_loss test_accuracy
client_loss client_accuracy
"""
TAKEN = frozenset(_TAKEN.split())
"""Names of coordinates and variables that every result has, or may have."""


@dataclass(frozen=True)
class Point:
    """One setting of a sweep.

    Attributes:
        config: the complete config.
        coords: coordinates that identify it in results: `method`, `mode`, and one entry per swept setting.
    """

    config: Config
    coords: dict[str, Any] = field(default_factory=dict)


def listed(points: Iterable[Point]) -> list[Point]:
    """Return points as a list, with coordinates of one type: if some values of a coordinate are texts, all are.

    Raises:
        ConfigError: they are no points, a coordinate's name cannot be used in results, or a point is named after
            another scheme than it runs.
    """
    advice = 'give a list such as jfed.methods(jfed.Config(), ["uniform"]) or [jfed.Point(jfed.Config())]'
    require(is_list(points), f"Points must be a list, found {shown(points)}: {advice}.")
    points = list(points)
    for point in points:
        require(isinstance(point, Point), f"A point must be a jfed.Point, found {shown(point)}: {advice}.")
        require(
            isinstance(point.coords, Mapping),
            f'The coords of a point must be a mapping, such as {{"method": "mine"}}, found {shown(point.coords)}.',
        )
        require(isinstance(point.config, Config), f"A config must be a jfed.Config, found {shown(point.config)}.")
        for name in point.coords:
            require_usable(name)
        _require_true(point)
    return _of_one_type(points)


def require_usable(name: Any) -> None:
    """Check that a coordinate can have a name.

    Raises:
        ConfigError: results have another use for the name, or it is none.
    """
    named = isinstance(name, str) and name.isidentifier()
    require(named, f"A coordinate needs a name of letters, digits and _, found {shown(name)}.")
    require(
        name not in TAKEN and not name.startswith(WATCHED),
        f"Results use the name {name!r} themselves: give points a coordinate of another name, as in"
        f' jfed.Point(config, {{"my_{name}": 1}}).',
    )


def _require_true(point: Point) -> None:
    """Check that the name of a scheme, and its mode, are those of the options that the point runs."""
    name, mode = point.coords.get("method", ""), str(point.coords.get("mode", "faithful"))
    named = isinstance(name, str) and ("method" not in point.coords or (bool(name.strip()) and name.isprintable()))
    require(named, f"The method of a point is the name of its scheme, a line of text, found {shown(name)}.")
    found = catalog.untold(name, mode, point.config.selector, point.coords)
    own = catalog.label(point.config.selector) if found else ""
    other = f"call it {own!r}, or give it" if own != name and mode == "faithful" else "give it"
    require(
        not found, f"The point called {name!r} ({mode}) {found}, which its name does not say: {other} another name."
    )


def _of_one_type(points: Sequence[Point]) -> list[Point]:
    """Return points whose coordinates of a name are all numbers, with a fraction if one has it, or all texts."""
    made = [{name: _plain(value) for name, value in point.coords.items()} for point in points]
    kinds: dict[str, set[type]] = {}
    for coords in made:
        for name, value in coords.items():
            kinds.setdefault(name, set()).add(type(value))
    as_one = {name: str if str in own else float for name, own in kinds.items() if len(own) > 1}
    return [
        Point(p.config, {name: as_one[name](value) if name in as_one else value for name, value in coords.items()})
        for p, coords in zip(points, made, strict=True)
    ]


def _plain(value: Any) -> Any:
    value = configs.plain(value)
    return value if isinstance(value, str | int | float) else str(value)


def is_list(values: Any) -> bool:
    """Return whether one can iterate over values, other than the letters of a text or the keys of a mapping."""
    return isinstance(values, Iterable) and not isinstance(values, str | Mapping) and getattr(values, "ndim", 1) > 0
