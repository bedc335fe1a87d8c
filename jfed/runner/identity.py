"""The identity of a run: everything that decides its numbers, but not how it is computed or what it is called."""

import functools
import logging
import platform
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jfed import catalog
from jfed import config as configs
from jfed.config import Config
from jfed.core import code, prng
from jfed.core.errors import ConfigError
from jfed.core.options import parts
from jfed.engine.spec import Spec, build
from jfed.engine.version import ENGINE_VERSION
from jfed.results import alike
from jfed.runner import feed
from jfed.runner.site import Site
from jfed.sweep import Point

log = logging.getLogger("jfed")


@dataclass(frozen=True, eq=False)
class Kind:
    """A run without its seeds.

    Attributes:
        id: digest of `what`; unique if the kind is not reusable.
        what: everything that decides the numbers, as plain JSON values.
        about: further facts for the results: digest of the config, world, oracle and data set.
        reusable: whether the source of every member is known, so that a later command can find the results.
    """

    id: str
    what: Mapping[str, Any]
    about: Mapping[str, Any]
    reusable: bool


@dataclass(frozen=True, eq=False)
class Run:
    """One run: a point, its seeds and its kind."""

    point: Point
    seeds: prng.Seeds
    kind: Kind

    @functools.cached_property
    def id(self) -> str:
        """The run's identity, equal on all machines for runs that compute the same."""
        return configs.digest([self.kind.id, [int(seed) for seed in self.seeds]])


def kind_of(config: Config, spec: Spec, data_dir: str | None, site: Site) -> Kind:
    """Return the kind of a run.

    Args:
        config: config in normal form.
        spec: static half of the config.
        data_dir: directory of the data sets.
        site: where it will be computed.
    """
    training = config.training
    members = {room: getattr(config, room) for room in ("selector", "environment", "controller")}
    digests = {room: code.digest(type(options)) for room, options in members.items()}
    for room, options in members.items():
        digests |= {f"{room}.{name}": code.digest(type(getattr(options, name))) for name in parts(options)}
    if training is not None:
        digests |= {room: code.digest(type(getattr(training, room))) for room in ("dataset", "model", "algorithm")}
        digests["partition"] = code.module_digest("jfed.data.partition")
    what = {
        "engine": ENGINE_VERSION,
        "config": configs.canonical(config),
        "data": None if training is None else feed.dataset(training.dataset, data_dir).digest,
        "precision": site.precision,
        "backend": site.backend,
        "code": digests,
    }
    about = {
        "config": configs.digest(config),
        "world": catalog.label(config.environment),
        "oracle": int(build(spec).selector.needs_oracle),
        "dataset": "none" if training is None else feed.dataset(training.dataset, data_dir).name,
    }
    reusable = None not in digests.values()
    return Kind(configs.digest(what if reusable else [what, uuid.uuid4().hex]), what, about, reusable)


def require_same(run: Run, spec: Spec, data_dir: str | None, site: Site) -> None:
    """Check that this process computes the numbers of a run that another process has planned.

    Args:
        run: the run, whose kind comes from the other process.
        spec: static half of its config.
        data_dir: directory of the data sets.
        site: devices of this process.

    Raises:
        ConfigError: the data or the code of a member differ.
        DataError: the data cannot be obtained here.
    """
    planned, own = run.kind.what, kind_of(run.point.config, spec, data_dir, site).what
    unlike = [f"the code of the {_room(room)}" for room in _changed(own, planned)]
    if own["data"] != planned["data"]:
        assert run.point.config.training is not None
        unlike.insert(0, f"the data set {catalog.label(run.point.config.training.dataset)}")
    if unlike:
        raise ConfigError(
            f"All workers must be the same: {' and '.join(unlike)} on {platform.node()} differ from the driver's."
        )


# ------------------------------------------------------------------------------------------- names of points


def called(points: Sequence[Point], kinds: Sequence[Kind]) -> dict[str, list[dict[str, Any]]]:
    """Return, by kind, the coordinates by which a command calls its points, and the paths left open in their setting.

    The open paths are those whose values differ between the points, which coordinates tell apart, and those that a
    coordinate names.
    """
    told = [alike.facts(kind.what) for kind in kinds]
    paths = dict.fromkeys(path for one in told for path in one)
    varied = {path for path in paths if any(one.get(path, "*") != told[0].get(path, "*") for one in told)}
    found: dict[str, list[dict[str, Any]]] = {}
    for point, kind, one in zip(points, kinds, told, strict=True):
        coords = coordinates(point)
        named = {path for path in one if path.rpartition(".")[2] in coords and _same(coords, path, one[path])}
        found.setdefault(kind.id, []).append({"coords": coords, "open": sorted(varied | named)})
    return found


def _same(coords: Mapping[str, Any], path: str, value: Any) -> bool:
    return configs.canonical(coords[path.rpartition(".")[2]]) == value


def coordinates(point: Point) -> dict[str, Any]:
    """Return the coordinates by which results name a point, as numbers and texts."""
    default = {"method": catalog.label(point.config.selector), "mode": "faithful"}
    return {name: _plain(value) for name, value in (default | point.coords).items()}


def _plain(value: Any) -> Any:
    value = configs.plain(value)
    return value if isinstance(value, str | int | float) else str(value)


# ---------------------------------------------------------------------------------------------- what changed


MAKERS = ("code", "engine", "backend", "precision")


def say_changes(missing: Iterable[Run], stored: Mapping[str, Mapping[str, Any]]) -> None:
    """Warn of schemes that are computed again, by other code or on other devices, and of those never reused.

    Args:
        missing: runs without a stored result.
        stored: kinds of the stored runs, by id.
    """
    before: dict[str, list[Mapping[str, Any]]] = {}
    for what in (told["what"] for told in stored.values()):
        before.setdefault(_but_makers(what), []).append(what)
    changed: dict[str, list[str]] = {}
    elsewhere: dict[str, list[str]] = {}
    unknown: list[str] = []
    for kind, name in {run.kind: str(coordinates(run.point)["method"]) for run in missing}.items():
        others = before.get(_but_makers(kind.what))
        if not kind.reusable:
            unknown.append(name)
        elif others is not None and kind.id not in stored:
            old = min(others, key=lambda what: (_devices(what) != _devices(kind.what), len(_changed(kind.what, what))))
            if _devices(old) != _devices(kind.what):
                elsewhere.setdefault(f"{_devices(kind.what)} in place of {_devices(old)}", []).append(name)
                continue
            rooms = _changed(kind.what, old)
            words = [f"the {_room(room)}" for room in rooms]
            if old["engine"] != kind.what["engine"]:
                words.append(f"the engine (version {old['engine']} then, {kind.what['engine']} now)")
            changed.setdefault(" and ".join(words), []).append(name)
    for words, names in changed.items():
        if words:
            log.warning(f"Computing again, because the code of {words} has changed: {', '.join(dict.fromkeys(names))}.")
    for words, names in elsewhere.items():
        log.warning(
            f"Computing again, on other devices ({words}): {', '.join(dict.fromkeys(names))}. `jfed table`, `jfed plot`"
            " and `jfed report` read what is there."
        )
    if unknown:
        log.warning(
            f"Later commands cannot reuse the results of schemes with a member whose source cannot be read:"
            f" {', '.join(dict.fromkeys(unknown))}. Define its class at the top of a file, or give it a `version`."
        )


def _changed(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Return the rooms whose member had other code before."""
    return [room for room, text in now["code"].items() if before["code"].get(room) != text]


def _room(field: str) -> str:
    return "scheme" if field == "selector" else field


def _devices(what: Mapping[str, Any]) -> str:
    return f"{what['backend']}, {what['precision']}"


def _but_makers(what: Mapping[str, Any]) -> str:
    """Return a digest of what is computed, without what computes it."""
    return configs.digest({name: value for name, value in what.items() if name not in MAKERS})
