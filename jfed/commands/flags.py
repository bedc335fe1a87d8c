"""The flags of `jfed run`, in the groups in which --help shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from jfed.commands.seeds import Seeds

Metric = Literal["test_accuracy", "test_loss", "num_succeeded", "round_time_s"]
Name = Annotated[str | None, arg(metavar="NAME")]


@dataclass(frozen=True)
class What:
    """Choose what is compared, and in which world.

    Attributes:
        schemes: names that `jfed list` prints, with a number in place of NUMBER. The first is the baseline.
        mode: faithful (as published) or corrected, for schemes that have both.
        num_clients: number of clients.
        cohort_size: clients selected per round.
        world: a name that `jfed list` prints; change its settings with --set environment.NAME=VALUE.
        load: Python files with your own schemes, worlds, models, ...; their names then work in all flags.
    """

    schemes: tuple[str, ...] = ("uniform", "fedcs", "e3cs-0.5")
    mode: str = "faithful"
    num_clients: int = 100
    cohort_size: int = 20
    world: str = "volatility"
    load: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Learning:
    """Describe what the clients learn; with --dataset only. A flag that is not given keeps the default of the package.

    Attributes:
        dataset: a name that `jfed list` prints (digits ships with jfed; for others see `jfed data get`), or FILE.npz
            with your own images and labels. Without it nothing is learned.
        data_dir: folder of the data sets' files; $JFED_DATA_DIR by default.
        partition: how examples are dealt out, a name that `jfed list` prints; by default natural where the data set has
            owners, else primary (80 % of a client's examples have one label).
        samples_per_client: examples of each client; by default 500, or as many as there are for each. In the natural
            partition a maximum, by default none.
        test_fraction: share of its examples that a client keeps for testing, by default 0.1.
        test_set: examples on which models are tested: those that the clients keep (reserved, the default), or the data
            set's own test examples (official).
        model: a name that `jfed list` prints, by default linear.
        algorithm: a name that `jfed list` prints, by default fedavg.
        learning_rate: of the clients' local steps, by default 0.01.
        momentum: of the clients' local steps, by default 0.9 where the algorithm has one.
        batch_size: examples of a local step, by default 40.
        epochs: local epochs; of several numbers each client has one, by default of 1 2 3 4.
        local_steps: local steps of every client, in place of --epochs.
        average_over: clients that count in the average: all (the global model replaces missing ones, the default),
            selected, returned, or unscaled.
        final_model: model that is tested: the last one (default), the best by the clients' estimates, or the mean.
        eval_every: rounds between two tests of the model, by default 5.
        targets: accuracies, such as 0.7 0.8, for tables and figures of the rounds until they are reached.
    """

    dataset: Name = None
    data_dir: Annotated[str | None, arg(metavar="PATH")] = None
    partition: Name = None
    samples_per_client: int | None = None
    test_fraction: float | None = None
    test_set: Literal["reserved", "official"] | None = None
    model: Name = None
    algorithm: Name = None
    learning_rate: float | None = None
    momentum: float | None = None
    batch_size: int | None = None
    epochs: tuple[int, ...] = ()
    local_steps: int | None = None
    average_over: Literal["all", "selected", "returned", "unscaled"] | None = None
    final_model: Literal["last", "best", "mean"] | None = None
    eval_every: int | None = None
    targets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Amount:
    """Set how much is computed.

    Attributes:
        num_rounds: rounds of each run, by default 2500, or with training 200.
        seeds: number of seeds (30), or which ones (0 1 5, or 0:30); by default 30, or with training 10.
        minutes: stop cleanly after this time; the same command resumes the work.
        block_size: runs that are computed side by side; chosen by jfed by default.
        on: what computes: here (this process), processes:4 (so many workers; with GPUs one for each by default), or
            ray:workers=8,gpus=1,address=auto (a Ray cluster).
        until_decided: add seeds at planned looks, for each scheme until it is decided, in place of --seeds.
        max_seeds: number of seeds at which --until-decided ends, by default 200; with --looks, their last is the end.
        looks: numbers of seeds at which --until-decided looks; by default five, up to --max-seeds.
    """

    num_rounds: int | None = None
    seeds: Seeds = None
    minutes: float | None = None
    block_size: int | None = None
    on: str = "here"
    until_decided: bool = False
    max_seeds: int | None = None
    looks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Further:
    """Settings without a flag of their own, and sweeps.

    Attributes:
        set: settings by path, such as selector.eta=0.1 or environment.success_rates=(0.2,0.8).
        sweep: settings with several values, such as selector.eta=0.1,0.5 cohort_size=10,20; all combinations are run.
        tune_seeds: seeds on which each scheme's best point of a sweep is chosen; the other seeds report it.
    """

    set: tuple[str, ...] = ()
    sweep: tuple[str, ...] = ()
    tune_seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Results:
    """Choose what is shown, and where it is written.

    Attributes:
        metric: scores to compare, the primary one first; by default test_accuracy with training, else num_succeeded.
            num_succeeded and round_time_s are summed over rounds: models that return, and simulated time (less is
            better).
        out: folder of results, tables and figures; runs that are finished there are not computed again. The study's
            flags are kept there as study.toml.
        tensorboard: write curves of the runs that are computed to OUT/tensorboard, for TensorBoard.
    """

    metric: tuple[Metric, ...] = ()
    out: Path = Path("out/run")
    tensorboard: bool = False


@dataclass(frozen=True)
class Settings:
    """Compare schemes: run them, print tables, draw figures.

    Attributes:
        config: file with flags as NAME = VALUE, such as OUT/study.toml; flags given besides override it.
        dry_run: say what would be computed and how long it may take, and compute nothing of it.
    """

    config: Annotated[Path | None, arg(metavar="FILE")] = None
    dry_run: bool = False
    what: What = field(default_factory=What)
    training: Learning = field(default_factory=Learning)
    amount: Amount = field(default_factory=Amount)
    further: Further = field(default_factory=Further)
    results: Results = field(default_factory=Results)

    @property
    def load(self) -> tuple[Path, ...]:
        """Return the files with the user's own members, which a command loads first."""
        return self.what.load


def flags(settings: Settings) -> Iterator[tuple[str, str, Any]]:
    """Yield group, name and value of each flag that belongs to the study."""
    for group in fields(settings):
        node: Any = getattr(settings, group.name)
        if is_dataclass(node):
            yield from ((group.name, flag.name, getattr(node, flag.name)) for flag in fields(node))


def changed(settings: Settings, **flags_: Any) -> Settings:
    """Return the settings with some flags changed."""
    for group in fields(settings):
        node: Any = getattr(settings, group.name)
        if is_dataclass(node):
            own = {flag.name: flags_[flag.name] for flag in fields(node) if flag.name in flags_}
            settings = replace(settings, **{group.name: type(node)(**vars(node) | own)})
    return settings
