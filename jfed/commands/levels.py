"""The tables that a command has to make: a frame of runs for each combination of swept settings, or a CSV file's."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jfed.core.errors import require

if TYPE_CHECKING:
    import pandas as pd

    from jfed.commands.reading import Reading

MOST_SHOWN = 12  # settings of the problem that are shown one by one
LONGEST = 100  # characters of a file's name, before what tables and figures add


@dataclass(frozen=True)
class Level:
    """One table to be made of one metric.

    Attributes:
        frame: one row per run, as `compare` takes it.
        baseline: the baseline's name in the frame; None compares all pairs.
        title: title.
        stem: name of its files.
        notes: notes on its runs.
        setting: the problem's swept settings, by name.
        data: names of the data sets.
    """

    frame: "pd.DataFrame"
    baseline: str | None
    title: str
    stem: str
    notes: tuple[str, ...] = ()
    setting: Mapping[str, Any] = field(default_factory=dict)
    data: str = ""

    def tuned(self, by: str, over: tuple[str, ...], seeds: tuple[int, ...], higher_is_better: bool | None) -> "Level":
        """Return the table with each scheme at its best setting of `over`, by a metric in the frame."""
        from jfed.comparisons.tuning import choose

        choice = choose(self.frame, by, over, seeds or None, higher_is_better)
        return replace(self, frame=choice.of(self.frame), notes=(choice.note, *choice.settings(), *self.notes))


def of_csv(
    path: Path,
    metric: str,
    baseline: str | None,
    reading: "Reading",
    higher_is_better: bool | None,
    apart: tuple[str, ...],
) -> Level:
    """Return the table of a CSV file."""
    from jfed.report.formats import file_stem

    frame = reading.frame(path, metric, higher_is_better, apart)
    stem = file_stem(f"{path.stem}_{metric}")
    return Level(frame, baseline, f"{metric} ({path.stem})", stem, tuple(frame.attrs["notes"]))


def of_results(
    results: Any, metric: str, baseline: str | None, together: tuple[str, ...], stem: str = "", also: str = ""
) -> list[Level]:
    """Return a table for each combination of swept settings.

    Args:
        results: Dataset from `load`.
        metric: score to compare.
        baseline: method that the others are compared with; None compares all pairs.
        together: swept settings that become columns of one frame instead of a table for each value.
        stem: further words in the names of files.
        also: a further score in the frames, by which settings are chosen.
    """
    from jfed.results import load

    known = load.settings(results)
    scores = {name: load.score(results, name) for name in dict.fromkeys((metric, also or metric))}
    unswept = [name for name in together if name not in known]
    swept = f"swept here: {', '.join(known)}" if known else "nothing was swept here"
    require(not unswept, f"--tune-over and --over take swept settings, not {', '.join(unswept)}; {swept}.")
    levels = []
    for level, chosen in load.swept(results.drop_vars(list(together))):
        part = load.part(results, chosen)
        own = {name: number.isel(run=chosen) for name, number in scores.items()}
        frame = load.tidy(part, own, keep=together)
        labels = frame.scheme[part["method"].values.astype(str) == baseline].unique()
        frame = frame.sort_values("scheme", key=lambda names: ~names.isin(labels), kind="stable", ignore_index=True)
        datasets, told = load.data_words(part), load.said_once(level)
        title = ", ".join([datasets, *(f"{name} = {value}" for name, value in told.items() if name != "dataset")])
        levels.append(
            Level(
                frame,
                str(labels[0]) if len(labels) == 1 else baseline,
                f"{metric} ({title})",
                _stem([metric, *([stem] if stem else [])], told, {level.stem for level in levels}),
                _diverged(part),
                told,
                datasets,
            )
        )
    return levels


def _stem(words: list[str], told: Mapping[str, Any], taken: Container[str]) -> str:
    """Return the name of a table's files: short, and none of those that are taken by other settings."""
    from jfed.report.formats import file_stem

    whole = "_".join([*words, *(f"{name}_{value}" for name, value in told.items())])
    stem = file_stem(whole, LONGEST)
    return file_stem(whole, LONGEST, digest=True) if stem in taken else stem


def _diverged(part: Any) -> tuple[str, ...]:
    """Return a note on runs whose loss exploded."""
    from jfed.results import load, sound
    from jfed.stats.numerals import format_seeds

    found = sound.diverged(part)
    if not found.any():
        return ()
    labels, seeds = load.schemes(part)[found], part["seed"].values[found]
    told = [
        f"{one} seeds {format_seeds(tuple(sorted(set(seeds[labels == one].tolist()))))}"
        for one in dict.fromkeys(labels)
    ]
    return (f"Diverged, and counted as failed: {'; '.join(told)} ({sound.WHY}).",)
