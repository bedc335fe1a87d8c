"""Sweeps: points (a config and the coordinates by which results name it), by product and by zip."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jfed import config as configs
from jfed.config import Config, Mode
from jfed.errors import require


@dataclass(frozen=True)
class Point:
    """One setting of a sweep.

    Attributes:
        config: the whole of it.
        coords: how results name it: `method`, `mode`, and one entry per swept setting.
    """

    config: Config
    coords: dict[str, Any] = field(default_factory=dict)


def methods(base: Config, names: Iterable[str], mode: Mode = "faithful") -> list[Point]:
    """One point per named scheme, in the world of `base`.

    Raises:
        ConfigError: an unknown scheme.
    """
    return [
        Point(
            configs.replace(base, {"selector": configs.method(name, mode)}),
            {"method": configs.canonical_name(name), "mode": mode if configs.has_modes(name) else "faithful"},
        )
        for name in names
    ]


def product(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Every point at every combination of settings.

    Args:
        points: where to start.
        axes: settings by dotted path, such as {"cohort_size": [10, 20, 30]}.
    """
    return [
        _at(point, dict(zip(axes, values, strict=True)))
        for point in points
        for values in itertools.product(*axes.values())
    ]


def zipped(points: Sequence[Point], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Every point at the first values of all axes, at the second ones, and so on."""
    lengths = {path: len(values) for path, values in axes.items()}
    require(len(set(lengths.values())) <= 1, f"Axes that go together must be equally long, found {lengths}.")
    return [
        _at(point, dict(zip(axes, values, strict=True)))
        for point in points
        for values in zip(*axes.values(), strict=True)
    ]


def _at(point: Point, delta: Mapping[str, Any]) -> Point:
    coords = {path.rpartition(".")[2]: configs.plain(value) for path, value in delta.items()}
    return Point(configs.replace(point.config, delta), point.coords | coords)
