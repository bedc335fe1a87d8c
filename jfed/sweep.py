"""Sweeps: lists of points (a config and the coordinates that identify it in results), by product and by zip; seeds."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jfed import catalog
from jfed import config as configs
from jfed.config import Config
from jfed.core import prng
from jfed.core.errors import require, shown, unknown
from jfed.core.members import Mode, SelectorOptions


@dataclass(frozen=True)
class Point:
    """One setting of a sweep.

    Attributes:
        config: the complete config.
        coords: coordinates that identify it in results: `method`, `mode`, and one entry per swept setting.
    """

    config: Config
    coords: dict[str, Any] = field(default_factory=dict)


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
        _is_list(schemes) or isinstance(schemes, Mapping),
        f'Schemes must be a list, such as ["uniform"], or a mapping from names to schemes, found {shown(schemes)}.',
    )
    named = schemes.items() if isinstance(schemes, Mapping) else ((None, scheme) for scheme in schemes)
    points = []
    for name, scheme in named:
        by_name = isinstance(scheme, str)
        options = catalog.resolve("selector", scheme, mode)
        label = name or (catalog.canonical_name("selector", scheme) if by_name else catalog.label(options))
        own = mode if by_name and catalog.has_modes(scheme) else "faithful"
        points.append(Point(configs.replace(base, {"selector": options}), {"method": label, "mode": own}))
    return points


def product(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return every point at every combination of the axes; axes that a point's config lacks do not apply to it.

    Args:
        points: points to sweep.
        axes: values by dotted path, such as {"cohort_size": [10, 20, 30]}.

    Raises:
        ConfigError: no point has a setting, or a value does not have its type.
    """
    points, axes = listed(points), _listed_axes(axes)
    _require_known(points, axes)
    swept = []
    for point in points:
        own = {path: values for path, values in axes.items() if configs.has(point.config, path)}
        swept += [_at(point, dict(zip(own, values, strict=True))) for values in itertools.product(*own.values())]
    return swept


def zipped(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return every point at the first values of all axes, at the second ones, and so on.

    Raises:
        ConfigError: the axes differ in length, a point lacks a setting, or a value does not have its type.
    """
    points, axes = listed(points), _listed_axes(axes)
    lengths = {path: len(values) for path, values in axes.items()}
    require(len(set(lengths.values())) <= 1, f"Axes that go together must be equally long, found {lengths}.")
    return [
        _at(point, dict(zip(axes, values, strict=True)))
        for point in points
        for values in zip(*axes.values(), strict=True)
    ]


def changed(points: Sequence[Point], delta: Mapping[str, Any]) -> list[Point]:
    """Return the points with settings changed and the same coordinates; a point that lacks a setting ignores it.

    Raises:
        ConfigError: no point has a setting, a scheme's name or a coordinate determines it, or a value does not have
            its type.
    """
    points = listed(points)
    for path in delta:
        own = {f"selector.{name}" for p in points for name in catalog.set_by_name(p.config.selector)}
        require(
            path not in own and not any(coordinate(path) in p.coords for p in points),
            f"{path} cannot be set here, since the name of a scheme determines it: choose it by schemes or mode.",
        )
    _require_known(points, delta)
    return [
        Point(configs.replace(p.config, {k: v for k, v in delta.items() if configs.has(p.config, k)}), p.coords)
        for p in points
    ]


def listed(points: Iterable[Point]) -> list[Point]:
    """Return points as a list.

    Raises:
        ConfigError: they are no points.
    """
    advice = 'give a list such as jfed.methods(jfed.Config(), ["uniform"]) or [jfed.Point(jfed.Config())]'
    require(_is_list(points), f"Points must be a list, found {shown(points)}: {advice}.")
    points = list(points)
    for point in points:
        require(isinstance(point, Point), f"A point must be a jfed.Point, found {shown(point)}: {advice}.")
        require(
            isinstance(point.coords, Mapping),
            f'The coords of a point must be a mapping, such as {{"method": "mine"}}, found {shown(point.coords)}.',
        )
    return points


def listed_seeds(seeds: Iterable[int | prng.Seeds]) -> list[prng.Seeds]:
    """Return seeds as a list; an int seeds all streams.

    Raises:
        ConfigError: they are no seeds.
    """
    require(
        _is_list(seeds) and not isinstance(seeds, prng.Seeds),
        f"Seeds must be a list of whole numbers or of jfed.seeds(...), such as range(5), found {shown(seeds)}.",
    )
    return [seed if isinstance(seed, prng.Seeds) else prng.seeds(seed) for seed in seeds]


def _listed_axes(axes: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    require(
        isinstance(axes, Mapping),
        f'Axes must be a mapping from settings to lists, such as {{"cohort_size": [10, 20]}}, found {shown(axes)}.',
    )
    found = {path: list(values) if _is_list(values) else [] for path, values in axes.items()}
    for path, values in found.items():
        require(bool(values), f"The axis {path} must be a list of one or more values, found {shown(axes[path])}.")
    return found


def _is_list(values: Any) -> bool:
    """Return whether one can iterate over values, other than the letters of a text or the keys of a mapping."""
    return isinstance(values, Iterable) and not isinstance(values, str | Mapping) and getattr(values, "ndim", 1) > 0


def _require_known(points: Sequence[Point], paths: Iterable[str]) -> None:
    for path in paths:
        configs.require_training([p.config for p in points], path)
        if points and not any(configs.has(p.config, path) for p in points):
            known = {name for p in points for name in configs.beside(p.config, path)}
            raise unknown(f"setting in {path!r}:", coordinate(path), known)


def coordinate(path: str) -> str:
    """Return the name of a setting's coordinate in results: the last part of its path."""
    return path.rpartition(".")[2]


def _at(point: Point, delta: Mapping[str, Any]) -> Point:
    coords = {coordinate(path): configs.settled(coordinate(path), value) for path, value in delta.items()}
    return Point(configs.replace(point.config, delta), point.coords | coords)
