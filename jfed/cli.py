"""The command `jfed`: what there is, one run from the command line, and a table from finished results.

The published experiments are commands of their own: `python -m experiments.NAME`.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from jfed.errors import ConfigError, require, unknown


@dataclass(frozen=True)
class List:
    """List schemes, worlds, controllers, algorithms, models and data sets."""


@dataclass(frozen=True)
class Run:
    """Schemes against each other in a world of volatile clients, without training."""

    schemes: tuple[str, ...] = ("uniform", "fedcs", "e3cs-0.5")
    mode: str = "faithful"
    seeds: int = 30
    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    success_rates: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    out: Path = Path("out/run")


@dataclass(frozen=True)
class Table:
    """A significance table: every scheme against a baseline, paired by seed."""

    out: Path
    metric: str = "num_succeeded"
    """A variable of the results, summed over rounds, or taken after the last one (test_accuracy, test_loss)."""
    baseline: str = "uniform"


@dataclass(frozen=True)
class Claims:
    """What the papers claim, and a verdict for each claim that these runs can decide."""

    results: tyro.conf.Positional[tuple[Path, ...]] = ()
    """The --out of experiments, or CSV files with one row per run; none lists the claims."""


@dataclass(frozen=True)
class Get:
    """Fetch data sets from their official addresses, to where they are found without a further flag."""

    names: tyro.conf.Positional[tuple[str, ...]]
    """cifar10, emnist_letters, fashion_mnist, mnist."""
    data_dir: Path | None = None
    """Folder to put them into; $JFED_DATA_DIR by default, else jfed's folder of the user's cache."""


@dataclass(frozen=True)
class ListData:
    """List data sets and where they are."""

    data_dir: Path | None = None
    """Folder to look into first."""


@dataclass(frozen=True)
class Data:
    """Fetch data sets, or say where they are."""

    action: Annotated[Get, tyro.conf.subcommand("get")] | Annotated[ListData, tyro.conf.subcommand("list")]


def list_rooms(_: List, console: Console) -> None:
    """Print every room's table."""
    from jfed import config
    from jfed.algorithms import ALGORITHMS
    from jfed.controllers import CONTROLLERS
    from jfed.data.load import names
    from jfed.data.partition import PARTITIONS
    from jfed.envs import ENVIRONMENTS
    from jfed.models import MODELS

    rows: dict[str, Any] = {
        "schemes": [*config.METHODS, "e3cs-Q", "best-Q", "(Q a share of k/K, or inc)"],
        "worlds": ENVIRONMENTS,
        "controllers": CONTROLLERS,
        "algorithms": ALGORITHMS,
        "models": MODELS,
        "partitions": PARTITIONS,
        "data sets": names(),
    }
    for name, members in rows.items():
        console.print(f"{name:12} {', '.join(members)}", highlight=False)


def run(settings: Run, console: Console) -> None:
    """Run schemes and print how many models return."""
    import jfed
    from jfed.engine.host import setup
    from jfed.envs import volatility

    setup()
    base = jfed.Config(
        settings.num_clients,
        settings.cohort_size,
        settings.num_rounds,
        environment=volatility.Options(settings.success_rates),
    )
    points = jfed.methods(base, settings.schemes, settings.mode)  # type: ignore[arg-type]
    results = jfed.run(points, range(settings.seeds), out=settings.out)
    print_tables(results, Table(settings.out, baseline=points[0].coords["method"]), console)


def table(settings: Table, console: Console) -> None:
    """Print and write a significance table for each setting that was swept."""
    from jfed.analysis.load import load

    print_tables(load(settings.out), settings, console)


def claims(settings: Claims, console: Console) -> None:
    """Print the verdicts, then which claims wait for runs."""
    from jfed import analysis
    from jfed.analysis.claims import gather, judge_all, verdicts_table

    verdicts = judge_all(gather(settings.results))
    waiting = [v for v in verdicts if v.finding.verdict == "not run"]
    shown = [v for v in verdicts if v not in waiting] if settings.results else verdicts
    analysis.to_terminal(verdicts_table(shown, "Published claims"), console)
    if settings.results:
        console.print()
        for runs in dict.fromkeys(v.claim.runs for v in waiting):
            names = ", ".join(
                f"{v.claim.id} ({v.finding.numbers})" if v.finding.numbers else v.claim.id
                for v in waiting
                if v.claim.runs == runs
            )
            console.print(f"Not run, for want of {runs}: {names}", highlight=False)


def print_tables(results: Any, settings: Table, console: Console) -> None:
    """One table per combination of swept settings, each a family of its own."""
    from jfed import analysis
    from jfed.analysis.load import swept, tidy

    metric = settings.metric
    known = [str(n) for n, v in results.data_vars.items() if {"round", "eval_round"} & set(v.dims)]
    if metric not in known:
        raise unknown("metric", metric, known)
    values = results[metric]
    after_last = values.ffill("eval_round").isel(eval_round=-1) if "eval_round" in values.dims else None
    number = values.sum("round", min_count=1) if after_last is None else after_last
    datasets = ", ".join(sorted(set(results["dataset"].values.astype(str)))).replace("none", "no training")
    for level, chosen in swept(results):
        part = results.isel(run=chosen)
        frame = tidy(part, {metric: number.isel(run=chosen)})
        labels = frame.scheme[part["method"].values.astype(str) == settings.baseline].unique()
        baseline = str(labels[0]) if len(labels) == 1 else settings.baseline
        lower = metric.endswith("loss")
        comparisons = analysis.compare(frame, metric, baseline=baseline, higher_is_better=not lower)
        title = ", ".join([datasets, *(f"{name} = {value}" for name, value in level.items())])
        made = analysis.comparisons_table(comparisons, f"{metric} ({title})")
        console.print()
        analysis.to_terminal(made, console)
        stem = "_".join([metric, *(f"{name}_{value}" for name, value in level.items())])
        paths = analysis.write(made, settings.out / "tables", stem)
        console.print(*(str(p) for p in paths.values()), sep="\n", highlight=False)


def data(settings: Data, console: Console) -> None:
    """Do what was asked of data sets."""
    if isinstance(settings.action, Get):
        get(settings.action, console)
    else:
        list_data(settings.action, console)


def get(settings: Get, console: Console) -> None:
    """Fetch data sets one after another."""
    from jfed.data import load
    from jfed.data.get import get as fetch

    require(bool(settings.names), f"say which data sets to fetch: {', '.join(load.names())}")
    for name in settings.names:
        if name not in load.names():
            raise unknown("data set", name, load.names())
    for name in settings.names:
        made, folder = fetch(name, settings.data_dir, console)
        num = f"{len(made.images):,} + {len(made.test_images):,} images"
        there = "ships with jfed" if name == "digits" else f"is in {folder}"
        console.print(f"{name} {there}: {made.title}, {num}", highlight=False, soft_wrap=True)


def list_data(settings: ListData, console: Console) -> None:
    """Print each data set's name and folder."""
    from jfed.data import load

    for name in load.names():
        there = load.where(name, settings.data_dir) or f"not here: jfed data get {name}"
        console.print(f"{name:15} {there}", highlight=False, soft_wrap=True)


def main() -> None:
    """Entry point of `jfed`."""
    commands = (
        Annotated[List, tyro.conf.subcommand("list")]
        | Annotated[Run, tyro.conf.subcommand("run")]
        | Annotated[Data, tyro.conf.subcommand("data")]
        | Annotated[Table, tyro.conf.subcommand("table")]
        | Annotated[Claims, tyro.conf.subcommand("claims")]
    )
    chosen = tyro.cli(
        commands,
        prog="jfed",
        description="Experiments on client selection in federated learning.",
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),  # `data get`, not `data action:get`
    )
    try:
        {List: list_rooms, Run: run, Data: data, Table: table, Claims: claims}[type(chosen)](chosen, Console())
    except (ConfigError, ValueError, FileNotFoundError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("\nStopped. What is done is kept: the same command goes on from there.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
