"""The page itself: its sections, and the file with everything that it needs."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources as files
from pathlib import Path
from typing import Any

import bokeh
import jinja2
import pandas as pd
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.resources import Resources

from jfed.core.errors import ConfigError
from jfed.core.version import __version__
from jfed.report.formats import file_stem
from jfed.report.kept import kept
from jfed.report.page import again, clients, curves, settings, sweeps, verdicts
from jfed.report.page.levels import DEFAULT, JAIN, Level, of_frame, of_results, plain_columns
from jfed.report.page.parts import Grid, Part, Picture, Prose, Section
from jfed.report.page.style import DASHES, dash
from jfed.report.page.words import amount
from jfed.report.tables import Table
from jfed.results import load, store

SCORES = (*DEFAULT, JAIN)
MOST_LEVELS = 6  # problems whose curves and maps are drawn


def write_report(
    out: str | Path,
    path: str | Path | None = None,
    *,
    results: Any = None,
    metrics: Sequence[str] = (),
    baseline: str | None = "uniform",
    tune_seeds: Sequence[int] = (),
    tuned_by: str | None = None,
    choices: Mapping[str, Mapping[str, Any]] | None = None,
    known: Mapping[str, Any] | None = None,
    claims: Table | None = None,
) -> Path:
    """Write a page about finished results: one HTML file that needs no network.

    Args:
        out: `--out` of an experiment.
        path: file to write; `report.html` in `out` by default.
        results: runs to report, from `jfed.load` or `jfed.run`; all in `out` by default.
        metrics: scores to compare, the primary one first; by default accuracy, models returned and time, as far as
            they differ between runs.
        baseline: method, or scheme as tables have it, that the others are compared with; all pairs are, if it is None
            or was not run.
        tune_seeds: seeds on which each scheme's best point of a sweep of schemes' settings is chosen, the others report
            it; without them all seeds do both, and nothing is judged.
        tuned_by: score by which they are chosen, by default the primary one.
        choices: further arguments of `compare`, by score.
        known: `Known` settings by class and name, such as "jfed.config.Config.num_clients".
        claims: table of verdicts on published claims.

    Returns:
        The path of the file.

    Raises:
        FileNotFoundError: there are no results.
        ConfigError: the runs cannot be compared, or the file cannot be written.
    """
    out = Path(out)
    home = out.parent.parent if out.is_file() else out
    results = load.load(out) if results is None else results
    if not results.sizes["run"]:
        raise ConfigError(f"There are no finished runs in {out}.")
    about, known = settings.origin(out, home), known or {}
    was_run = baseline in results["method"].values.astype(str) or baseline in load.schemes(results)
    with_baseline = baseline if was_run else None
    choices = choices or {}
    first = tuned_by or next(iter(metrics), "")
    higher = choices.get(first, {}).get("higher_is_better")
    levels = of_results(results, metrics, with_baseline, tune_seeds, tuned_by, higher)
    found, marks = verdicts.compared(levels, choices), _marks(levels)
    problems = [*dict.fromkeys(name for level in levels for name in level.problem)]
    sections = [
        Section("verdicts", "In words", tuple(verdicts.in_words(levels, found))),
        Section("settings", "What was run", (Part("", (settings.facts(results, about),)),
                                             *settings.parts(results, about, known))),
        Section("tables", "Comparisons", tuple(verdicts.tables(levels, found, home / "tables"))),
        Section("own", "Tables of the command", _own(kept(home))),
        Section("sweep", "Over the sweep", tuple(sweeps.parts(levels, problems, marks, choices))),
        Section("curves", "Over the rounds", tuple(_curves(levels, marks))),
        Section("differences", "Differences with their intervals", tuple(verdicts.intervals(levels, found))),
        Section("clients", "Which clients take part", tuple(_clients(levels, about.flat))),
        Section("claims", "Published claims", () if claims is None else _claims(claims)),
        Section("again", "Run this again, and cite it", tuple(again.parts(results, about, known))),
    ]  # fmt: skip
    data = load.data_words(results)
    seeds = len(set(results["seed"].values.tolist()))
    schemes = len(set(load.schemes(results)))
    lead = f"{amount(schemes, 'scheme')}, {amount(seeds, 'seed')}, {amount(results.sizes['round'], 'round')},"
    lead += f" {amount(results.sizes['client'], 'client')}; {data}"
    return _write(Path(path) if path else home / "report.html", home.resolve().name, lead, sections, levels, marks)


def write_csv_report(
    frame: pd.DataFrame, path: str | Path, *, title: str, metrics: Sequence[str], baseline: str | None = None,
    choices: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:  # fmt: skip
    """Write a page about anybody's runs: verdicts, tables and differences.

    Args:
        frame: one row per run, from `read_csv`.
        path: file to write.
        title: title of the page.
        metrics: columns to compare, the primary one first.
        baseline: scheme that the others are compared with; None compares all pairs.
        choices: further arguments of `compare`, by metric.

    Returns:
        The path of the file.

    Raises:
        ConfigError: the file cannot be written.
        ValueError: the frame cannot be compared; see `compare`.
    """
    levels = [of_frame(frame, metrics, baseline)]
    found = verdicts.compared(levels, choices or {})
    sections = [
        Section("verdicts", "In words", tuple(verdicts.in_words(levels, found))),
        Section("tables", "Comparisons", tuple(verdicts.tables(levels, found, None))),
        Section("differences", "Differences with their intervals", tuple(verdicts.intervals(levels, found))),
    ]
    lead = f"{amount(len(levels[0].schemes), 'scheme')}, {amount(len(set(frame['seed'])), 'seed')}"
    return _write(Path(path), title, lead, sections, levels, _marks(levels))


def _marks(levels: Sequence[Level]) -> dict[str, int]:
    """Return a number for the mark of each scheme, the same in all figures."""
    names = [name for level in levels for name in level.schemes]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _curves(levels: Sequence[Level], marks: Mapping[str, int]) -> list[Part]:
    made = [
        Part(level.title, tuple(_named(curves.pictures(level, marks), level)), folded=i > 0)
        for i, level in enumerate(levels[:MOST_LEVELS])
    ]
    return _and_left_out([part for part in made if part.blocks], len(levels))


def _clients(levels: Sequence[Level], configs: Mapping[str, Mapping[str, Any]]) -> list[Part]:
    made = []
    for i, level in enumerate(levels[:MOST_LEVELS]):
        drawn = clients.selections(level, configs, "selections")
        pictures = _named([] if drawn is None else [drawn], level)
        made.append(Part(level.title, (*pictures, Grid(clients.evenness(level))), folded=i > 0))
    return _and_left_out(made, len(levels))


def _own(tables: Sequence[Table]) -> tuple[Part, ...]:
    """Return the tables that the command itself has made, closed at first: some say what others here say."""
    return (Part(amount(len(tables), "table"), tuple(map(Grid, tables)), folded=True),) if tables else ()


def _claims(table: Table) -> tuple[Part, ...]:
    words = table.data["verdict"].value_counts()
    return (Part("", (Prose((f"Verdicts: {', '.join(f'{n} {word}' for word, n in words.items())}.",)), Grid(table))),)


def _named(pictures: Sequence[Picture], level: Level) -> list[Picture]:
    """Return figures whose data have file names of their own on each problem."""
    return [replace(one, file=file_stem(f"{one.file} {level.title}")) for one in pictures]


def _and_left_out(parts: list[Part], levels: int) -> list[Part]:
    if levels > MOST_LEVELS and parts:
        parts.append(Part("", (Prose((f"The first {MOST_LEVELS} of {levels} problems are shown.",)),)))
    return parts


def _write(
    path: Path, title: str, lead: str, sections: Sequence[Section], levels: Sequence[Level], marks: Mapping[str, int]
) -> Path:
    sections = [section for section in sections if section.parts]
    parts = [part for section in sections for part in section.parts]
    pictures = [block for part in parts for block in part.blocks if isinstance(block, Picture)]
    runs = pd.concat([plain_columns(level) for level in levels], ignore_index=True)
    text = _template().render(
        title=title, lead=lead, sections=sections, pictures={id(one): f"figure-{i}" for i, one in enumerate(pictures)},
        items=_script([json_item(one.model, ID(f"figure-{i}")) for i, one in enumerate(pictures)]),
        marks=marks, version=__version__, runs=runs.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
        dashes=[" ".join(map(str, dash(i))) if dash(i) != "solid" else "" for i in range(len(DASHES))], id=id,
        css=_read("page.css"), js=_read("page.js"), **_library(),
    )  # fmt: skip
    with store.writing(path, "The report") as part:
        part.write_text(text, encoding="utf-8")
    return path


def _script(value: Any) -> str:
    """Return JSON that cannot end the script element that it is in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@functools.cache
def _library() -> dict[str, str]:
    """Return the script of Bokeh's figures, without its widgets and tables, and its licence."""
    script = Resources(mode="inline", components=["bokeh"]).js_raw[0]
    license = (files.files("bokeh") / "LICENSE.txt").read_text(encoding="utf-8")
    return {"bokeh": script, "license": license, "bokeh_version": bokeh.__version__}


@functools.cache
def _template() -> jinja2.Template:
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    return made.get_template("page.html")


def _read(name: str) -> str:
    return (files.files("jfed.report.page") / name).read_text(encoding="utf-8")
