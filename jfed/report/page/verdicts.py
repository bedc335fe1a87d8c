"""What the comparisons say: the verdicts in words, and the tables with their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jfed.comparisons.comparison import Comparisons
from jfed.comparisons.summary import summarise
from jfed.report.formats import file_stem
from jfed.report.page import differences
from jfed.report.page.levels import Level
from jfed.report.page.parts import Block, Grid, Part, Prose
from jfed.report.page.words import score_name
from jfed.report.sentences import sentences
from jfed.report.tables import comparisons_table, summary_table

Found = Mapping[tuple[int, str], Comparisons]
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
    parts, several = [], len(levels) > 1
    for (i, metric), one in found.items():
        level = levels[i]
        of = f"{score_name(metric)}{f' ({level.title})' if several and level.title else ''}"
        parts.append(Part("", (Prose((f"{of[0].upper()}{of[1:]}: {_headline(one)}",)),)))
        every = sentences(one)
        parts.append(Part(f"{len(every)} comparisons of {of}, in sentences for a paper", (Prose(every, listed=True),),
                          folded=True))  # fmt: skip
    return parts or [Part("", (Prose(("One scheme was run, or the baseline at several settings: nothing is compared;"
                                      " the tables have each mean with its interval.",)),))]  # fmt: skip


def _headline(found: Comparisons) -> str:
    """Return which schemes are better and worse, and of which nothing is shown."""
    if found.baseline is None:
        return _orders(found)
    groups: dict[str, list[str]] = {}
    for row in found.rows:
        word = "without a verdict" if row.verdict in OPEN else row.verdict
        groups.setdefault(word, []).append(row.scheme)
    first = ("better", "worse")
    words = [f"{', '.join(groups[word])} {word} than {found.baseline}" for word in first if word in groups]
    words += [f"{', '.join(names)}: {word}" for word, names in groups.items() if word not in first]
    return "; ".join(words) + "."


def _orders(found: Comparisons) -> str:
    shown = [row for row in found.rows if row.verdict in ("better", "worse")]
    pairs = [(row.scheme, row.reference)[:: 1 if row.verdict == "better" else -1] for row in shown]
    words = {better: [worse for one, worse in pairs if one == better] for better, _ in pairs}
    said = [f"{better} better than {', '.join(worse)}" for better, worse in words.items()]
    rest = len(found.rows) - len(shown)
    return "; ".join([*said, *([f"of {rest} other pairs no difference is shown"] if rest else [])]) + "."


def tables(levels: Sequence[Level], found: Found) -> list[Part]:
    """Return each level's tables: of comparisons, or, where nothing is compared, of means, the best first."""
    parts = []
    for i, level in enumerate(levels):
        blocks: list[Block] = []
        for metric in level.metrics:
            title = ", ".join(filter(None, (score_name(metric), level.title)))
            title = title[0].upper() + title[1:]
            if (i, metric) in found:
                table = comparisons_table(found[i, metric], title, primary=level.metrics[0])
            else:
                table = summary_table(summarise(level.frame, metric), title)
            blocks.append(Grid(replace(table, notes=(*table.notes, *_notes(level, len(levels))))))
        parts.append(Part(level.title, tuple(blocks), folded=i > 0))
    return parts


def _notes(level: Level, several: int) -> tuple[str, ...]:
    notes = list(level.notes)
    if several > 1:
        notes.append(f"One of {several} problems, each corrected by itself.")
    if level.knobs:
        notes.append(
            f"All settings of {', '.join(level.knobs)} are rows of this table. The best of many looks better here than"
            " it is: `jfed table --tune-over ... --tune-seeds ...` chooses on some seeds and reports on the others."
        )
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
