"""Parts that all experiments with training share: flags, runs, and the way from runs to tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import xarray as xr
from rich.console import Console

import jfed
from experiments.shared.common import Output
from jfed.algorithms import local_sgd
from jfed.algorithms.deadline import Reading
from jfed.commands import dry
from jfed.commands.seeds import Seeds, listed, require_tune_seeds
from jfed.commands.study import Study, reported
from jfed.commands.wide import wide_report
from jfed.config import Training
from jfed.core.errors import require
from jfed.paths import parse_axes, parse_settings, problem_axes, scheme_axes
from jfed.runner.executors.named import named
from jfed.runner.feed import dataset
from jfed.sweep import Point, changed, coordinate, product


@dataclass(frozen=True)
class Settings:
    """Flags of all experiments with training; the preset gives their defaults.

    Attributes:
        preset: quick: shipped digits, a minute or two on two cores; small: the real data, hours; paper: the whole
            study.
        out: folder of results, tables and figures; runs that are finished there are not run again.
        dataset: digits ships with jfed; for mnist, fashion-mnist, emnist-letters and cifar10 see `jfed data get`;
            synthetic-1-1 and the like are generated; FILE.npz holds your own images, labels, test_images, test_labels
            and clients.
        model: a name that `jfed list` prints.
        data_dir: folder of the official files; $JFED_DATA_DIR by default.
        seeds: number of seeds (30), or which ones (0 1 5, or 0:30).
        minutes: stop cleanly after this time; the same command resumes the work.
        test_fraction: share of its images that a client keeps for testing.
        test_set: images on which accuracy is measured: those that the clients keep (reserved), or the data set's own
            test images (official).
        average_over: clients that count in the average: all (the global model replaces missing ones), selected or
            returned; unscaled: all, with weights as Eiffel prints them.
        targets: accuracies for rounds-to-accuracy.
        load: Python files with schemes, models, ... of your own; their names then work in all flags.
        block_size: number of runs in a block; chosen by jfed by default.
        on: what computes: here (this process), processes:4 (so many workers; with GPUs one for each by default), or
            ray:workers=8,gpus=1,address=auto (a Ray cluster).
        set: further settings by path, such as selector.eta=0.1 or environment.success_rates=(0.2,0.8).
        sweep: settings with several values, such as training.algorithm.learning_rate=0.01,0.1; all combinations are
            run.
        tune_seeds: of a sweep, the seeds on which each scheme's best point is chosen; the other seeds report it.
        dry_run: say what would be computed and how long it may take, and compute nothing of it.
        tensorboard: write curves of the runs that are computed to OUT/tensorboard, for TensorBoard.
    """

    preset: Literal["quick", "small", "paper"]
    out: Path
    dataset: str
    model: str
    data_dir: str | None = None
    seeds: Seeds = 10
    minutes: float | None = None
    num_rounds: int = 400
    eval_every: int = 2
    test_fraction: float = 0.1
    test_set: Literal["reserved", "official"] = "reserved"
    learning_rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 40
    average_over: Reading = "all"
    targets: tuple[float, ...] = (0.65, 0.75, 0.85)
    load: tuple[Path, ...] = ()
    block_size: int | None = None
    on: str = "here"
    set: tuple[str, ...] = ()
    sweep: tuple[str, ...] = ()
    tune_seeds: tuple[int, ...] = ()
    dry_run: bool = False
    tensorboard: bool = False

    def training(self, partition: str, algorithm: Any = None, **further: Any) -> Training:
        """Return the training that these flags describe; `algorithm` holds its options, by default FedAvg's."""
        rates = {"learning_rate": self.learning_rate}
        if algorithm is None or jfed.config.has(algorithm, "momentum"):
            rates["momentum"] = self.momentum
        else:
            name = jfed.catalog.label(algorithm)
            require(
                self.momentum == 0,
                f"The algorithm {name} makes plain SGD steps, without momentum: give --momentum 0 in place of"
                f" {self.momentum:g}.",
            )
        return Training(
            dataset=self.dataset,
            partition=partition,
            test_fraction=self.test_fraction,
            test_set=self.test_set,
            model=self.model,
            algorithm=jfed.replace(algorithm or local_sgd.Options(), rates),
            batch_size=self.batch_size,
            average_over=self.average_over,
            **further,
        )


def further(points: Sequence[Point], settings: Settings) -> list[Point]:
    """Return the points with the settings of --set, in all combinations of --sweep."""
    delta = parse_settings(settings.set, settings)
    return product(changed(points, delta), parse_axes(settings.sweep, delta))


def computed(settings: Settings, every: Sequence[Point], flags: Sequence[str]) -> xr.Dataset:
    """Compute the missing runs and return all results; the arguments are those of `run`.

    Raises:
        SystemExit: --dry-run only says what would be computed.
    """
    seeds, minutes = listed(settings.seeds), settings.minutes
    require(minutes is None or minutes >= 0, f"--minutes must be at least 0, found {minutes}.")
    by_path = parse_axes(settings.sweep) | parse_settings(settings.set)
    for path in ("num_rounds", "training.dataset", *flags):
        require(path not in by_path, f"{path} has a flag of its own here: see --help.")
    seconds = None if minutes is None else 60 * minutes
    layout = jfed.Layout(block_size=settings.block_size, max_seconds=seconds)
    how = {"data_dir": settings.data_dir, "layout": layout}
    place = named(settings.on)
    if settings.dry_run:
        require(place is None, "--dry-run measures on this process: leave out --on.")
        dry.tell(every, seeds, settings.out, how, Console())
        raise SystemExit(0)
    curves = jfed.TensorBoard(settings.out / "tensorboard") if settings.tensorboard else None
    return jfed.run(every, seeds, out=settings.out, on_chunk=curves, executor=place, **how)


def run(settings: Settings, every: Sequence[Point], study: Study, flags: Sequence[str] = ()) -> None:
    """Compute the missing runs, then write tables and figures.

    Args:
        settings: the command line.
        every: the points to run.
        study: the description of the report.
        flags: paths of settings that have a flag of their own, and cannot be set or swept by path.
    """
    console = Console()
    require(all(0 < t <= 1 for t in settings.targets), f"Targets are accuracies in (0, 1], found {settings.targets}.")
    axes = parse_axes(settings.sweep)
    require_tune_seeds(settings.tune_seeds, listed(settings.seeds), scheme_axes(axes))
    output = Output(settings.out)  # before the runs: its processes load matplotlib meanwhile
    results = computed(settings, every, flags)
    data = dataset(settings.dataset, settings.data_dir).title
    own, apart = ([coordinate(path) for path in kind(axes)] for kind in (scheme_axes, problem_axes))
    runs = reported(results, settings.targets, data, study, every, output, console, own, settings.tune_seeds)
    wide_report(runs, settings.targets, apart, data, study, output, console)
    output.tell(console, tune_seeds=settings.tune_seeds)
