"""Sweeps: points (a config and the coordinates by which results name it), by product and by zip."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jfed import config as configs
from jfed import schemes
from jfed.config import Config
from jfed.errors import require, unknown

NAMED = ("selector.sampler", "selector.clip_exponent", "selector.form")
"""Settings that are part of a named scheme."""


@dataclass(frozen=True)
class Point:
    """One setting of a sweep.

    Attributes:
        config: the whole of it.
        coords: how results name it: `method`, `mode`, and one entry per swept setting.
    """

    config: Config
    coords: dict[str, Any] = field(default_factory=dict)


def methods(base: Config, names: Iterable[str], mode: schemes.Mode = "faithful") -> list[Point]:
    """One point per named scheme, in the world of `base`.

    Raises:
        ConfigError: an unknown scheme.
    """
    return [
        Point(
            configs.replace(base, {"selector": schemes.method(name, mode)}),
            {"method": schemes.canonical_name(name), "mode": mode if schemes.has_modes(name) else "faithful"},
        )
        for name in names
    ]


def product(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Every point at every combination of settings; a setting of one scheme leaves the others as they are.

    Args:
        points: where to start.
        axes: settings by dotted path, such as {"cohort_size": [10, 20, 30]}.

    Raises:
        ConfigError: a setting that no point has, or a value that does not fit.
    """
    _require_known(points, axes)
    swept = []
    for point in points:
        own = {path: values for path, values in axes.items() if configs.has(point.config, path)}
        swept += [_at(point, dict(zip(own, values, strict=True))) for values in itertools.product(*own.values())]
    return swept


def zipped(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Every point at the first values of all axes, at the second ones, and so on."""
    lengths = {path: len(values) for path, values in axes.items()}
    require(len(set(lengths.values())) <= 1, f"Axes that go together must be equally long, found {lengths}.")
    return [
        _at(point, dict(zip(axes, values, strict=True)))
        for point in points
        for values in zip(*axes.values(), strict=True)
    ]


def changed(points: Sequence[Point], delta: Mapping[str, Any]) -> list[Point]:
    """The points with settings changed and not named by them; a setting of one scheme leaves the others as they are.

    Raises:
        ConfigError: a setting that no point has, that a scheme's name or a coordinate stands for, or a value that does
            not fit.
    """
    for path in delta:
        stands = [schemes.number_of(str(p.coords.get("method", ""))) for p in points]
        require(
            path not in (*NAMED, *(f"selector.{name}" for name in stands))
            and not any(coordinate(path) in p.coords for p in points),
            f"{path} is what a scheme's name stands for here: choose it by the schemes or the mode.",
        )
    _require_known(points, delta)
    return [
        Point(configs.replace(p.config, {k: v for k, v in delta.items() if configs.has(p.config, k)}), p.coords)
        for p in points
    ]


def _require_known(points: Sequence[Point], paths: Iterable[str]) -> None:
    for path in paths:
        if points and not any(configs.has(p.config, path) for p in points):
            known = {name for p in points for name in configs.beside(p.config, path)}
            raise unknown(f"setting in {path!r}:", coordinate(path), known)


def coordinate(path: str) -> str:
    """The name under which results hold a swept setting."""
    return path.rpartition(".")[2]


def _at(point: Point, delta: Mapping[str, Any]) -> Point:
    coords = {coordinate(path): configs.plain(value) for path, value in delta.items()}
    return Point(configs.replace(point.config, delta), point.coords | coords)
