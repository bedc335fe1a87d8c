"""One experiment's settings: frozen dataclasses with defaults, deltas by dotted path, and a canonical hash.

A `Config` is a world, a scheme and, perhaps, training; a run is a config and a seed. Fields declared `static` (and
sizes) shape the compiled program, everything else is dynamic.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

import numpy as np

from jfed.algorithms import estimating, local_sgd, q_fedavg
from jfed.algorithms.deadline import Reading
from jfed.controllers import CONTROLLERS, epochs
from jfed.envs import ENVIRONMENTS, volatility
from jfed.errors import require, unknown
from jfed.models import cnn, dense, svm
from jfed.options import Member, fits
from jfed.selectors import SELECTORS, e3cs
from jfed.types import Problem


@dataclass(frozen=True)
class Training:
    """What the clients learn. The defaults are E3CS's (Table I), on the digits that ship with jfed."""

    dataset: str = "digits"
    partition: str = "primary"
    """iid, primary (one label makes up 80 % of a client's images), dirichlet, few_labels or wang_case."""
    partition_options: tuple[tuple[str, float | tuple[float, ...]], ...] = ()
    """Such as (("share", 0.8),), (("alpha", 0.5),) or (("num_labels", (5, 5, 1, 1)),)."""
    samples_per_client: int | tuple[int, ...] = 500
    """Images of each client, before its test part is set aside."""
    test_fraction: float = 0.1
    """Share of a client's images that it keeps for testing."""
    test_set: Literal["reserved", "official"] = "reserved"
    """What accuracy is measured on: the union of what clients set aside, or the data set's own test images."""
    model: dense.Options | cnn.Options | svm.Options = field(default_factory=dense.Options)
    algorithm: local_sgd.Options | estimating.Options | q_fedavg.Options = field(default_factory=local_sgd.Options)
    batch_size: int = 40
    missing: Reading = "all"
    """Who counts in the average: all (the global model stands in), selected or returned; or unscaled, as in Eiffel."""
    returns: Literal["last", "best", "mean"] = "last"
    """Which model is tested: the last one, the best so far by what clients estimate (the algorithm must do so), or the
    mean of those after each round."""


@dataclass(frozen=True)
class Config:
    """One experiment, without its seed. The defaults are E3CS's numerical setting."""

    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    eval_every: int = 1
    """The model is evaluated every so many rounds, and after the last."""
    selector: Any = field(default_factory=e3cs.Options)
    environment: Any = field(default_factory=volatility.Options)
    controller: Any = field(default_factory=epochs.Options)
    training: Training | None = None
    """None is a selection-only run."""


def named(room: Mapping[str, Member], options: Any) -> tuple[str, Any]:
    """The name of the member to which these options belong, and the options."""
    for name, member in room.items():
        if type(options) is member.options:
            return name, options
    raise unknown("kind of options", type(options).__module__, (m.options.__module__ for m in room.values()))


# -------------------------------------------------------------------------------------------------- deltas


def problem(config: Config) -> Problem:
    """What every member may need to know before a run starts."""
    name, world = named(ENVIRONMENTS, config.environment)
    member = ENVIRONMENTS[name]
    known = Problem(
        num_clients=config.num_clients,
        cohort_size=config.cohort_size,
        num_rounds=config.num_rounds,
        availability=member.availability(world),
        learning_rate=float("nan") if config.training is None else config.training.algorithm.learning_rate,
        demand=member.demand(world),
        costs=member.costs(world, config.num_clients),
    )
    scheme, options = named(SELECTORS, config.selector)
    return known._replace(first_cohort=SELECTORS[scheme].first_cohort(options, known))


def features(config: Config) -> tuple[str, ...]:
    """Names of what a client reports of itself."""
    name, _ = named(ENVIRONMENTS, config.environment)
    return ENVIRONMENTS[name].features


def resources(config: Config) -> int:
    """How many types of resources the world counts; time alone, where it says nothing of costs."""
    name, world = named(ENVIRONMENTS, config.environment)
    costs = ENVIRONMENTS[name].costs(world, config.num_clients)
    return 1 if costs is None else len(costs.step)


def replace(config: Any, delta: Mapping[str, Any]) -> Any:
    """The config with fields at dotted paths changed, such as {"selector.eta": 0.1, "cohort_size": 10}.

    Raises:
        ConfigError: a path names no field, or a value is not of the field's type.
    """
    for path, value in delta.items():
        config = _replace(config, path.split("."), value, path)
    return config


def has(config: Any, path: str) -> bool:
    """Whether there is a setting at a dotted path; `selector.eta` is one of E3CS only."""
    return path.rpartition(".")[2] in beside(config, path)


def beside(config: Any, path: str) -> list[str]:
    """The settings that there are where a dotted path ends."""
    for name in path.split(".")[:-1]:
        config = getattr(config, name, None)
    return [field.name for field in dataclasses.fields(config)] if dataclasses.is_dataclass(config) else []


def _replace(node: Any, path: list[str], value: Any, whole: str) -> Any:
    require(dataclasses.is_dataclass(node), f"{whole!r} is no setting here: {path[0]!r} has nothing above it.")
    fields = [f.name for f in dataclasses.fields(node)]
    if path[0] not in fields:
        raise unknown(f"setting in {whole!r}:", path[0], fields)
    if len(path) > 1:
        value = _replace(getattr(node, path[0]), path[1:], value, whole)
    else:
        value = plain(value)
        _require_type(node, path[0], value, whole)
    return dataclasses.replace(node, **{path[0]: value})


def plain(value: Any) -> Any:
    """A NumPy scalar, such as an axis made by `numpy.arange` holds, as Python's number."""
    return value.item() if isinstance(value, np.generic) else value


def _require_type(node: Any, name: str, value: Any, whole: str) -> None:
    hint = get_type_hints(type(node))[name]
    wanted = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
    require(fits(value, hint), f"{whole} must be {wanted}, found {value!r}.")


# ---------------------------------------------------------------------------------------------------- hash


def canonical(node: Any) -> Any:
    """Plain JSON values: dataclasses as {"": their module's name, field: ...}."""
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        kind = type(node).__module__.rpartition(".")[2] + "." + type(node).__name__
        return {"": kind} | {f.name: canonical(getattr(node, f.name)) for f in dataclasses.fields(node)}
    if isinstance(node, Mapping):
        return {str(k): canonical(v) for k, v in node.items()}
    if isinstance(node, list | tuple):
        return [canonical(v) for v in node]
    if isinstance(node, float):
        return int(node) if node.is_integer() else node if math.isfinite(node) else repr(node)  # 0.0 is 0
    return node


def digest(node: Any) -> str:
    """16 hexadecimal digits that name a config: equal settings have equal digests on every machine."""
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
    for room, options in (
        (SELECTORS, config.selector),
        (ENVIRONMENTS, config.environment),
        (CONTROLLERS, config.controller),
    ):
        named(room, options)
    if config.training is not None:
        size = config.training.batch_size
        require(size >= 1, f"The batch size must be at least 1, found {size}.")


def _check_types(node: Any, path: str) -> None:
    """Every field is of its type, however the config was made."""
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if dataclasses.is_dataclass(value):
            _check_types(value, f"{path}{f.name}.")
        else:
            _require_type(node, f.name, value, path + f.name)
