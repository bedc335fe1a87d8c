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
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Any, Literal

from jfed import catalog
from jfed.algorithms.deadline import Reading
from jfed.core.errors import require, shown, unknown
from jfed.core.options import hints, ordered, plain, require_type, typed
from jfed.core.types import Problem
from jfed.data.arrays import from_file
from jfed.data.partition import NATURAL

log = logging.getLogger("jfed")

Option = float | tuple[float, ...]


@dataclass(frozen=True)
class Training:
    """The clients' data, model and local training; by default those of E3CS (Table I), on the digits of the package.

    Attributes:
        dataset: a name, the path of an npz file, `jfed.arrays(...)`, or options derived from `jfed.DataOptions`.
        partition: iid, primary (one label makes up 80 % of a client's images), dirichlet, few_labels, wang_case, or
            natural (each client is an owner of examples). None: natural where the data set has owners, else primary.
        partition_options: options of the partition, such as {"share": 0.8}, {"alpha": 0.5},
            {"num_labels": (5, 5, 1, 1)}, {"case": 4} or {"min_samples": 20}; kept as a tuple of pairs.
        samples_per_client: number of examples of each client, before its test part is set aside; in the natural
            partition, the maximum. None: 500, or in the natural partition no maximum.
        test_fraction: share of a client's images that it sets aside for testing.
        test_set: test images: reserved (all those that clients set aside) or official (the data set's own).
        model: a name, or options derived from `jfed.ModelOptions`.
        algorithm: a name, or options derived from `jfed.AlgorithmOptions`.
        batch_size: images per local SGD step.
        average_over: clients that count in the average: all (the global model replaces missing ones), selected or
            returned; or unscaled, as in Eiffel.
        final_model: model that is tested: the last one, the best so far by the clients' estimates (which the algorithm
            must make), or the mean of the models after each round.
        missing: former name of `average_over`.
        returns: former name of `final_model`.
    """

    dataset: Any = "digits"
    partition: str | None = None
    partition_options: Mapping[str, Option] | tuple[tuple[str, Option], ...] = ()
    samples_per_client: int | tuple[int, ...] | None = None
    test_fraction: float = 0.1
    test_set: Literal["reserved", "official"] = "reserved"
    model: Any = "linear"
    algorithm: Any = "fedavg"
    batch_size: int = 40
    average_over: Reading = "all"
    final_model: Literal["last", "best", "mean"] = "last"
    missing: InitVar[Any] = None
    returns: InitVar[Any] = None

    def __post_init__(self, missing: Any, returns: Any) -> None:
        """Replace names by the options that they denote, and NumPy's numbers by Python's."""
        for old, value in (("missing", missing), ("returns", returns)):
            if value is not None:
                _say_renamed(old)
                object.__setattr__(self, RENAMED[old], value)
        _settle(self)


@dataclass(frozen=True)
class Config:
    """One experiment, without its seed. The defaults are E3CS's numerical setting.

    Attributes:
        num_clients: K.
        cohort_size: k, clients selected per round.
        num_rounds: T.
        eval_every: number of rounds between evaluations of the model, which is also evaluated after the last round.
        selector: a name, or options derived from `jfed.SelectorOptions`.
        environment: a name, or options derived from `jfed.EnvironmentOptions`.
        controller: a name, or options derived from `jfed.ControllerOptions`.
        training: what the clients learn; None for a selection-only run.
    """

    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    eval_every: int = 1
    selector: Any = "e3cs-0.5"
    environment: Any = "volatility"
    controller: Any = "epochs"
    training: Training | None = None

    def __post_init__(self) -> None:
        """Replace names by the options that they denote, and NumPy's numbers by Python's."""
        _settle(self)


SAMPLES = 500
"""Default of `samples_per_client`: E3CS's number."""
RENAMED = {"missing": "average_over", "returns": "final_model"}
PAIRS = "partition_options"
EXAMPLES = {PAIRS: "names with numbers, such as {'min_samples': 20} or (('min_samples', 20),)"}
HOW_TO_TRAIN = "set training=jfed.Training(...) in Python, or name a data set with --dataset"


def _say_renamed(old: str) -> None:
    log.warning(f"training.{old} is now called training.{RENAMED[old]}; the old name still works.")


def _settle(node: Any) -> None:
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        made = resolve(f.name, value) if f.name in catalog.ROOMS else settled(f.name, value)
        object.__setattr__(node, f.name, made)


def settled(name: str, value: Any) -> Any:
    """Return a setting as configs keep it: with Python's numbers, and options of the partition as pairs."""
    return plain(tuple(value.items()) if name == PAIRS and isinstance(value, Mapping) else value)


def resolve(room: str, given: Any) -> Any:
    """Return the options that a name or, for a data set, the path of an npz file denotes; return options as given.

    Raises:
        ConfigError: the name is unknown, or the options belong to another room.
        DataError: the file holds no data set.
    """
    if room == "dataset" and isinstance(given, str | os.PathLike) and Path(given).suffix == ".npz":
        return from_file(Path(given))
    return catalog.resolve(room, given)


# -------------------------------------------------------------------------------------------------- deltas


def problem(config: Config) -> Problem:
    """Return the facts about a run that its members may need before it starts."""
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
    """Return how many types of resources the world counts; 1 (time) for a world that states no costs."""
    costs = config.environment.costs(config.num_clients)
    return 1 if costs is None else len(costs.step)


def replace(config: Any, delta: Mapping[str, Any]) -> Any:
    """Return the config with fields at dotted paths changed, such as {"selector.eta": 0.1, "cohort_size": 10}.

    A part is changed before its own settings, in whatever order they are given.

    Raises:
        ConfigError: a path names no field, or a value does not have the field's type.
    """
    require(isinstance(delta, Mapping), f'Changes are a mapping, such as {{"cohort_size": 10}}, found {shown(delta)}.')
    require(dataclasses.is_dataclass(config), f"Changes are made to a jfed.Config, found {shown(config)}.")
    for given in ordered(delta):
        path, value = given, delta[given]
        head, dot, last = path.rpartition(".")
        if head in ("training", "") and last in RENAMED and not has(config, path):
            _say_renamed(last)
            path = head + dot + RENAMED[last]
        require_training([config], path)
        config = _replace(config, path.split("."), value, path)
    return config


def require_training(nodes: Iterable[Any], path: str) -> None:
    """Check that not all configs lack training, if a dotted path leads into it."""
    lacking = path.startswith("training.") and all(getattr(node, "training", node) is None for node in nodes)
    require(not lacking, f"There is no setting {path!r} without training: {HOW_TO_TRAIN}.")


def has(config: Any, path: str) -> bool:
    """Return whether there is a setting at a dotted path; `selector.eta`, for one, depends on the scheme."""
    return path.rpartition(".")[2] in beside(config, path)


def beside(config: Any, path: str) -> list[str]:
    """Return the names of all settings at the level of a dotted path's last part; none if that level does not exist."""
    for name in path.split(".")[:-1]:
        config = getattr(config, name, None)
    return [field.name for field in dataclasses.fields(config)] if dataclasses.is_dataclass(config) else []


def _replace(node: Any, path: list[str], value: Any, whole: str) -> Any:
    none = f"There is no setting {whole!r}: the part before {path[0]!r} has no settings of its own."
    require(dataclasses.is_dataclass(node), none)
    fields = [f.name for f in dataclasses.fields(node)]
    require(bool(fields), none)
    if path[0] not in fields:
        raise unknown(f"setting in {whole!r}:", path[0], fields)
    if len(path) > 1:
        value = _replace(getattr(node, path[0]), path[1:], value, whole)
    else:
        room = path[0] in catalog.ROOMS and isinstance(node, Config | Training)
        value = resolve(path[0], value) if room else settled(path[0], value)
        require_type(value, hints(type(node))[path[0]], whole, EXAMPLES.get(path[0], ""))
    return dataclasses.replace(node, **{path[0]: value})


# ---------------------------------------------------------------------------------------------------- hash


def canonical(node: Any) -> Any:
    """Return plain JSON values: dataclasses as {"": full name, field: ...} without their `compare=False` fields."""
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
    """Return 16 hexadecimal digits that identify a config: equal settings have equal digests on every machine."""
    text = json.dumps(canonical(node), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# -------------------------------------------------------------------------------------------------- checks


def check(config: Config) -> None:
    """Check that a config can be run, but for the members' own options, which their `params` check.

    Raises:
        ConfigError: a value has the wrong type or is out of range.
    """
    require(isinstance(config, Config), f"A config must be a jfed.Config, found {shown(config)}.")
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
    """Check that each field has its annotated type, however the config was made."""
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if f.name in catalog.ROOMS and isinstance(node, Config | Training):
            resolve(f.name, value)
        else:
            require_type(value, hints(type(node))[f.name], path + f.name, EXAMPLES.get(f.name, ""))
        if dataclasses.is_dataclass(value) and f.compare:
            _check_types(value, f"{path}{f.name}.")


def normal(config: Config) -> Config:
    """Return the config with defaults that depend on the data set filled in, and each number cast by its annotation.

    This makes 1 and 1.0, or a default and the same value given explicitly, one setting.
    """
    config = typed(config)
    members = {room: typed(getattr(config, room)) for room in ("selector", "environment", "controller")}
    if (training := config.training) is not None:
        training = typed(training)
        own = {room: typed(getattr(training, room)) for room in ("dataset", "model", "algorithm")}
        members["training"] = dataclasses.replace(training, **own, **_dealt(training))
    return dataclasses.replace(config, **members)


def _dealt(training: Training) -> dict[str, Any]:
    """Return the partition and the number of examples per client, with defaults filled in."""
    default = NATURAL if training.dataset.has_owners() else "primary"
    partition = default if training.partition is None else training.partition
    samples = SAMPLES if training.samples_per_client is None and partition != NATURAL else training.samples_per_client
    return {"partition": partition, "samples_per_client": samples}
