"""Coordinates know the paths of their settings, and their values are sorted as numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from jfed.results import axes
from jfed.results.axes import by_value


def path_of(name, config, *told):
    """Return the path of a coordinate with these values in runs of these configs."""
    whats = [{"config": one, "code": {}, "data": None, "precision": "", "backend": "", "engine": 7} for one in config]
    rows = []
    for what, value in zip(whats, told, strict=True):
        part = SimpleNamespace(runs=[SimpleNamespace(kind="k")], kinds={"k": {"what": what}})
        part.runs[0].kind = str(len(rows))
        part.kinds = {str(len(rows)): {"what": what}}
        rows.append(SimpleNamespace(part=part, at=0, coords={name: value}))
    dataset = xr.Dataset(coords={name: ("run", np.arange(len(rows)))})
    return axes.paths(axes.with_paths(dataset, rows)).get(name)


def config(beta, momentum, rates=(0.1, 1)):
    return {"selector": {"": "S", "beta": beta}, "training": {"algorithm": {"": "A", "beta": momentum}},
            "environment": {"": "E", "rates": list(rates)}}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "told", "path"),
    [
        ("beta", (1.0, 2.0), "selector.beta"),
        ("beta", ("1.0", "2.0"), "selector.beta"),
        ("beta", (0.5, 0.5), "training.algorithm.beta"),
        ("beta", (1.0, 0.5), None),  # neither has both values
        ("rates", ("(0.1, 1.0)", "(0.1, 1.0)"), "environment.rates"),
        ("environment", ("volatility", "wireless"), "environment"),
        ("mine", (1, 2), None),
    ],
)
def test_the_path_is_that_of_the_setting_with_these_values(name, told, path):
    assert path_of(name, [config(1, 0.5), config(2, 0.5)], *told) == path


def test_an_infinite_setting_has_its_path_too():
    assert path_of("beta", [config("inf", 0.5), config(1, 0.5)], float("inf"), 1.0) == "selector.beta"


def test_values_leave_gaps_out():
    found = xr.Dataset(coords={"a": ("run", [10.0, np.nan, 2.0, 2.0]), "b": ("run", ["10", "", "inc", "9"])})
    assert axes.values(found, "a") == [2.0, 10.0] and axes.values(found, "b") == ["9", "10", "inc"]


@pytest.mark.parametrize(
    ("values", "ordered"),
    [([10, 2, 0.5], [0.5, 2, 10]), (["inc", "10", "2"], ["2", "10", "inc"]), (["b", "a"], ["a", "b"])],
)
def test_settings_are_sorted_by_value(values, ordered):
    assert sorted(values, key=by_value) == ordered
