"""The verdicts of a page in words, and the tables of comparisons with their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from jfed.comparisons.comparison import Comparisons
from jfed.comparisons.summary import summarise
from jfed.report.formats import file_stem
from jfed.report.memory import remembered
from jfed.report.page import differences
from jfed.report.page.levels import Level
from jfed.report.page.parts import Block, Grid, Part, Prose, Verdicts
from jfed.report.page.words import amount, capital
from jfed.report.sentences import sentences
from jfed.report.tables import comparisons_table, summary_table
from jfed.results.meaning import score_name

Found = Mapping[tuple[int, str], Comparisons]
LOOKS = ("better", "worse")
MOST_OPEN = 3  # problems whose verdicts are open at first
NOTHING = "Nothing is compared: there is one scheme. The tables have each mean with its interval."
RANKS = {"better": 0, "worse": 1, "neutral": 2}
OPEN = ("too few seeds", "not yet decided", "failed runs", "missing runs", "not judged", "open")


def compared(levels: Sequence[Level], choices: Mapping[str, Mapping[str, Any]]) -> Found:
    """Return the comparisons of each level and score that has any.

    Args:
        levels: the runs.
        choices: arguments of `compare` by score.
    """
    every = ((i, metric, level) for i, level in enumerate(levels) for metric in level.metrics)
    made = {(i, metric): level.compared(metric, choices.get(metric, {})) for i, metric, level in every}
    return {key: one for key, one in made.items() if one is not None}


def in_words(levels: Sequence[Level], found: Found) -> list[Part]:
    """Return the verdicts in words: a sentence for each score, and one for each comparison."""
    parts = []
    for i, level in enumerate(levels):
        blocks: list[Block] = []
        for metric in level.metrics:
            if (one := found.get((i, metric))) is not None:
                every = sentences(one)
                blocks.append(Verdicts(capital(score_name(metric)), _groups(one)))
                blocks.append(Prose(every, f"In {amount(len(every), 'sentence')} for a paper"))
        if blocks:
            if level.knobs:
                blocks.insert(0, Prose((" ".join(level.notes),)))
            parts.append(Part(level.title, tuple(blocks), folded=i >= MOST_OPEN))
    return parts or [Part("", (Prose((NOTHING,)),))]


def _groups(found: Comparisons) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return the schemes with each verdict; for all pairs, what each scheme is better than."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        if row.verdict not in LOOKS:
            look = ("no verdict" if row.verdict in OPEN else row.verdict, "neutral")
            name = row.scheme if found.baseline else f"{row.scheme} and {row.reference}"
        elif found.baseline:
            look, name = (f"{row.verdict} than {found.baseline}", row.verdict), row.scheme
        else:
            better, name = (row.scheme, row.reference) if row.verdict == "better" else (row.reference, row.scheme)
            look = (f"{better} is better than", "better")
        groups.setdefault(look, []).append(name)
    order = sorted(groups.items(), key=lambda group: RANKS[group[0][1]])
    return tuple((word, look, tuple(names)) for (word, look), names in order)


def tables(levels: Sequence[Level], found: Found, memory: Path | None) -> list[Part]:
    """Return each level's tables: of comparisons, or, where nothing is compared, of means.

    Args:
        levels: the runs.
        found: from `compared`.
        memory: folder that belongs to the results, where looks are remembered; None to remember nothing.
    """
    if len(levels) > 1 and len({level.schemes for level in levels}) == 1 == len(levels[0].schemes):
        return [Part("", tuple(_of_problems(levels, metric) for metric in levels[0].metrics))]
    parts = []
    for i, level in enumerate(levels):
        blocks: list[Block] = []
        for metric in level.metrics:
            title = capital(", ".join(filter(None, (score_name(metric), level.title))))
            primary, costs = level.metrics[0], ()
            if (one := found.get((i, metric))) is None:
                table = summary_table(summarise(level.frame, metric), title)
            else:
                if memory is not None:
                    primary, costs = remembered(memory, one, [f"{metric} ({level.family})"], primary)
                table = comparisons_table(one, title, primary=primary)
            blocks.append(Grid(replace(table, notes=(*table.notes, *costs, *_notes(level, len(levels))))))
        parts.append(Part(level.title, tuple(blocks), folded=i > 0))
    return parts


def _of_problems(levels: Sequence[Level], metric: str) -> Grid:
    """Return the table of a single scheme, with a row for each problem."""
    rows = [level.frame.assign(scheme=level.title) for level in levels]
    made = summary_table(summarise(pd.concat(rows), metric), f"{capital(score_name(metric))}, {levels[0].schemes[0]}")
    notes = dict.fromkeys(note for level in levels for note in level.notes)
    return Grid(replace(made, columns=("problem", *made.columns[1:]), notes=(*made.notes, *notes)))


def _notes(level: Level, several: int) -> tuple[str, ...]:
    notes = list(level.notes)
    if several > 1:
        notes.append(f"One of {several} problems, each corrected by itself.")
    return tuple(notes)


def intervals(levels: Sequence[Level], found: Found) -> list[Part]:
    """Return the figures of differences."""
    parts = []
    for i, level in enumerate(levels):
        files = {metric: file_stem(f"differences {metric} {level.title}") for metric in level.metrics}
        made = [
            differences.picture(found[i, metric], level.title, files[metric])
            for metric in level.metrics
            if (i, metric) in found
        ]
        if blocks := tuple(picture for picture in made if picture is not None):
            parts.append(Part(level.title, blocks, folded=i > 0))
    return parts
