"""The settings of a page: those that differ from the defaults first, and the origin of the results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jfed.report.page.parts import Facts, Grid, Part
from jfed.report.page.words import amount, number, seconds
from jfed.report.tables import Table
from jfed.results import index, load, records, sound, store
from jfed.results.axes import by_value
from jfed.stats.numerals import format_seeds

MOST_SEEDS = 8  # that are named


@dataclass(frozen=True)
class Known:
    """The default and the meaning of a setting.

    Attributes:
        default: value by default, as plain JSON values; `...` where there is none.
        words: meaning, with its unit.
    """

    default: Any = ...
    words: str = ""


@dataclass(frozen=True)
class Origin:
    """The origin of results.

    Attributes:
        configs: settings by the digest of their config, as nested JSON values.
        made: provenance of each file.
        commands: entries of the manifest, the oldest first.
    """

    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    made: tuple[Mapping[str, Any], ...] = ()
    commands: tuple[Mapping[str, Any], ...] = ()

    @property
    def flat(self) -> dict[str, dict[str, Any]]:
        """Return the settings by dotted path."""
        return {name: {path: value for path, _, value in walk(config)} for name, config in self.configs.items()}


def origin(out: Path, home: Path) -> Origin:
    """Return where results come from; a damaged manifest counts as none.

    Args:
        out: `--out` of an experiment, or one of its result files.
        home: the former.
    """
    files = [out] if out.is_file() else store.files(out)
    found = index.survey(home, [file for file in files if file.suffix == ".npz"], set_aside=False, with_arrays=True)
    try:
        commands = tuple(records.manifest(home))
    except (OSError, ValueError):
        commands = ()
    return Origin(
        configs={kind["about"]["config"]: kind["what"]["config"] for kind in found.kinds.values()},
        made=tuple(part.provenance for part in found.parts.values()),
        commands=commands,
    )


def walk(node: Mapping[str, Any], path: str = "") -> list[tuple[str, str, Any]]:
    """Return dotted path, key among the known settings (class and name) and value of each setting."""
    found = []
    for name, value in node.items():
        if name == "":
            continue
        if isinstance(value, dict) and "" in value:
            found += walk(value, f"{path}{name}.")
        else:
            found.append((path + name, f"{node.get('', '')}.{name}", value))
    return found


def facts(results: Any, about: Origin) -> Facts:
    """Return the facts about runs, machine and versions."""
    schemes, seeds = set(load.schemes(results)), np.unique(results["seed"].values)
    broken = int(sound.failed(results).sum())
    runs = results.sizes["run"]
    rows = [
        ("runs", f"{amount(runs, 'run')} of {amount(len(schemes), 'scheme')} on {amount(len(seeds), 'seed')}"),
        ("failed", f"{broken} of them, whose model is no longer finite or whose loss exploded" if broken else "none"),
        ("rounds", amount(results.sizes["round"], "round").removesuffix(" rounds").removesuffix(" round")),
        ("clients", amount(results.sizes["client"], "client").removesuffix(" clients").removesuffix(" client")),
        ("world", _said(results["world"].values)),
        ("data set", _said(results["dataset"].values).replace("none", "none: nothing is trained")),
        ("precision", _said(results["precision"].values) if "precision" in results.coords else ""),
        ("made", _dates([str(part.get("date", "")) for part in about.made])),
        ("time taken", _time(about)),
        ("device", _said([f"{part.get('num_devices', 1)} × {part.get('device', '?')}" for part in about.made])),
        ("machine", _said([part.get("machine", "") for part in about.made])),
        ("versions", _said([_versions(part) for part in about.made])),
        ("commit of jfed", _said([part.get("commit") or "" for part in about.made])),
    ]
    return Facts(tuple((name, value) for name, value in rows if value))


def _said(values: Any) -> str:
    return "; ".join(sorted({str(value) for value in values} - {""}))


def _dates(dates: Sequence[str]) -> str:
    known = sorted(date[:16].replace("T", " ") for date in dates if date)
    return "" if not known else " to ".join(dict.fromkeys((known[0], known[-1]))) + " UTC"


def _time(about: Origin) -> str:
    spent = [entry["seconds"] for entry in about.commands if isinstance(entry.get("seconds"), int | float)]
    return f"{seconds(sum(spent))} in {amount(len(spent), 'command')}, compiling included" if spent else ""


def _versions(part: Mapping[str, Any]) -> str:
    versions = {"Python": part.get("python", ""), **part.get("versions", {})}
    return ", ".join(
        f"{name} {versions[name]}" for name in ("jfed", *sorted(set(versions) - {"jfed"})) if name in versions
    )


def parts(results: Any, about: Origin, known: Mapping[str, Known]) -> list[Part]:
    """Return the table of schemes, then the common settings: those unlike the defaults, and the others folded."""
    used = {name: config for name, config in about.configs.items() if name in set(results["config"].values)}
    found = [Part("", (Grid(_schemes(results, used, known)),))]
    if not used:
        return found
    walks = [{path: (key, value) for path, key, value in walk(config)} for config in used.values()]
    paths = dict.fromkeys(path for one in walks for path in one if not path.startswith("selector."))
    unlike, like = [], []
    for path in paths:
        own = [one[path] for one in walks if path in one]
        about_it = known.get(own[0][0], Known())
        values = {json.dumps(value): value for _, value in own}
        same = len(values) == 1 and len(own) == len(walks) and own[0][1] == about_it.default
        row = (path, "; ".join(sorted(map(number, values.values()), key=by_value)), _default(about_it), about_it.words)
        (like if same else unlike).append(row)
    titles = {"Settings that differ from the defaults": unlike, "Settings as by default": like}
    for title, rows in titles.items():
        if rows:
            found.append(Part(f"{title} ({len(rows)})", (Grid(_settings(title, rows)),), folded=rows is like))
    return found


def _default(known: Known) -> str:
    return "-" if known.default is ... else number(known.default)


def _settings(title: str, rows: Sequence[tuple[str, str, str, str]]) -> Table:
    columns = ("setting", "value", "by default", "meaning")
    kept = [j for j in range(4) if j < 2 or any(row[j] not in ("", "-") for row in rows)]
    cells = tuple(tuple(row[j] for j in kept) for row in rows)
    return Table("", tuple(columns[j] for j in kept), "l" * len(kept), cells, (),
                 data=pd.DataFrame(rows, columns=pd.Index(columns)))  # fmt: skip


def _schemes(results: Any, used: Mapping[str, Mapping[str, Any]], known: Mapping[str, Known]) -> Table:
    """Return the table of schemes: their settings, and the seeds that are done, failed and missing."""
    labels, seeds = load.schemes(results), results["seed"].values
    broken = sound.failed(results)
    rows = []
    for label in dict.fromkeys(labels):
        own = labels == label
        done, failed = sorted(set(seeds[own].tolist())), sorted(set(seeds[own & broken].tolist()))
        missing = sorted(set(seeds.tolist()) - set(done))
        configs = [used[name] for name in dict.fromkeys(results["config"].values[own]) if name in used]
        rows.append((label, _ranges(done), _seeds(failed), _seeds(missing), *_of_scheme(configs, known)))
    columns = ("scheme", "seeds done", "failed", "missing", "settings")
    kept = [j for j in range(5) if j < 2 or any(row[j] not in ("", "-") for row in rows)]
    cells = tuple(tuple(row[j] for j in kept) for row in rows)
    return Table("Schemes", tuple(columns[j] for j in kept), "l" * len(kept), cells, (),
                 data=pd.DataFrame(rows, columns=pd.Index(columns)))  # fmt: skip


def _of_scheme(configs: Sequence[Mapping[str, Any]], known: Mapping[str, Known]) -> tuple[str]:
    values: dict[str, dict[str, None]] = {}
    for config in configs:
        for path, _, value in walk(config.get("selector", {})):
            values.setdefault(path, {})[number(value)] = None
    told = {path: " or ".join(sorted(all_of, key=by_value)) for path, all_of in values.items()}
    return (", ".join(f"{path} = {all_of}" for path, all_of in told.items()) or "-",)


def _seeds(seeds: Sequence[Any]) -> str:
    return f"{len(seeds)}: {format_seeds(tuple(seeds), MOST_SEEDS)}" if seeds else "-"


def _ranges(seeds: Sequence[Any]) -> str:
    """Return seeds as their number, with the first and the last of consecutive ones."""
    whole = len(seeds) > 2 and seeds == list(range(int(seeds[0]), int(seeds[0]) + len(seeds)))
    return f"{len(seeds)}: {seeds[0]} to {seeds[-1]}" if whole else _seeds(seeds)
