"""Notes on the earlier tables of a directory: its primary metric, plans, and the cost of looking again."""

from collections.abc import Sequence
from pathlib import Path

from jfed.comparisons.comparison import Comparisons
from jfed.results.journal import Plan, look
from jfed.stats.spending import inflation

SAME = {"cep": "num_succeeded", "final_accuracy": "test_accuracy", "final_loss": "test_loss"}
"""Columns of experiments' tables of runs that are scores of results under other names."""


def remembered(
    folder: Path, comparisons: Comparisons, family: Sequence[str] = (), primary: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """Record that comparisons are about to be shown, and return the directory's primary metric and notes.

    Args:
        folder: folder that belongs to the results (`jfed.results.journal`).
        comparisons: from `compare`.
        family: words for the settings that tell the table from others on the same metric.
        primary: the primary metric of this command, which is the directory's if none was named before.
    """
    seeds = max((row.n for row in comparisons.rows), default=0)
    words = [f"against {comparisons.baseline or 'all'}", comparisons.test, *family]
    named, notes = shown(
        folder, comparisons.metric, words, seeds, primary, comparisons.alpha,
        keeps_level=bool(comparisons.looks) or comparisons.anytime,
        num_comparisons=comparisons.family if comparisons.correction == "holm" else 1,
    )  # fmt: skip
    metric = comparisons.metric
    if SAME.get(named, named) == SAME.get(metric, metric):
        return metric, notes
    return named if metric in SAME else SAME.get(named, named), notes


def shown(
    folder: Path, metric: str, family: Sequence[str], seeds: int, primary: str | None, alpha: float, keeps_level: bool,
    num_comparisons: int = 1,
) -> tuple[str, tuple[str, ...]]:  # fmt: skip
    """Record that a table is about to be shown, and return the directory's primary metric and notes.

    Args:
        folder: as in `remembered`.
        metric: metric of the table.
        family: words that tell it from other tables of the metric.
        seeds: most seeds of any of its rows.
        primary: as in `remembered`.
        alpha: level of its tests.
        keeps_level: whether they allow for further looks.
        num_comparisons: number of comparisons that Holm's correction allows for; 1 with another correction, for
            what holds of a single comparison.
    """
    found = look(folder, metric, family, seeds, primary or metric)
    if found.plan is not None:
        return found.primary, _of_plan(found.plan, keeps_level)
    before = [n for n in found.before if n > 1]
    if not before or keeps_level:
        return found.primary, ()
    return found.primary, (_cost(before, seeds, alpha, num_comparisons),)


def _of_plan(plan: Plan, is_under_it: bool) -> tuple[str, ...]:
    if not is_under_it:
        looks = ", ".join(map(str, plan.looks))
        return (f"These results have a plan of looks at {looks} seeds: a plain `jfed table` compares under it.",)
    if not plan.after:
        return ()
    seen = ("tables at " if len(plan.after) > 1 else "a table at ") + ", ".join(map(str, plan.after))
    return (f"Planned after {seen} seeds had been made: the level holds only if the plan did not depend on it.",)


def _cost(before: Sequence[int], seeds: int, alpha: float, m: int) -> str:
    """Return what looks cost without a plan.

    Holm's correction shows a difference among m equal schemes and the baseline only if some p-value is at most
    alpha / m. If schemes do differ, m' < m comparisons of equal ones are left, at alpha / m', and the bound below is
    smaller, because the inflation by looks is relatively larger at a smaller level.
    """
    looks = [*before, seeds]
    each = inflation(looks, alpha / m)
    seen = f"Looked at {', '.join(map(str, before))} seeds before"
    if m == 1:
        cost = f"over these looks a comparison of equal schemes shows a difference in up to {_percent(each)} of studies"
    else:
        cost = (
            f"if all schemes are equal, a comparison, at level {_percent(alpha / m)}, shows a difference over these"
            f" looks in {_percent(each)} of studies, and one or more of the family's {m} in up to"
            f" {_percent(min(1.0, m * each))}"
        )
    return (
        f"{seen}: {cost}, not in {_percent(alpha)}. Looks that are planned (looks) or always-valid p-values (anytime)"
        " keep the level."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"
