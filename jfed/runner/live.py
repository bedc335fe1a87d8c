"""The live view of a run: how far it has come, told to a function after each chunk of rounds."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jfed.core import prng
from jfed.core.errors import ConfigError, require, shown
from jfed.engine.simulate import due
from jfed.results.sealed import Arrays
from jfed.runner.identity import Run, coordinates
from jfed.runner.leave import Leaving
from jfed.runner.units import Unit
from jfed.runner.watch import Watch

HOW = "on_chunk is called with one argument, a jfed.Progress, as in on_chunk=print"


@dataclass(frozen=True)
class Progress:
    """The progress of a batch: the runs that are computed side by side, often a part of all runs.

    Mappings have an entry for each point of the batch, under its name, such as "e3cs-0.5" or "e3cs-0.5, eta=0.1".
    Numbers in them are means over the runs of the point that are in the batch.

    Attributes:
        seeds: seeds of each point's runs, rising; `prng.Seeds` in place of a number if they differ between streams.
        first_round: first round of this chunk.
        round: last round of this chunk.
        num_rounds: rounds in all.
        num_succeeded: models that returned, in all rounds so far.
        round_time_s: simulated time of all rounds so far, seconds.
        test_accuracy: test accuracy after `test_round`, in [0, 1]; NaN if a model is broken. Empty if none was tested.
        test_loss: test loss after `test_round`, likewise.
        test_round: round of the last test of the models; None if there was none.
        runs_done: runs of the whole call that are finished. Those of the batch count when it is stored.
        num_runs: runs of the whole call.
    """

    seeds: Mapping[str, tuple[int | prng.Seeds, ...]]
    first_round: int
    round: int
    num_rounds: int
    num_succeeded: Mapping[str, float]
    round_time_s: Mapping[str, float]
    test_accuracy: Mapping[str, float]
    test_loss: Mapping[str, float]
    test_round: int | None
    runs_done: int
    num_runs: int


Callback = Callable[[Progress], Any]


def require_callback(callback: Any) -> None:
    """Raise `ConfigError` unless something can be called with one argument, as far as its signature tells."""
    require(callable(callback), f"{HOW}; found {shown(callback)}.")
    require(not isinstance(callback, type), f"{HOW}; found the class {shown(callback)}: make an object of it first.")
    require(not inspect.iscoroutinefunction(callback), f"{HOW}; found {shown(callback)}, which would be awaited.")
    try:
        inspect.signature(callback).bind(None)
    except TypeError as error:
        raise ConfigError(f"{HOW}; {shown(callback)} cannot be called so: {error}.") from None
    except ValueError:  # a function of C may have no signature
        pass


class Live:
    """A callback and what has become of it.

    Attributes:
        error: what the callback has raised. It waits until the chunk is safe; the callback is not called again.
    """

    def __init__(self, callback: Callback, leaving: Leaving) -> None:
        """Take the callback, and the request to stop that it can make."""
        self.error: BaseException | None = None
        self._callback, self._leaving = callback, leaving

    def tell(self, batch: Sequence[Unit], chunk: range, kept: Sequence[Arrays], watch: Watch) -> None:
        """Call the callback after a chunk; the arguments are those of `progress`."""
        if self.error is None and not self._leaving.told:
            self.told(progress(batch, chunk, kept, watch))

    def told(self, far: Progress) -> None:
        """Call the callback with how far a batch has come, unless it has ended the call."""
        if self.error is not None or self._leaving.told:
            return
        try:
            answer = self._callback(far)
        except KeyboardInterrupt:  # a second Ctrl-C ends the command at once
            raise
        except BaseException as error:
            self.error, self._leaving.told = error, True
        else:
            self._leaving.told = isinstance(answer, bool | np.bool_) and bool(answer)


def progress(batch: Sequence[Unit], chunk: range, kept: Sequence[Arrays], watch: Watch) -> Progress:
    """Return how far a batch has come.

    Args:
        batch: units side by side.
        chunk: rounds of the last chunk.
        kept: their records so far by name ("record.num_succeeded"), (rounds, runs), in order of the rounds.
        watch: the numbers of runs.
    """
    config = batch[0].config
    found: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for i, unit in enumerate(batch):
        for row, run in enumerate(unit.runs, i * unit.block_size):
            found.setdefault(_name(run), []).append((tuple(map(int, run.seeds)), row))
    runs = {name: sorted(own) for name, own in found.items()}  # units that resume come in any order
    rows = {name: [row for _, row in own] for name, own in runs.items()}

    def means(values: np.ndarray) -> dict[str, float]:
        return {name: float(values[own].mean(dtype=float)) for name, own in rows.items()}

    def summed(name: str) -> dict[str, float]:
        return means(np.sum([part[f"record.{name}"].sum(0, dtype=float) for part in kept], 0))

    def last(name: str) -> dict[str, float]:
        return means(next(part[f"quality.{name}"][-1] for part in reversed(kept) if len(part[f"quality.{name}"])))

    rounds = np.arange(1, chunk[-1] + 1)
    tested = rounds[due(rounds, config.num_rounds, config.eval_every)] if config.training is not None else rounds[:0]
    return Progress(
        seeds={name: tuple(_told(seeds) for seeds, _ in own) for name, own in runs.items()},
        first_round=chunk[0],
        round=chunk[-1],
        num_rounds=config.num_rounds,
        num_succeeded=summed("num_succeeded"),
        round_time_s=summed("round_time_s"),
        test_accuracy=last("accuracy") if len(tested) else {},
        test_loss=last("loss") if len(tested) else {},
        test_round=int(tested[-1]) if len(tested) else None,
        runs_done=watch.runs_done,
        num_runs=watch.runs,
    )


def _name(run: Run) -> str:
    """Return the name of a run's point: its method, and what else it is told by."""
    coords = coordinates(run.point)
    method = str(coords.pop("method"))
    others = [f"{name}={value}" for name, value in coords.items() if (name, value) != ("mode", "faithful")]
    return ", ".join([method, *others])


def _told(seeds: tuple[int, ...]) -> int | prng.Seeds:
    """Return the seed of a run, or its seeds if they differ."""
    return seeds[0] if len(set(seeds)) == 1 else prng.Seeds(*seeds)  # type: ignore[arg-type]
