"""Tables of schemes by settings, where an experiment ran several."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from jfed.analysis import compare_levels, wide_table
from jfed.commands.levels import MOST_SHOWN
from jfed.commands.output import Output, show
from jfed.commands.study import Study, in_words, target_name


def wide_report(
    runs: pd.DataFrame, targets: Sequence[float], over: Sequence[str], data: str, study: Study, output: Output,
    console: Console,
) -> None:  # fmt: skip
    """Write a table of schemes by settings for each metric, and one of rounds to accuracies; none for one setting.

    Settings whose schemes are compared with another baseline have tables of their own.

    Args:
        runs: rows of all settings, from `reported`.
        targets: accuracies.
        over: names of the swept settings.
        data: name of the data set.
        study: description of the report.
        output: the command's output.
        console: where the tables are printed.
    """
    names = [name for name in (*study.settings, *over) if name in runs]
    if not names:
        return
    by_baseline: dict[str, dict[Any, pd.DataFrame]] = {}
    for key, frame in runs.groupby(names, sort=False):
        if frame.scheme.nunique() > 1:
            by_baseline.setdefault(str(frame.scheme.iloc[0]), {})[key] = frame
    for baseline, frames in by_baseline.items():
        if len(frames) > 1:
            where, named = _named(names, frames)
            rounds = runs.num_rounds.unique()
            title = ", ".join([data, *where, *([f"T = {rounds[0]}"] if len(rounds) == 1 else [])])
            stem = f"_{baseline}" if len(by_baseline) > 1 else ""
            _tables(named, baseline, title, stem, runs.attrs.get("notes", ()), study, output, console)
            if targets:
                _rounds(named, baseline, targets, title, stem, runs.attrs.get("notes", ()), output)


def _named(names: Sequence[str], frames: Mapping[Any, pd.DataFrame]) -> tuple[list[str], dict[str, pd.DataFrame]]:
    """Return in words the settings that all frames share, and each frame under the words for its own."""
    columns = list(zip(*frames, strict=True))
    varied = [i for i, values in enumerate(columns) if len(set(values)) > 1]
    same = [in_words(names[i], values[0]) for i, values in enumerate(columns) if i not in varied]
    return same, {", ".join(in_words(names[i], key[i]) for i in varied): frame for key, frame in frames.items()}


def _tables(
    frames: Mapping[str, pd.DataFrame], baseline: str, title: str, stem: str, notes: Sequence[str], study: Study,
    output: Output, console: Console,
) -> None:  # fmt: skip
    for metric, words in study.metrics.items():
        if all(metric in frame for frame in frames.values()):
            higher = metric not in study.lower_is_better
            found = compare_levels(frames, metric, baseline=baseline, higher_is_better=higher)
            table = wide_table(found, f"{words} ({title})", name=words)
            table = replace(table, notes=(*table.notes, *notes))
            output.table(table, f"wide_{metric}{stem}")
            if metric != "last10_accuracy" and len(frames) <= MOST_SHOWN:
                show(table, console)


def _rounds(
    frames: Mapping[str, pd.DataFrame], baseline: str, targets: Sequence[float], title: str, stem: str,
    notes: Sequence[str], output: Output,
) -> None:  # fmt: skip
    """Write the rounds to each accuracy that some run reached; each accuracy is a family of comparisons."""
    found = {}
    for column in map(target_name, targets):
        if any(np.isfinite(frame[column]).any() for frame in frames.values()):
            timed = {
                f"{column.removeprefix('rounds to ')}, {heading}": frame.assign(
                    rounds=np.minimum(frame[column], frame.num_rounds.iloc[0])
                )
                for heading, frame in frames.items()
            }
            found |= compare_levels(timed, "rounds", baseline=baseline, higher_is_better=False, test="sign-flip")
    if found:
        words = "Rounds to accuracy, never counting as T"
        table = wide_table(found, f"{words} ({title})", name=words)
        table = replace(table, notes=(*table.notes, "Each accuracy is a family of its own.", *notes))
        output.table(table, f"wide_rounds{stem}")
