"""One experiment's settings: frozen dataclasses with defaults, deltas by dotted path, and a canonical hash.

A `Config` is a world, a scheme and, perhaps, training; a run is a config and a seed. Fields declared `static` (and
sizes) shape the compiled program, everything else is dynamic.
"""

import dataclasses
import hashlib
import json
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jfed import catalog
from jfed.algorithms.deadline import Reading
from jfed.core.errors import require, unknown
from jfed.core.options import fits, hints, typed
from jfed.core.types import Problem
from jfed.data.arrays import from_file
from jfed.data.partition import NATURAL

log = logging.getLogger("jfed")


@dataclass(frozen=True)
class Training:
    """What the clients learn. The defaults are E3CS's (Table I), on the digits that ship with jfed."""

    dataset: Any = "digits"
    """A name, the path of an npz file, `jfed.arrays(...)`, or options on `jfed.DataOptions`."""
    partition: str | None = None
    """iid, primary (one label makes up 80 % of a client's images), dirichlet, few_labels, wang_case, or natural (each
    client is an owner of examples). None: natural where the data set has owners, else primary."""
    partition_options: tuple[tuple[str, float | tuple[float, ...]], ...] = ()
    """Such as (("share", 0.8),), (("alpha", 0.5),), (("num_labels", (5, 5, 1, 1)),) or (("min_samples", 20),)."""
    samples_per_client: int | tuple[int, ...] | None = None
    """Examples of each client, before its test part is set aside; in the natural partition the most that it takes of
    its owner's. None: 500, or in the natural partition all."""
    test_fraction: float = 0.1
    """Share of a client's images that it keeps for testing."""
    test_set: Literal["reserved", "official"] = "reserved"
    """What accuracy is measured on: the union of what clients set aside, or the data set's own test images."""
    model: Any = "linear"
    """A name, or options on `jfed.ModelOptions`."""
    algorithm: Any = "fedavg"
    """A name, or options on `jfed.AlgorithmOptions`."""
    batch_size: int = 40
    average_over: Reading = "all"
    """Who counts in the average: all (the global model stands in), selected or returned; or unscaled, as in Eiffel."""
    final_model: Literal["last", "best", "mean"] = "last"
    """Which model is tested: the last one, the best so far by what clients estimate (the algorithm must do so), or the
    mean of those after each round."""
    missing: InitVar[Any] = None
    """The former name of `average_over`."""
    returns: InitVar[Any] = None
    """The former name of `final_model`."""

    def __post_init__(self, missing: Any, returns: Any) -> None:
        """Put options in the place of names."""
        for old, value in (("missing", missing), ("returns", returns)):
            if value is not None:
                _say_renamed(old)
                object.__setattr__(self, RENAMED[old], value)
        _resolve(self, "dataset", "model", "algorithm")


@dataclass(frozen=True)
class Config:
    """One experiment, without its seed. The defaults are E3CS's numerical setting."""

    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    eval_every: int = 1
    """The model is evaluated every so many rounds, and after the last."""
    selector: Any = "e3cs-0.5"
    """A name, or options on `jfed.SelectorOptions`."""
    environment: Any = "volatility"
    """A name, or options on `jfed.EnvironmentOptions`."""
    controller: Any = "epochs"
    """A name, or options on `jfed.ControllerOptions`."""
    training: Training | None = None
    """None is a selection-only run."""

    def __post_init__(self) -> None:
        """Put options in the place of names."""
        _resolve(self, "selector", "environment", "controller")


SAMPLES = 500
"""Examples of each client where nothing says otherwise: E3CS's number."""
RENAMED = {"missing": "average_over", "returns": "final_model"}


def _say_renamed(old: str) -> None:
    log.warning(f"training.{old} is called training.{RENAMED[old]} now; the old name is still read.")


def _resolve(node: Any, *rooms: str) -> None:
    for room in rooms:
        object.__setattr__(node, room, resolve(room, getattr(node, room)))


def resolve(room: str, given: Any) -> Any:
    """Return options from a name, from options themselves or, for a data set, from the path of an npz file.

    Raises:
        ConfigError: an unknown name, or options of another room.
        DataError: a file that holds no data set.
    """
    if room == "dataset" and isinstance(given, str | os.PathLike) and Path(given).suffix == ".npz":
        return from_file(Path(given))
    return catalog.resolve(room, given)


# -------------------------------------------------------------------------------------------------- deltas


def problem(config: Config) -> Problem:
    """Return what every member may need to know before a run starts."""
    world = config.environment
    known = Problem(
        num_clients=config.num_clients,
        cohort_size=config.cohort_size,
        num_rounds=config.num_rounds,
        availability=world.expected_availability(),
        learning_rate=float("nan") if config.training is None else config.training.algorithm.learning_rate,
        demand=world.demand_range(),
        costs=world.costs(config.num_clients),
    )
    return known._replace(first_cohort=config.selector.first_cohort(known))


def resources(config: Config) -> int:
    """Return how many types of resources the world counts; time alone, where it says nothing of costs."""
    costs = config.environment.costs(config.num_clients)
    return 1 if costs is None else len(costs.step)


def replace(config: Any, delta: Mapping[str, Any]) -> Any:
    """Return the config with fields at dotted paths changed, such as {"selector.eta": 0.1, "cohort_size": 10}.

    Raises:
        ConfigError: a path names no field, or a value is not of the field's type.
    """
    for path, value in delta.items():
        head, dot, last = path.rpartition(".")
        if head in ("training", "") and last in RENAMED and not has(config, path):
            _say_renamed(last)
            path = head + dot + RENAMED[last]
        config = _replace(config, path.split("."), value, path)
    return config


def has(config: Any, path: str) -> bool:
    """Return whether there is a setting at a dotted path; `selector.eta` is one of E3CS only."""
    return path.rpartition(".")[2] in beside(config, path)


def beside(config: Any, path: str) -> list[str]:
    """Return the names of the settings beside the one that a dotted path names."""
    for name in path.split(".")[:-1]:
        config = getattr(config, name, None)
    return [field.name for field in dataclasses.fields(config)] if dataclasses.is_dataclass(config) else []


def _replace(node: Any, path: list[str], value: Any, whole: str) -> Any:
    require(
        dataclasses.is_dataclass(node),
        f"There is no setting {whole!r}: what comes before {path[0]!r} has no settings of its own.",
    )
    fields = [f.name for f in dataclasses.fields(node)]
    if path[0] not in fields:
        raise unknown(f"setting in {whole!r}:", path[0], fields)
    if len(path) > 1:
        value = _replace(getattr(node, path[0]), path[1:], value, whole)
    else:
        value = plain(value)
        if path[0] in catalog.ROOMS and isinstance(node, Config | Training):
            value = resolve(path[0], value)
        _require_type(node, path[0], value, whole)
    return dataclasses.replace(node, **{path[0]: value})


def plain(value: Any) -> Any:
    """Return a NumPy scalar, such as an axis made by `numpy.arange` holds, as Python's number."""
    return value.item() if isinstance(value, np.generic) else value


def _require_type(node: Any, name: str, value: Any, whole: str) -> None:
    hint = hints(type(node))[name]
    wanted = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
    require(fits(value, hint), f"{whole} must be {wanted}, found {value!r}.")


# ---------------------------------------------------------------------------------------------------- hash


def canonical(node: Any) -> Any:
    """Return plain JSON values: dataclasses as {"": their full name, field: ...}, but for fields never compared."""
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        kind = f"{type(node).__module__}.{type(node).__qualname__}"
        return {"": kind} | {f.name: canonical(getattr(node, f.name)) for f in dataclasses.fields(node) if f.compare}
    if isinstance(node, Mapping):
        return {str(k): canonical(v) for k, v in node.items()}
    if isinstance(node, list | tuple):
        return [canonical(v) for v in node]
    if isinstance(node, float):
        return int(node) if node.is_integer() else node if math.isfinite(node) else repr(node)  # 0.0 is 0
    return node


def digest(node: Any) -> str:
    """Return 16 hexadecimal digits that name a config: equal settings have equal digests on every machine."""
    text = json.dumps(canonical(node), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# -------------------------------------------------------------------------------------------------- checks


def check(config: Config) -> None:
    """Refuse what cannot be run, in one sentence. Members check their own options in their `params`."""
    _check_types(config, "")
    k, num_clients = config.cohort_size, config.num_clients
    require(num_clients >= 1, f"There must be at least one client, found K = {num_clients}.")
    require(k >= 1, f"At least one client must be selected each round, found k = {k}.")
    require(k <= num_clients, f"Cannot select k = {k} of K = {num_clients} clients.")
    require(config.num_rounds >= 1, f"There must be at least one round, found T = {config.num_rounds}.")
    require(config.eval_every >= 1, f"eval_every must be at least 1, found {config.eval_every}.")
    if config.training is not None:
        size = config.training.batch_size
        require(size >= 1, f"The batch size must be at least 1, found {size}.")


def _check_types(node: Any, path: str) -> None:
    """Refuse a field that is not of its type, however the config was made."""
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if f.name in catalog.ROOMS and isinstance(node, Config | Training):
            resolve(f.name, value)
        else:
            _require_type(node, f.name, value, path + f.name)
        if dataclasses.is_dataclass(value) and f.compare:
            _check_types(value, f"{path}{f.name}.")


def normal(config: Config) -> Config:
    """Return the config with defaults that hang on the data set filled in, and each number cast by its annotation.

    So that 1 and 1.0, and a default and the same value, are one setting.
    """
    config = typed(config)
    members = {room: typed(getattr(config, room)) for room in ("selector", "environment", "controller")}
    if (training := config.training) is not None:
        training = typed(training)
        own = {room: typed(getattr(training, room)) for room in ("dataset", "model", "algorithm")}
        members["training"] = dataclasses.replace(training, **own, **_dealt(training))
    return dataclasses.replace(config, **members)


def _dealt(training: Training) -> dict[str, Any]:
    """Return the partition and the number of examples that a training means, with the defaults filled in."""
    default = NATURAL if training.dataset.has_owners() else "primary"
    partition = default if training.partition is None else training.partition
    samples = SAMPLES if training.samples_per_client is None and partition != NATURAL else training.samples_per_client
    return {"partition": partition, "samples_per_client": samples}
