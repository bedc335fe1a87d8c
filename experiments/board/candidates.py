"""The settings that are tried for each scheme: the same number for every one.

A scheme is a family of names: `e3cs-0`, `e3cs-0.5`, `e3cs-0.8` and `e3cs-inc` are E3CS with four settings of its own.
With 12 settings to try, E3CS has three client rates for each of these four, and Random, which has none, twelve rates.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import jfed
from jfed import catalog
from jfed.config import Config
from jfed.core.errors import ConfigError, require, unknown
from jfed.sweep import Point

RATES = (0.01, 1.0)  # lowest and highest client rate
BASELINE = "uniform"
LEFT_OUT = ("best", "everybody")  # an allocation, and a cohort of all clients


def families(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the schemes of the leaderboard, each with the names of its own settings; by default all but `LEFT_OUT`.

    Args:
        names: schemes, such as e3cs or uniform, or single settings, such as e3cs-0.5; none for all.

    Raises:
        ConfigError: a scheme is unknown.
    """
    known = {key: entry.name for key, entry in catalog.entries("selector").items()}
    aliases = {alias for name in known.values() for alias in name.aliases}
    found: dict[str, list[str]] = {}
    for key, name in known.items():
        own = [f"{name.name}-{x}" for x in name.examples]
        if not name.number:
            found |= {} if key in aliases else {key: [key]}
        elif name.name in known:  # such as fedcs and fedcs-3: another rule, not another setting
            found |= {one: [one] for one in own}
        else:
            found[name.name] = own
    if not names:
        return {family: own for family, own in found.items() if family not in LEFT_OUT}
    chosen = {}
    for name in dict.fromkeys((BASELINE, *names)):
        if name in found:
            chosen[name] = found[name]
        else:
            try:
                own = catalog.canonical_name("selector", name)
            except ConfigError:
                raise unknown("scheme", name, [*found]) from None
            chosen[own] = [own]
    return chosen


def rates(many: int) -> list[float]:
    """Return client rates from the lowest to the highest, evenly on a logarithmic scale, with two digits each."""
    low, high = RATES
    found = np.geomspace(low, high, many) if many > 1 else [np.sqrt(low * high)]
    return [float(f"{rate:.2g}") for rate in found]


def candidates(base: Config, family: str, names: Sequence[str], num_settings: int) -> list[Point]:
    """Return the points that are tried for a scheme in a problem: at most `num_settings`, and more than half of it.

    The average is over the clients that return, unless the scheme's weights are meant for another reading.

    Args:
        base: the problem.
        family: the scheme.
        names: its settings.
        num_settings: number of points.
    """
    require(
        num_settings >= len(names),
        f"{family} has {len(names)} settings of its own: give --num-settings of at least that many.",
    )
    points = []
    for name in names:
        scheme = catalog.scheme(name)
        delta: dict[str, Any] = {"selector": scheme}
        if reading := scheme.average_over():
            delta["training.average_over"] = reading
        for rate in rates(num_settings // len(names)):
            config = jfed.replace(base, delta | {"training.algorithm.learning_rate": rate})
            points.append(Point(config, {"method": family, "variant": name, "rate": rate}))
    return points
