"""Tables and figures of the leaderboard, from its rows."""

from dataclasses import replace
from typing import Any

import pandas as pd
from rich.console import Console

from experiments.board.candidates import BASELINE
from experiments.board.problems import DATA, JOULES, WORLDS
from experiments.board.rows import CLIENT_J, LOWER, OUTCOMES
from experiments.shared.common import Output, show
from jfed.comparisons.across import across
from jfed.comparisons.ranking import rank
from jfed.comparisons.standings import Standings, standings
from jfed.report.across import across_table
from jfed.report.figures.standings import rank_intervals, winners_map
from jfed.report.standings import standings_table
from jfed.report.sweeps import ranking_table
from jfed.report.tables import Table

PRIMARY = "final_accuracy"
CELL = ["world", "data"]
WORDS = {"world": "world", "data": "data set", "seed": "seed"}


def write(runs: Any, alpha: float, output: Output, console: Console) -> None:
    """Write the table of runs, all tables and figures.

    Args:
        runs: data frame from `rows`, the chosen setting of each scheme in each problem on the reported seeds.
        alpha: familywise error rate of each table.
        output: the output folder.
        console: where the main tables are shown.
    """
    output.runs(runs)
    for name, table in tables(runs, alpha).items():
        output.table(table, name)
        if name in (PRIMARY, "overview"):
            show(output.tables[-1], console)
    for name, figure in figures(runs, alpha).items():
        output.figure(figure, name)


def tables(runs: Any, alpha: float) -> dict[str, Table]:
    """Return the standings by each outcome, an overview, those that know the world, and two tables of each world.

    Args:
        runs: as in `write`.
        alpha: familywise error rate of each table.
    """
    made, fair, title = {}, runs[~runs.oracle], _title(runs)
    if fair.scheme.nunique() > 1:
        found = {name: _standings(fair, name, alpha) for name in OUTCOMES}
        for name, one in found.items():
            table = standings_table(one, f"{OUTCOMES[name]} ({title})")
            made[name] = replace(table, notes=(*table.notes, *_notes(name, fair)))
        made["overview"] = ranks_table(found, f"Mean ranks by every outcome ({title})")
    if runs.oracle.any():
        known = runs[runs.oracle | (runs.scheme == BASELINE)]
        made["oracles"] = standings_table(_standings(known, PRIMARY, alpha), f"Schemes that know the world ({title})")
    for world, own in fair.groupby("world", sort=False):
        about = WORLDS[str(world)].about if str(world) in WORLDS else "a world of its own"
        words = f"{OUTCOMES[PRIMARY]}, {world}: {about}"
        if runs.data.nunique() > 1:
            known = across(own, PRIMARY, by="data", baseline=BASELINE, higher_is_better=True, alpha=alpha)
            made[f"world_{world}"] = across_table(known, words)
        made[f"best_{world}"] = _behind(own, alpha, words)
    return made


def figures(runs: Any, alpha: float) -> dict[str, Any]:
    """Return the figures of mean ranks, and of who wins where; none for fewer than two schemes."""
    fair, title, words = runs[~runs.oracle], _title(runs), OUTCOMES[PRIMARY].lower()
    if fair.scheme.nunique() < 2:
        return {}
    found = _standings(fair, PRIMARY, alpha)
    return {
        "ranks": rank_intervals(found, title, name=words),
        "who_wins_where": winners_map(found, "data", "world", title, name=words),
    }


def _title(runs: Any) -> str:
    return ", ".join(_many(runs[column].nunique(), word) for column, word in WORDS.items())


def _behind(own: Any, alpha: float, words: str) -> Table:
    """Return the table of schemes against the best of a world, by each seed's mean over exactly these data sets."""
    means = own.groupby(["scheme", "seed"], sort=False)[PRIMARY].agg(lambda scores: scores.mean(skipna=False))
    found = rank(means.reset_index(), PRIMARY, (), alpha=alpha, higher_is_better=True)
    many = own.data.nunique()
    return ranking_table(found, f"{words} (mean over {_many(many, WORDS['data'])})", most_rows=len(found.rows))


def ranks_table(found: dict[str, Standings], title: str) -> Table:
    """Return a table of the schemes' mean ranks by each outcome, in the order of the first one."""
    order = [row.scheme for row in next(iter(found.values())).rows]
    ranks = {name: {row.scheme: row for row in one.rows} for name, one in found.items()}
    rows = [(scheme, *(f"{ranks[name][scheme].rank:.1f}" for name in found)) for scheme in order]
    best = {name: min(own[scheme].rank for scheme in order) for name, own in ranks.items()}
    bold = {
        (i, j + 1) for i, scheme in enumerate(order) for j, name in enumerate(found)
        if ranks[name][scheme].rank == best[name]
    }  # fmt: skip
    data = pd.DataFrame({"scheme": order} | {name: [own[s].rank for s in order] for name, own in ranks.items()})
    notes = (
        "Mean over worlds and data sets of a scheme's rank by its mean over seeds; 1 is best, and the best is bold. Of"
        " times and energy the lowest is best, of all else the highest. Each outcome has a table with tests.",
    )
    words = {"final_accuracy": "final", "mean_accuracy": "mean", "worst_clients": "worst clients",
             "rounds_to_target": "rounds", "seconds_to_target": "seconds", "energy_to_target": "energy",
             "jain": "evenness"}  # fmt: skip
    columns = ("scheme", *(words[name] for name in found))
    return Table(title, columns, "l" + "r" * len(found), tuple(rows), notes, frozenset(bold), data)


def _standings(runs: Any, name: str, alpha: float) -> Standings:
    """Return the standings by an outcome; a run that never reached its target has the longest time of its problem."""
    if name in LOWER:
        limit = runs["num_rounds"] if name == "rounds_to_target" else runs[name.replace("_to_target", "")]
        longest = limit.groupby([runs[column] for column in CELL]).transform("max")
        runs = runs.assign(**{name: runs[name].where(runs[name] != float("inf"), longest)})
    return standings(runs, name, CELL, baseline=BASELINE, higher_is_better=name not in LOWER, alpha=alpha)


def _notes(name: str, runs: Any) -> tuple[str, ...]:
    chosen = "Each scheme has in each problem the best of as many settings as every other, chosen on further seeds."
    if name not in LOWER:
        return (chosen,)
    targets = ", ".join(f"{data} {100 * DATA[str(data)].target:g} %" for data in runs["data"].unique())
    never = (runs[name] == float("inf")).groupby(runs["scheme"], sort=False).sum()
    step_j = ", ".join(f"{joules:g}" for joules in JOULES.step_j)
    joules = (
        f" Energy: {step_j} J a local step of three kinds of devices, and {JOULES.means(1)[1][0]:g} J an exchange; in"
        f" worlds that count none {CLIENT_J:g} J for each client selected. Polls for losses cost nothing."
    )
    energy = joules if name == "energy_to_target" else ""
    told = ", ".join(f"{scheme} {count}" for scheme, count in never.items() if count) or "none"
    many = len(runs) // runs["scheme"].nunique()
    return (
        chosen,
        f"Targets: {targets}. A run that never reached its target counts with the longest run of its problem; of {many}"
        f" runs of each scheme these are: {told}.{energy}",
    )


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
