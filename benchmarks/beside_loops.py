"""Selection by jfed beside NumPy loops of one seed: core against core, and all cores against a loop on each."""

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from benchmarks import report, workers
from benchmarks.simulation import LEAST_S

UNIT = "seed-rounds/s"
ALIKE = 0.05  # largest relative difference between the two sides' means of a round


class Case(NamedTuple):
    """A config, and the requests with which a loop does the same.

    Attributes:
        name: of the config in the module's CONFIGS.
        loop: the loop's request.
        ours: field of the record whose mean must agree.
        theirs: field of the loop's answer that it must agree with.
        more: fields of both answers that must agree as well.
    """

    name: str
    loop: dict[str, Any]
    ours: str
    theirs: str
    more: tuple[str, ...] = ()


class Calls(NamedTuple):
    """The functions of jfed's workers, by module and name.

    Attributes:
        alone: returns the rate, the layout and the fields of cases; see `simulation.alone`.
        whole: returns the rate of `jfed.run`; "": it is not measured.
        target: bound on the ratios of `alone`.
    """

    alone: str = "simulation.alone"
    whole: str = "simulation.whole"
    target: str = ""


class Sides:
    """Workers of both sides: pinned to a core, and on all cores."""

    def __init__(self, module: str, loop: str, stack: ExitStack, calls: Calls, env: dict[str, str]) -> None:
        cores = workers.cores()
        self.module, self.number, self.calls = module, len(cores), calls
        self.one = stack.enter_context(workers.jfed(cores[0], env))
        self.every = stack.enter_context(workers.jfed(None, env))
        self.loops = [stack.enter_context(workers.module(loop, core)) for core in cores]

    def rows(self, case: Case, seeds: int, repeats: int) -> tuple[list[report.Row], str]:
        """Measure a case with some seeds on both sides, and return its rows and a note on both sides' results."""
        args = {"module": self.module, "name": case.name, "seeds": seeds}
        told: list[dict[str, Any]] = []
        heard: list[dict[str, Any]] = []
        layouts: dict[str, str] = {}

        def ours(worker: workers.Worker, key: str) -> float:
            answer = worker.ask(call=self.calls.alone, **args)
            told.append(answer)
            layouts[key] = answer["layout"]
            return answer["rate"]

        def theirs(loops: list[workers.Worker]) -> float:
            answers = workers.together(loops, seconds=LEAST_S, **case.loop)
            heard.extend(answers)
            return sum(answer["rate"] for answer in answers)

        def run(worker: workers.Worker) -> float:
            return worker.ask(call=self.calls.whole, **args)["rate"]

        several = seeds > 1 and self.number > 1  # one seed cannot be shared
        sides: list[Callable[[], float]] = [partial(ours, self.one, "one"), partial(theirs, self.loops[:1])]
        sides += [partial(ours, self.every, "all"), partial(theirs, self.loops)] if several else []
        whole = [partial(run, self.every if several else self.one)] if self.calls.whole else []
        for compiles in (*sides[::2], *whole):
            compiles()
        told.clear()
        measured = report.interleaved(repeats, *sides, *whole)
        core, loop, *both = measured[: len(sides)]
        said = []
        for field, same in ((case.ours, case.theirs), *zip(case.more, case.more, strict=True)):
            mean, other = (statistics.fmean(x[key] for x in found) for found, key in ((told, field), (heard, same)))
            if seeds > 1 and abs(mean - other) > ALIKE * abs(other):  # one seed draws one world, the loop others
                raise AssertionError(f"{case.name}: {field} is {mean:.4g} a round, in the loop {other:.4g}.")
            said.append(f"{field} a round is {mean:.4g}, in the loop {other:.4g}")
        what, n = f"{case.name}; {seeds} seed{'s' if seeds > 1 else ''}", self.number
        against, against_all = "NumPy loop, 1 core", f"NumPy loop, {n} processes of 1 core"
        alone = f"The compiled simulation on one core ({layouts['one']}), beside the loop."
        run_too = "The same with planning, checks and the resulting data set."
        target = self.calls.target
        rows = [report.row(f"{what}; 1 core", UNIT, core, loop, against, target, alone)]
        if several:
            shared = f"The simulation on all cores ({layouts['all']}), beside a loop on each."
            rows.append(report.row(f"{what}; {n} cores", UNIT, both[0], both[1], against_all, target, shared))
        for all_ in measured[len(sides) :]:
            used, other = (f"{n} cores", both[1]) if several else ("1 core", loop)
            versus = against_all if several else against
            rows.append(report.row(f"{what}; jfed.run, {used}", UNIT, all_, other, versus, meaning=run_too))
        rows.append(report.row(f"{what}; NumPy loop, 1 core", UNIT, loop, meaning="The loop's own rate."))
        return rows, f"{what}: {'; '.join(said)}."


def run(
    module: str, loop: str, cases: Sequence[tuple[Case, Sequence[int]]], repeats: int
) -> tuple[list[report.Row], list[str]]:
    """Run a benchmark's cases, each with some numbers of seeds, and return its rows and notes."""
    rows: list[report.Row] = []
    notes: list[str] = []
    with ExitStack() as stack:
        sides = Sides(module, loop, stack, Calls(), {})
        for case, numbers in cases:
            for seeds in numbers:
                report.say(f"{case.name}, {seeds} seeds")
                found, note = sides.rows(case, seeds, repeats)
                rows += found
                notes += [note] if seeds == max(numbers) else []
    return rows, notes
