"""Differences between two directories of results: their settings, and the numbers of runs that both have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jfed.report.tables import Table
from jfed.results import alike, index, store
from jfed.results.load import ENDINGS, load, schemes, score, settings
from jfed.results.whole import SEEDS
from jfed.stats.numerals import decimals_for, format_number

NAMED = ("method", "mode", *SEEDS)
FEW = 1e-12  # of the larger number, below which two are the same


def of_settings(a: Path, b: Path) -> dict[str, list[str]]:
    """Return the schemes by what differs in their settings, in words; "" for those without a difference.

    Schemes that only one directory has come under "only in A" and "only in B".

    Args:
        a: `--out` of an experiment.
        b: that of another one.

    Raises:
        ValueError: a file is damaged.
    """
    ours, theirs = _identities(a), _identities(b)
    found: dict[str, list[str]] = {}
    for name in sorted({*ours, *theirs}):
        if name in ours and name in theirs:
            words = alike.difference(alike.everything(ours[name]), alike.everything(theirs[name]))
        else:
            words = f"only in {'A' if name in ours else 'B'}"
        found.setdefault(words, []).append(name)
    return found


def _identities(out: Path) -> dict[str, Mapping[str, Any]]:
    """Return the identity without seeds of each kind of run by its name, the one that was computed last."""
    files = [out] if out.is_file() else store.files(out, ENDINGS)
    known = index.survey(out, [file for file in files if file.suffix == ".npz"], set_aside=False)
    return {_name(one["coords"]): told["what"] for kind, told in known.kinds.items() for one in known.called(kind)}


def _name(coords: Mapping[str, Any]) -> str:
    """Return the scheme's method, its mode where it is not the usual one, and the swept values."""
    others = [f"{name} = {_text(value)}" for name, value in coords.items() if name not in ("method", "mode")]
    mode = [str(coords["mode"])] if coords.get("mode") not in (None, "", "faithful") else []
    return ", ".join([str(coords.get("method", "?")), *mode, *others])


def of_numbers(a: Path, b: Path) -> Table:
    """Return a table of the scores of runs that both directories have: means, and the largest difference of a run.

    A score is a variable's sum over rounds or its last value at an evaluation (`jfed.analysis.score`). Runs are the
    same if their scheme, mode, swept values and seeds are.

    Raises:
        FileNotFoundError: a directory has no results.
        ValueError: a file is damaged.
    """
    ours, theirs = load(a), load(b)
    swept = [name for name in dict.fromkeys((*settings(ours), *settings(theirs))) if name not in NAMED]
    left, right = _scores(ours, swept), _scores(theirs, swept).drop(columns="scheme")
    keys = [name for name in (*NAMED, *swept) if name in left and name in right]
    both = left.merge(right, on=keys, suffixes=("\n", "\r"))
    metrics = [name for name in left.attrs["metrics"] if name in right.attrs["metrics"]]
    rows, records = [], []
    for scheme, runs in both.groupby("scheme", sort=False):
        for metric in metrics:
            ours, theirs = runs[f"{metric}\n"].to_numpy(float), runs[f"{metric}\r"].to_numpy(float)
            known = ~(np.isnan(ours) & np.isnan(theirs))
            if not known.any() or not (ours.any() or theirs.any()):
                continue
            largest = float(np.max(np.abs(theirs - ours)[known]))  # NaN if only one of them failed
            same = largest <= FEW * float(np.nanmax(np.abs([ours, theirs])))
            means = float(np.mean(ours[known])), float(np.mean(theirs[known]))
            decimals = decimals_for([abs(x) for x in (*means, largest) if np.isfinite(x) and x])
            shown = "same" if same else format_number(largest, decimals) or "failed in one"
            cells = [format_number(x, decimals) or "-" for x in means]
            rows.append((str(scheme), metric, str(int(known.sum())), *cells, shown))
            records.append((scheme, metric, int(known.sum()), *means, largest))
    columns = ("scheme", "metric", "runs", "A", "B", "apart")
    data = pd.DataFrame(records, columns=pd.Index(["scheme", "metric", "runs", "mean_a", "mean_b", "largest"]))
    notes = (
        f"{len(both)} runs are in both, {len(left) - len(both)} only in A, {len(right) - len(both)} only in B.",
        "A and B: means over the runs that are in both; apart: the largest difference of a run. Scores that are 0 in"
        " all of them are left out.",
    )
    return Table("Scores of the same runs", columns, "llrrrr", tuple(rows), notes, data=data)


def _scores(found: Any, swept: list[str]) -> pd.DataFrame:
    """Return each run's scheme, what tells it from others, and its scores; swept values are texts, "" for none."""
    frame = pd.DataFrame({name: found[name].values for name in NAMED if name in found.coords})
    own = [name for name in swept if name in found.coords]
    frame = frame.assign(**dict.fromkeys(swept, "")).assign(
        **{name: list(map(_text, found[name].values.tolist())) for name in own}
    )
    values = [[f", {name} = {value}" if value else "" for value in frame[name]] for name in own]
    frame.insert(0, "scheme", ["".join(words) for words in zip(schemes(found), *values, strict=True)])
    metrics = [str(n) for n, v in found.data_vars.items() if set(v.dims) in ({"run", "round"}, {"run", "eval_round"})]
    frame = pd.concat([frame, pd.DataFrame({metric: score(found, metric).values for metric in metrics})], axis=1)
    frame.attrs = {"metrics": metrics}
    return frame


def _text(value: Any) -> str:
    """Return a swept value as text: 0.5 and "0.5" are the same, and so are the two ways not to have one."""
    try:
        return "" if value == "" or value != value else f"{float(value):.12g}"
    except (TypeError, ValueError):
        return str(value)
