"""Commands that make the results again, and the words to cite them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from jfed.report.page.parts import Code, Part, Prose
from jfed.report.page.settings import Known, Origin
from jfed.results import axes, load

MOST_POINTS = 300  # that are written out
NAMES = {"jfed.config.Config": "jfed.Config", "jfed.config.Training": "jfed.Training"}
WORDS = {"nan", "inf", "-inf"}  # of numbers that JSON does not have


def parts(results: Any, about: Origin, known: Mapping[str, Known]) -> list[Part]:
    """Return the commands that made the results if they are recorded, and the settings as code."""
    commands = dict.fromkeys(str(entry["command"]) for entry in about.commands if entry.get("command"))
    blocks: list[Any] = []
    if commands:
        blocks.append(Code("On the command line", "\n".join(commands), "again.sh"))
    points = _points(results, about)
    if 0 < len(points) <= MOST_POINTS:
        blocks.append(Code("In Python", code(points, seeds(results), known), "again.py"))
    elif points:
        blocks.append(Prose((f"The settings of all {len(points)} points are in the results' manifest.json.",)))
    return [Part("Run this again", tuple(blocks)), Part("Cite", (Code("BibTeX", citation(about), "jfed.bib"),))]


def _points(results: Any, about: Origin) -> list[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Return config and coordinates of each point of the results."""
    names = ["method", "mode", *dict.fromkeys((*load.settings(results), *axes.paths(results)))]
    found: dict[str, tuple[Mapping[str, Any], dict[str, Any]]] = {}
    columns = {name: results[name].values.tolist() for name in names}
    for i, digest in enumerate(results["config"].values.tolist()):
        coords = {name: columns[name][i] for name in names}
        coords = {name: value for name, value in coords.items() if value == value and value != ""}
        if digest in about.configs:
            own = {k: v for k, v in coords.items() if k not in ("world", "dataset")}
            found.setdefault(json.dumps([digest, own]), (about.configs[digest], own))
    return list(found.values())


def seeds(results: Any) -> str:
    """Return the seeds of the results as an expression in Python."""
    own = [results[name].values for name in load.SEEDS if name in results.coords]
    if all((one == own[0]).all() for one in own):
        known = np.unique(own[0]).tolist()
        whole = known == list(range(len(known)))
        return f"range({len(known)})" if whole else str(known)
    rows = sorted({tuple(int(x) for x in row) for row in zip(*own, strict=True)})
    return f"[jfed.seeds(*row) for row in {rows}]"


def code(points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], seeds: str, known: Mapping[str, Known]) -> str:
    """Return a script that runs points again; settings as by default are left out.

    Args:
        points: config, as nested JSON values, and coordinates of each.
        seeds: the seeds, as an expression.
        known: defaults by class and name.
    """
    outside = sorted({name.rpartition(".")[0] for config, _ in points for name in _classes(config)} - {""})
    imports = "".join(f"import {name}\n" for name in outside if not name.startswith("jfed."))
    first = points[0][0]
    same = {name: value for name, value in first.items() if all(name in c and c[name] == value for c, _ in points)}
    base = _value({"": first[""], **same}, known, lines=True)
    lines = []
    for config, coords in points:
        own = [f'"{name}": {_value(value, known)}' for name, value in config.items() if name and name not in same]
        lines.append(f"    jfed.Point(jfed.replace(base, {{{', '.join(own)}}}), {dict(coords)!r}),\n")
    run = f'results = jfed.run(points, seeds={seeds}, out="out/again")\n'
    return f"import jfed\n{imports}\nbase = {base}\npoints = [\n{''.join(lines)}]\n{run}"


def _classes(node: Any) -> list[str]:
    if not isinstance(node, dict):
        return []
    return [*([node[""]] if "" in node else []), *(name for value in node.values() for name in _classes(value))]


def _value(node: Any, known: Mapping[str, Known], lines: bool = False) -> str:
    """Return an expression for a setting; with `lines`, each argument of a class is on a line of its own."""
    if isinstance(node, dict) and "" in node:
        kind = node[""]
        told = {name: value for name, value in node.items() if name}
        given = {n: v for n, v in told.items() if known.get(f"{kind}.{n}", Known()).default != v or isinstance(v, dict)}
        arguments = [f"{name}={_value(value, known)}" for name, value in given.items()]
        inside = "".join(f"\n    {one}," for one in arguments) + "\n" if lines and arguments else ", ".join(arguments)
        return f"{NAMES.get(kind, kind)}({inside})"
    if isinstance(node, list):
        return f"({''.join(f'{_value(one, known)}, ' for one in node)})".replace(", )", ",)")
    return f"float({node!r})" if isinstance(node, str) and node in WORDS else repr(node)


def citation(about: Origin) -> str:
    """Return the BibTeX entry of jfed, of the version that made the results."""
    versions = {part.get("versions", {}).get("jfed") for part in about.made} - {None}
    version = " and ".join(sorted(map(str, versions))) or metadata.version("jfed")
    commits = sorted({str(part["commit"]) for part in about.made if part.get("commit")})
    note = f",\n  note = {{commit {', '.join(commits)}}}" if commits else ""
    return (
        "@software{jfed,\n  title = {jfed: A {JAX} engine for experiments on client selection in federated learning},\n"
        f"  author = {{{{The jfed authors}}}},\n  version = {{{version}}}{note},\n}}\n"
    )
