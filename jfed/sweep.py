"""Sweeps: lists of points, by product and by zip; seeds."""

import operator
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

from jfed import catalog
from jfed import config as configs
from jfed.config import Config
from jfed.core import prng
from jfed.core.errors import require, shown, unknown
from jfed.core.members import Mode, SelectorOptions
from jfed.core.most import require_few
from jfed.core.options import below, ordered
from jfed.points import Point as Point
from jfed.points import is_list, require_usable
from jfed.points import listed as listed

MEMBERS = ("environment", "controller", "training.dataset", "training.model", "training.algorithm")


def methods(
    base: Config,
    schemes: Iterable[str | SelectorOptions] | Mapping[str, str | SelectorOptions],
    mode: Mode = "faithful",
) -> list[Point]:
    """Return one point per scheme, in the world of `base`.

    Args:
        base: everything but the scheme.
        schemes: names, such as "e3cs-0.5", and options, such as `Mine(epsilon=0.1)`; or a mapping to these from the
            names that results are to use.
        mode: faithful (as published) or corrected, for schemes given by name that have both.

    Raises:
        ConfigError: a scheme or the mode is unknown.
    """
    require(isinstance(base, Config), f"The base of a sweep must be a jfed.Config, found {shown(base)}.")
    require(
        is_list(schemes) or isinstance(schemes, Mapping),
        f'Schemes must be a list, such as ["uniform"], or a mapping from names to schemes, found {shown(schemes)}.',
    )
    told = isinstance(schemes, Mapping)
    points = []
    for name, scheme in schemes.items() if told else ((None, scheme) for scheme in schemes):
        by_name = isinstance(scheme, str)
        options = catalog.resolve("selector", scheme, mode)
        label = catalog.canonical_name("selector", scheme) if by_name else catalog.label(options)
        own = mode if by_name and catalog.has_modes(scheme) else "faithful"
        points.append(
            Point(configs.replace(base, {"selector": options}), {"method": name if told else label, "mode": own})
        )
    require(bool(points), "Name at least one scheme.")
    return points


def product(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return every point at every combination of the axes; axes that a point's config lacks do not apply to it.

    The settings of a part that is swept apply to the points whose part has them.

    Where an axis replaces the number of a scheme's name, the name goes without it: `e3cs-0.5` over `selector.quota` is
    `e3cs`, and the coordinate `quota` has the number.

    Args:
        points: points to sweep.
        axes: values by dotted path, such as {"cohort_size": [10, 20, 30]}.

    Raises:
        ConfigError: no point has a setting, a value does not have its type, an axis lists one twice, a coordinate
            cannot be named after an axis, or a scheme's name determines the setting.
    """
    points, axes = _ready(points, axes)
    for path in ordered(axes):
        points = [new for point in points for new in _along(point, path, axes[path])]
    return points


def zipped(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return every point at the first values of all axes, at the second ones, and so on.

    Raises:
        ConfigError: the axes differ in length, a point lacks a setting, or as in `product`.
    """
    points, axes = _ready(points, axes, together=True)
    lengths = {path: len(values) for path, values in axes.items()}
    require(len(set(lengths.values())) <= 1, f"Axes that go together must be equally long, found {lengths}.")
    return [
        _at(point, dict(zip(axes, values, strict=True)))
        for point in points
        for values in zip(*axes.values(), strict=True)
    ]


def changed(points: Sequence[Point], delta: Mapping[str, Any]) -> list[Point]:
    """Return the points with settings changed and the same coordinates; a point that lacks a setting ignores it.

    A part is changed before its own settings, in whatever order they are given.

    Raises:
        ConfigError: no point has a setting, a scheme's name or a coordinate determines it, or a value does not have
            its type.
    """
    points = listed(points)
    require(isinstance(delta, Mapping), f'Changes are a mapping, such as {{"cohort_size": 10}}, found {shown(delta)}.')
    for path in ordered(delta):
        own = {"selector"} | {f"selector.{name}" for p in points for name in catalog.set_by_name(p.config.selector)}
        told = [p for p in points if coordinate(path) in p.coords]
        require(
            path not in own and coordinate(path) not in ("method", "mode"),
            f"{path} cannot be set here, since the name of a scheme determines it: choose it by schemes or mode.",
        )
        require(not told, f"{path} cannot be set here, since points already have a coordinate {coordinate(path)}.")
    for path in ordered(delta):
        _require_known(points, path)
        points = [_changed(p, path, delta[path]) if configs.has(p.config, path) else p for p in points]
    return points


def _changed(point: Point, path: str, value: Any) -> Point:
    """Return a point with a setting changed, after checking that members in its coordinates keep their names."""
    made = configs.replace(point.config, {path: value})
    for member in MEMBERS:
        field, told = path.removeprefix(f"{member}."), point.coords.get(coordinate(member))
        if told is not None and field != path:
            before, after = (operator.attrgetter(member)(config) for config in (point.config, made))
            says = any(name.name == told and field in name.fields for name in type(before).called())
            require(
                not says or getattr(before, field) == getattr(after, field),
                f"{path} cannot be set here, since the name {told} determines it: sweep it, too, so that results say"
                " its value.",
            )
    return Point(made, point.coords)


def listed_seeds(seeds: Iterable[int | prng.Seeds]) -> list[prng.Seeds]:
    """Return seeds as a list; an int seeds all streams.

    Raises:
        ConfigError: they are no seeds, or too many.
    """
    require(
        is_list(seeds) and not isinstance(seeds, prng.Seeds),
        f"Seeds must be a list of whole numbers or of jfed.seeds(...), such as range(5), found {shown(seeds)}.",
    )
    if isinstance(seeds, Sized):
        require_few(len(seeds))
    return [seed if isinstance(seed, prng.Seeds) else prng.seeds(seed) for seed in seeds]


def crossed_seeds(data: int = 1, model: int = 1, environment: int = 1) -> list[prng.Seeds]:
    """Return all combinations of the given numbers of data, model and environment seeds, for `jfed variance`.

    Runs that share one of them are not independent: they show where the spread comes from, not which scheme is better.

    Raises:
        ConfigError: a number is no whole number of at least 1, or there are too many combinations.
    """
    for name, number in (("data", data), ("model", model), ("environment", environment)):
        whole = isinstance(number, int) and not isinstance(number, bool)
        require(whole and number >= 1, f"The number of {name} seeds must be at least 1, found {shown(number)}.")
    require_few(data * model * environment)
    return prng.crossed_seeds(data, model, environment)


def _ready(
    points: Iterable[Point], axes: Mapping[str, Iterable[Any]], together: bool = False
) -> tuple[list[Point], dict[str, list[Any]]]:
    """Return points and axes as lists, checked, and points whose names say nothing of what is swept.

    Axes that go together may repeat a value.
    """
    points = listed(points)
    require(
        isinstance(axes, Mapping),
        f'Axes must be a mapping from settings to lists, such as {{"cohort_size": [10, 20]}}, found {shown(axes)}.',
    )
    found = {path: list(values) if is_list(values) else [] for path, values in axes.items()}
    by_name: dict[str, str] = {}
    possible = points
    for path in ordered(found):
        values = found[path]
        require(bool(values), f"The axis {path} must be a list of one or more values, found {shown(axes[path])}.")
        twice = [v for i, v in enumerate(values) if isinstance(v, str | int | float | tuple) and v in values[:i]]
        require(together or not twice, f"The axis {path} has {shown(twice[0]) if twice else ''} twice.")
        schemes = "Schemes and modes are no axes: list them in jfed.methods (on a command line, --schemes and --mode)."
        require(path not in ("selector", "method", "mode"), schemes)
        _require_known(possible, path)
        if any(below(other, path) for other in found if other != path):  # whose settings depend on the values
            possible = [new for point in possible for new in _along(point, path, values)]
        name = coordinate(path)
        require_usable(name)
        other = by_name.setdefault(name, path)
        require(other == path, f"{other} and {path} would both be called {name} in results: sweep one of them.")
    return _renamed(points, found), found


def _renaming(point: Point, names: Sequence[str], paths: Iterable[str]) -> str:
    """Return the swept settings that take the number out of one of the names."""
    own = [p for p in paths if configs.has(point.config, p) and any(catalog.swept_name(n, p) != n for n in names)]
    return ", ".join(own)


def _renamed(points: Sequence[Point], paths: Iterable[str]) -> list[Point]:
    """Return points whose schemes are not called by the numbers that are swept."""
    made, before = [], {}
    for point in points:
        name = new = str(point.coords.get("method", catalog.label(point.config.selector)))
        for path in paths:
            new = catalog.swept_name(new, path) if configs.has(point.config, path) else new
        coords = point.coords | {"method": new} if new != name else point.coords
        key = tuple(sorted((k, v) for k, v in coords.items()))
        if new != name or key in before:
            other = before.get(key, name)
            cause = _renaming(point, (other, name), paths)
            require(other == name, f"{other} and {name} are the same scheme once {cause} is swept: list one.")
        before[key] = name
        made.append(Point(point.config, coords))
    return made


def _require_known(points: Sequence[Point], path: str) -> None:
    configs.require_training([p.config for p in points], path)
    if not points or any(configs.has(p.config, path) for p in points):
        return
    parts = path.split(".")
    for i, part in enumerate(parts):
        known = {name for p in points for name in configs.beside(p.config, ".".join(parts[: i + 1]))}
        require(bool(known), f"There is no setting {path!r}: {'.'.join(parts[:i])} has no settings of its own here.")
        if part not in known:
            raise unknown(f"setting in {path!r}:", part, known)


def coordinate(path: str) -> str:
    """Return the name of a setting's coordinate in results: the last part of its path."""
    return path.rpartition(".")[2]


def _along(point: Point, path: str, values: Iterable[Any]) -> list[Point]:
    """Return a point at each value of an axis, or as it is if its config lacks the setting."""
    return [_at(point, {path: value}) for value in values] if configs.has(point.config, path) else [point]


def _at(point: Point, delta: Mapping[str, Any]) -> Point:
    coords = {coordinate(path): _named(path, value) for path, value in delta.items()}
    return Point(configs.replace(point.config, delta), point.coords | coords)


def _named(path: str, value: Any) -> Any:
    """Return a value as a coordinate has it: a member by its name."""
    room = coordinate(path)
    if path not in MEMBERS:
        return configs.settled(room, value)
    if isinstance(value, str):
        return value if value.endswith(".npz") else catalog.canonical_name(room, value)
    return getattr(value, "name", None) or catalog.label(configs.resolve(room, value))
