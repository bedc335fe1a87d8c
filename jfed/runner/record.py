"""What comes out of a unit: its numbers and its runs by the names that every result uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from jfed import catalog
from jfed import config as configs
from jfed.engine.simulate import due
from jfed.engine.spec import build
from jfed.runner import feed
from jfed.runner.checkpoint import Arrays
from jfed.runner.units import Unit

if TYPE_CHECKING:
    import xarray as xr

SET_APART = ("data", "model", "environment")  # seeds that need not follow the run's


def dataset(unit: Unit, rows: slice, whole: Arrays, sizes: Any) -> xr.Dataset:
    """A unit's results.

    Args:
        unit: what was computed.
        rows: of its runs among those that were computed side by side.
        whole: everything recorded, and the final state, by name ("record.num_steps", "state.times_selected").
        sizes: images of each client, (runs, K).
    """
    import xarray as xr

    config, spec = unit.config, unit.spec
    rounds = np.arange(1, config.num_rounds + 1)
    per_round = ("num_selected", "num_succeeded", "expected_succeeded", "num_probed", "num_steps", "round_time_s")
    names = {name: f"record.{name}" for name in per_round}
    watched = {key: re.fullmatch(r"record\.watched\['(\w+)'\]", key) for key in sorted(whole)}
    names |= {match[1]: key for key, match in watched.items() if match}
    variables: dict[str, Any] = {name: (("run", "round"), whole[key][:, rows].T) for name, key in names.items()}
    for name in ("times_selected", "times_succeeded"):
        variables[name] = (("run", "client"), whole[f"state.{name}"][rows])
    variables["client_class"] = (("run", "client"), np.stack([_classes(r.point.config) for r in unit.runs]))
    if spec.record_selected:
        variables["selected"] = (("run", "round", "byte"), whole["record.selected"][:, rows].swapaxes(0, 1))
    for name in ("broken_round", "ended_round"):
        if f"state.{name}" in whole:
            variables[name] = ("run", whole[f"state.{name}"][rows])
    coords: dict[str, Any] = {"round": rounds}
    if spec.training is not None:
        variables["num_samples"] = (("run", "client"), sizes[rows])
        coords["eval_round"] = rounds[due(rounds, config.num_rounds, config.eval_every)]
        for name in ("loss", "accuracy"):
            variables[f"test_{name}"] = (("run", "eval_round"), whole[f"quality.{name}"][:, rows].T)
            variables[f"client_{name}"] = (("run", "client"), whole[f"final.{name}"][rows])
    return xr.Dataset(variables, coords | _run_coords(unit), {"block_size": unit.block_size, "lane": spec.lane})


def _run_coords(unit: Unit) -> dict[str, Any]:
    training, world = unit.config.training, catalog.label(unit.config.environment)
    name = "none" if training is None else feed.dataset(training.dataset, unit.data_dir).name
    coords: dict[str, Any] = {
        "seed": ("run", [int(r.seeds.seed) for r in unit.runs]),
        **{f"{kind}_seed": ("run", [int(getattr(r.seeds, kind)) for r in unit.runs]) for kind in SET_APART},
        "config": ("run", [configs.digest(r.point.config) for r in unit.runs]),
        "world": ("run", [world] * len(unit.runs)),
        "oracle": ("run", [int(build(unit.spec).selector.needs_oracle)] * len(unit.runs)),
        "dataset": ("run", [name] * len(unit.runs)),
    }
    default = {"method": catalog.label(unit.config.selector), "mode": "faithful"}
    names = dict.fromkeys([*default, *(name for r in unit.runs for name in r.point.coords)])
    for name in names:
        coords[name] = ("run", [_plain((default | r.point.coords)[name]) for r in unit.runs])
    return coords


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)


def _classes(config: configs.Config) -> np.ndarray:
    return config.environment.client_class(configs.problem(config)).astype(np.int32)
