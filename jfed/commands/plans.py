"""A command's choices under the plan of looks that the results have."""

from dataclasses import replace
from pathlib import Path

from jfed.commands.choices import Choices
from jfed.results import journal


def under_plan(metric: str, choices: Choices, folder: Path | None) -> Choices:
    """Return the choices with the looks that were planned for the results, and their spending, if none are asked for.

    Args:
        metric: metric of the table.
        choices: what the command asks for.
        folder: folder that belongs to the results; None if nothing is remembered.

    Raises:
        ValueError: the looks are not increasing whole numbers from 2, or the results have another plan.
    """
    from jfed.stats.spending import checked_looks

    if choices.looks:
        checked_looks(choices.looks)
    known = None if folder is None else journal.planned(folder, metric)
    if folder is None or known is None:
        return choices
    chosen = choices if choices.looks else replace(choices, looks=known.looks, spending=known.spending)  # type: ignore[arg-type]
    journal.require_plan(folder, metric, _plan(chosen), ["always-valid p-values (anytime)"] * choices.anytime)
    return chosen


def record_plan(metric: str, choices: Choices, folder: Path | None) -> None:
    """Record the looks of a comparison that was made and is about to be shown."""
    if folder is not None and choices.looks:
        journal.plan(folder, metric, _plan(choices))


def _plan(choices: Choices) -> journal.Plan:
    return journal.Plan(
        choices.looks,
        choices.baseline,
        choices.alpha,
        choices.arguments()["test"],
        choices.correction,
        choices.spending,
    )
