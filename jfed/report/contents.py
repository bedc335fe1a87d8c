"""The content of a directory of results, in words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from jfed.results import records, sound
from jfed.results.load import data_words, load, schemes, settings
from jfed.stats.numerals import format_seeds


def contents(out: Path) -> dict[str, str]:
    """Return what is in a directory of results: runs, schemes, seeds, settings, metrics, origin and files.

    Args:
        out: `--out` of an experiment or of `jfed run`.

    Raises:
        FileNotFoundError: there are no results.
        ValueError: a file is damaged.
    """
    found: Any = load(out)
    names = list(dict.fromkeys(schemes(found)))
    seeds = tuple(np.unique(found["seed"].values).tolist())
    failed = int(sound.failed(found).sum())
    told = {
        "Runs": f"{found.sizes['run']} finished" + (f", of which {failed} failed" if failed else ""),
        "Schemes": ", ".join(names),
        "Modes": _several(found["mode"].values),
        "Seeds": f"{len(seeds)} ({format_seeds(seeds)})",
        "Swept": "; ".join(f"{name} {_several(found[name].values)}" for name in settings(found)),
        "Worlds": _several(found["world"].values),
        "Data": data_words(found),
        "Size": f"{found.sizes['client']} clients, {found.sizes['round']} rounds",
    }
    for dims, words in (("round", "Each round"), ("eval_round", "Evaluated"), ("client", "Each client")):
        told[words] = ", ".join(str(n) for n, v in found.data_vars.items() if v.dims == ("run", dims))
    return {word: text for word, text in (told | _files(out)).items() if text}


def _several(values: np.ndarray) -> str:
    """Return the different values of a coordinate in order, those that are missing left out."""
    different = values if values.dtype == object else np.unique(values)
    return ", ".join(dict.fromkeys(text for text in map(str, different) if text not in ("", "nan")))


def _files(out: Path) -> dict[str, str]:
    """Return what the directory's own files say: when and by what it was made, and what is beside the results."""
    told = {}
    try:
        made = records.manifest(out)
    except (OSError, ValueError):
        made = []
    if made:
        last = made[-1]
        versions = {name: last.get("versions", {}).get(name) for name in ("jfed", "jax")}
        words = [f"{name} {version}" for name, version in versions.items() if version]
        words += [f"commit {last['commit']}"] if last.get("commit") else []
        words += [f"{last.get('num_devices', 1)} x {last['device']}"] if last.get("device") else []
        seconds = sum(one.get("seconds", 0.0) for one in made)
        date = last.get("date", "")[:16].replace("T", " ")
        told["Made"] = f"{date} UTC by {', '.join(words)}; {seconds:.0f} s in all"
        told["Command"] = last.get("command") or ""
    waiting = len(list(out.glob("checkpoints/*"))) if out.is_dir() else 0
    if waiting:
        told["Unfinished"] = f"{waiting} checkpoints: repeat the command that began them to resume"
    for name in ("results", "tables", "figures"):
        files = [file for file in (out / name).glob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{math.ceil(size / 1e3)} kB"
        told[name.capitalize()] = f"{out / name} ({len(files)} files, {shown})" if files else ""
    report = out / "report.html"
    return told | ({"Report": str(report)} if report.is_file() else {})
