"""The results of a unit: its numbers by the names that all results use, and the identities of its runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jfed import config as configs
from jfed.core import code
from jfed.engine.simulate import due
from jfed.results import store
from jfed.results.parts import Part, Stored
from jfed.results.sealed import Arrays
from jfed.runner.units import Unit

PER_ROUND = ("num_selected", "num_succeeded", "expected_succeeded", "num_probed", "num_steps", "round_time_s")


def part(
    unit: Unit, rows: slice, whole: Arrays, shown: Sequence[str], sizes: Any,
    called: Mapping[str, list[dict[str, Any]]], seconds: float,
) -> Part:  # fmt: skip
    """Return a unit's results.

    Args:
        unit: unit that was computed.
        rows: its runs among those of the units computed side by side.
        whole: records and final state by name ("record.num_steps", "state.times_selected").
        shown: names of the values watched in the states of selector and controller.
        sizes: number of images of each client, (runs, K).
        called: names of each kind of run; see `identity.called`.
        seconds: duration of the computation of the units side by side.
    """
    config, spec = unit.config, unit.spec
    rounds = np.arange(1, config.num_rounds + 1)
    variables: dict[str, Any] = {"round": (("round",), rounds)}
    for name in PER_ROUND:
        variables[name] = (("run", "round"), whole[f"record.{name}"][:, rows].T)
    for name in sorted(shown):
        variables[name] = (("run", "round"), whole[f"record.watched.{name}"][:, rows].T)
    for i, name in enumerate(config.environment.spends() if "record.spent" in whole else ()):
        variables[f"world_{name}"] = (("run", "round"), whole["record.spent"][:, rows, i].T)
    for name in ("times_selected", "times_succeeded"):
        variables[name] = (("run", "client"), whole[f"state.{name}"][rows])
    variables["client_class"] = (("run", "client"), np.stack([_classes(r.point.config) for r in unit.runs]))
    if spec.record_selected:
        variables["selected"] = (("run", "round", "byte"), whole["record.selected"][:, rows].swapaxes(0, 1))
    for name in ("broken_round", "ended_round"):
        if f"state.{name}" in whole:
            variables[name] = (("run",), whole[f"state.{name}"][rows])
    if spec.training is not None:
        variables["num_samples"] = (("run", "client"), np.asarray(sizes)[rows])
        evaluated = rounds[due(rounds, config.num_rounds, config.eval_every)]
        variables["eval_round"] = (("eval_round",), evaluated)
        for name in ("loss", "accuracy"):
            variables[f"test_{name}"] = (("run", "eval_round"), whole[f"quality.{name}"][:, rows].T)
            variables[f"client_{name}"] = (("run", "client"), whole[f"final.{name}"][rows])
    kinds = {run.kind.id: run.kind for run in unit.runs}
    return Part(
        arrays={name: np.ascontiguousarray(array) for name, (_, array) in variables.items()},
        dims={name: dims for name, (dims, _) in variables.items()},
        runs=tuple(Stored(run.id, run.kind.id, tuple(int(seed) for seed in run.seeds)) for run in unit.runs),
        kinds={name: {"what": kind.what, "about": kind.about, "called": called[name]} for name, kind in kinds.items()},
        layout={"block_size": unit.block_size, "lane": spec.lane},
        provenance=store.provenance()
        | {"device": str(jax.local_devices()[0].device_kind), "num_devices": len(jax.local_devices())}
        | {"seconds": round(seconds, 3), "engine_code": code.engine_digest()},
    )


def _classes(config: configs.Config) -> np.ndarray:
    return config.environment.client_class(configs.problem(config)).astype(np.int32)
