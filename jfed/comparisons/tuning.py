"""The choice of a sweep's best point on some seeds, reported on others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from jfed.core.errors import require_columns
from jfed.results.alike import COLUMNS
from jfed.results.direction import require_direction
from jfed.results.frames import KEYS, SELECTED_HERE


@dataclass(frozen=True)
class Choice:
    """The chosen setting of each scheme, and its runs on seeds that were not used to choose it.

    Attributes:
        chosen: setting of each scheme.
        reported: columns scheme, seed, the metric and the settings, ready for `compare`; failed runs are kept, with
            their scores. `selected_here` marks runs whose setting was chosen by their own scores, which `compare` does
            not judge.
        note: how the choice was made, to be shown below every table made from it.
    """

    chosen: dict[str, dict[str, Any]]
    reported: pd.DataFrame
    note: str

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the frame that are reported, with its labels, and with `selected_here`."""
        axes = list(next(iter(self.chosen.values())))
        keys = [*KEYS, *axes]
        plain = frame.drop(columns=SELECTED_HERE, errors="ignore")
        own = plain.reset_index(names="label").merge(self.reported[[*keys, SELECTED_HERE]], on=keys)
        return own.set_index("label").rename_axis(frame.index.name)

    def settings(self) -> tuple[str, ...]:
        """Return a second note, which names the chosen setting of each scheme that has settings."""
        said = [f"{scheme} {words}" for scheme, point in self.chosen.items() if (words := _text(point))]
        return (f"Chosen: {'; '.join(said)}.",) if said else ()


def choose(
    frame: pd.DataFrame,
    metric: str,
    settings: Sequence[str],
    tune_seeds: Iterable[int] | None = None,
    higher_is_better: bool | None = None,
) -> Choice:
    """Return each scheme's setting with the best mean over the tune seeds, and its runs on all other seeds.

    The best of several noisy means is biased towards good values, the more so the more settings are tried; scores on
    fresh seeds are not. Settings with the fewest failed tune runs, whose scores are NaN or infinite, are eligible. Of
    settings with equal means the first in the frame is chosen.

    Args:
        frame: one row per run, with columns `scheme`, `seed`, the metric and the settings. A setting that a scheme does
            not have may be NaN.
        metric: the column to choose by, in its own unit.
        settings: the columns that make up a point of the sweep, such as ("eta", "k").
        tune_seeds: seeds to choose on, the same for every scheme. With None, all seeds are used to choose and to
            report, and the note says that the scores are biased.
        higher_is_better: whether a larger score is better; None goes by the metric's name.

    Raises:
        ValueError: a column is missing or unusable; the metric's direction is unknown; two rows are the same run; a
            tune seed is not in the frame; a setting lacks a tune seed (means over different seeds cannot be compared);
            or the chosen setting has no seeds left to report.

    Source: Cawley and Talbot (2010), On over-fitting in model selection and subsequent selection bias in performance
    evaluation.
    """
    settings = [settings] if isinstance(settings, str) else list(settings)
    runs = _checked(frame, metric, settings)
    higher = require_direction(metric, higher_is_better)
    tune = None if tune_seeds is None else list(dict.fromkeys(tune_seeds))
    if tune is not None:
        if not tune:
            raise ValueError("there are no tune seeds; give None to choose on all seeds")
        known = set(runs["seed"])
        if missing := [seed for seed in tune if seed not in known]:
            raise ValueError(f"tune seeds {', '.join(map(str, missing))} are not in the frame")

    chosen, parts, most_settings, failed, crowded = {}, [], 1, [], []
    for scheme in dict.fromkeys(runs["scheme"].tolist()):
        own = runs.loc[runs["scheme"] == scheme]
        seeds = sorted(set(own["seed"])) if tune is None else tune
        groups: Any = own.groupby(settings, sort=False, dropna=False, observed=True)
        points = [(_plain(settings, key), group) for key, group in groups]
        tuned = [_tuned(scheme, point, group, metric, seeds) for point, group in points]
        fewest = min(failures for failures, _ in tuned)
        ranks = [(failures, -mean if higher else mean) for failures, mean in tuned]
        point, group = points[ranks.index(min(ranks))]
        failed += [
            f"{scheme} {_text(one)}" for (one, _), (failures, _) in zip(points, tuned, strict=True) if failures > fewest
        ]
        crowded += [f"{scheme} ({fewest} of {len(seeds)})"] if fewest else []
        rest = group if tune is None else group.loc[~group["seed"].isin(tune)]
        if rest.empty:
            raise ValueError(f"{_named(scheme, point)} has no seeds left to report: all were used to choose it")
        chosen[scheme] = point
        parts.append(rest.assign(**{SELECTED_HERE: tune is None and len(points) > 1}))
        most_settings = max(most_settings, len(points))
    reported = pd.concat(parts, ignore_index=True)
    note = _note(tune, [len(part) for part in parts], most_settings)
    if failed:
        note += f" Not eligible, for failed runs: {'; '.join(failed)}."
    if crowded:
        note += f" All settings of these have failed runs, and that with the fewest is shown: {'; '.join(crowded)}."
    return Choice(chosen, reported, note)


def _checked(frame: pd.DataFrame, metric: str, settings: list[str]) -> pd.DataFrame:
    """Return the columns that are needed, with names of schemes as text and scores as floats."""
    if not settings:
        raise ValueError("name at least one setting to choose")
    columns = [*KEYS, metric, *settings]
    require_columns(frame, columns)
    if len(set(columns)) < len(columns):
        raise ValueError("scheme, seed, the metric and the settings must be different columns")
    told = [name for name in COLUMNS if name in frame.columns and name not in columns]
    runs: Any = frame[[*columns, *told]].reset_index(drop=True)
    if runs[list(KEYS)].isna().to_numpy().any():
        raise ValueError("a row of the frame has no scheme or no seed")
    try:
        runs[metric] = runs[metric].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(f"metric {metric!r} is not numeric") from None
    runs["scheme"] = runs["scheme"].astype(str)
    keys = [*KEYS, *settings]
    if (repeated := runs.duplicated(keys)).any():
        row = runs.loc[repeated, keys].iloc[0]
        rows = "1 row repeats" if repeated.sum() == 1 else f"{repeated.sum()} rows repeat"
        raise ValueError(f"{rows} a run, the first is {_text(row.to_dict())}")
    return runs


def _tuned(scheme: str, point: dict[str, Any], group: pd.DataFrame, metric: str, seeds: list) -> tuple[int, float]:
    """Return a setting's number of failed runs on the given seeds, and the mean score of the others, 0 for none."""
    scores = group.set_index("seed")[metric]
    if missing := [seed for seed in seeds if seed not in scores.index]:
        raise ValueError(
            f"{_named(scheme, point)} lacks seed {missing[0]}: means over different seeds cannot be compared"
        )
    values = scores.loc[seeds].to_numpy()
    sound = values[np.isfinite(values)]
    return len(values) - len(sound), float(sound.mean()) if len(sound) else 0.0


def _plain(settings: list[str], key: Any) -> dict[str, Any]:
    values = (value.item() if isinstance(value, np.generic) else value for value in key)
    return dict(zip(settings, values, strict=True))


def _named(scheme: str, point: dict[str, Any]) -> str:
    return f"{scheme} with {words}" if (words := _text(point)) else scheme


def _text(point: dict[str, Any]) -> str:
    """Return a setting in words, without what the scheme does not have."""
    return ", ".join(f"{name} {value}" for name, value in point.items() if not pd.isna(value) and value != "")


def _note(tune: list | None, reported: list[int], most_settings: int) -> str:
    if most_settings == 1:
        return "One setting per scheme: nothing was chosen."
    if tune is None:
        return (
            f"Best of up to {most_settings} settings, selected on the same seeds that are reported: "
            "the chosen setting's score is biased towards looking good, and is not judged."
        )
    low, high = min(reported), max(reported)
    others = f"{low} other seed{'s' if low > 1 else ''}" if low == high else f"{low} to {high} other seeds"
    return (
        f"Best of up to {most_settings} settings, selected on {len(tune)} tune seed{'s' if len(tune) > 1 else ''} "
        f"and reported on {others}."
    )
