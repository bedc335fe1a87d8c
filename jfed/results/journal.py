"""Record of the looks at a directory of results: its primary metric, earlier tables, and plans of looks."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from jfed.results import records
from jfed.results.store import writing

FILE = "looks.json"  # in the folder that belongs to the results, wherever their tables are written


@dataclass(frozen=True)
class Plan:
    """A plan of looks at a metric, all of which was fixed before the results were seen.

    Attributes:
        looks: numbers of seeds, increasing.
        baseline: scheme that all others are compared with, or all.
        alpha: level of the tests.
        test: test that decides.
        correction: correction for several comparisons.
        spending: how the level is spread over the looks.
        after: numbers of seeds at which tables had been made before the plan.
    """

    looks: tuple[int, ...]
    baseline: str
    alpha: float
    test: str
    correction: str
    spending: str
    after: tuple[int, ...] = ()

    def words(self) -> list[str]:
        """Return what was fixed, in words."""
        named = [f"{f.name} {getattr(self, f.name)}" for f in fields(self) if f.name not in ("looks", "after")]
        return [f"looks at {', '.join(map(str, self.looks))} seeds", *named]


@dataclass(frozen=True)
class Looked:
    """The comparison that a directory remembers.

    Attributes:
        primary: the directory's primary metric: the first of its first command.
        before: numbers of seeds at which this comparison was made before, increasing, all below the present one.
        plan: plan of looks at its metric; None if there is none.
    """

    primary: str
    before: tuple[int, ...]
    plan: Plan | None


def look(folder: Path, metric: str, family: Sequence[str], seeds: int, primary: str) -> Looked:
    """Record a comparison that is about to be shown, and return what the directory remembers of it.

    Args:
        folder: folder that belongs to the results, created if missing.
        metric: metric of the comparison.
        family: words that tell it from others on the same metric, such as its baseline and settings.
        seeds: most seeds of any of its rows.
        primary: the primary metric, if none is known.

    Raises:
        ValueError: the file is damaged or cannot be written.
    """
    known = _read(folder)
    primary = known.setdefault("primary", primary)
    tables = known["looks"].setdefault(metric, {})
    name = " | ".join(family)
    seen = set(tables.get(name, ()))
    tables[name] = sorted(seen | {seeds})
    _write(folder, known)
    return Looked(primary, tuple(sorted(n for n in seen if n < seeds)), _plan(known, metric))


def planned(folder: Path, metric: str) -> Plan | None:
    """Return the plan of looks at a metric; None if there is none.

    Raises:
        ValueError: the file is damaged.
    """
    return _plan(_read(folder), metric)


def require_plan(folder: Path, metric: str, asked: Plan, others: Sequence[str] = ()) -> None:
    """Refuse a plan if there is another one.

    Args:
        folder: folder that belongs to the results.
        metric: metric of the comparison.
        asked: the plan.
        others: further choices that no plan has, in words.

    Raises:
        ValueError: there is another one, or there is one and `others` are asked for; or the file is damaged.
    """
    known = planned(folder, metric)
    if known is None:
        return
    different = [word for word in asked.words() if word not in known.words()] + list(others)
    if different:
        raise ValueError(
            f"{folder / FILE} has a plan for {metric} that cannot be changed after results are seen:"
            f" {', '.join(known.words())}; this command asks for {', '.join(different)}"
        )


def plan(folder: Path, metric: str, asked: Plan) -> None:
    """Record the plan of looks at a metric, with the tables of it that were made before, unless it is known already.

    Args:
        folder: folder that belongs to the results, created if missing.
        metric: metric of the comparison.
        asked: the plan, whose choices have been checked.

    Raises:
        ValueError: there is another plan; or the file is damaged or cannot be written.
    """
    require_plan(folder, metric, asked)
    known = _read(folder)
    if metric in known["plans"]:
        return
    seen = {n for seeds in known["looks"].get(metric, {}).values() for n in seeds if n > 0}
    known["plans"][metric] = asdict(replace(asked, after=tuple(sorted(seen))))
    _write(folder, known)


def _plan(known: dict[str, Any], metric: str) -> Plan | None:
    found = known["plans"].get(metric)
    return None if found is None else Plan(**found | {name: tuple(found[name]) for name in ("looks", "after")})


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.exists():
        return {"looks": {}, "plans": {}}
    try:
        known = records.read(path)
        named = all(isinstance(one, dict) for one in (known["plans"], known["looks"], *known["looks"].values()))
        plans = [plan for metric in known["plans"] if (plan := _plan(known, metric)) is not None]
        numbers = [n for tables in known["looks"].values() for seeds in tables.values() for n in seeds]
        numbers += [n for one in plans for n in (*one.looks, *one.after)]
        texts = [known.get("primary", ""), *(x for one in plans for x in (one.baseline, one.test, one.correction))]
        texts += [one.spending for one in plans]
        levels = [one.alpha for one in plans]
        if named and all(map(_is_text, texts)) and all(type(n) is int for n in numbers) and all(map(_is_level, levels)):
            return known
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ValueError(f"{path} is damaged: it remembers which numbers of seeds were looked at. Delete it to begin anew.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_level(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _write(folder: Path, known: dict[str, Any]) -> None:
    with writing(folder / FILE, "The record of looks") as part:
        part.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
