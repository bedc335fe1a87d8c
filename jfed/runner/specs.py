"""The program and the arrays of a config: its static half, its dynamic half, and checks of its training."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from jfed import catalog
from jfed import config as configs
from jfed.config import Config, Training
from jfed.core import prng
from jfed.core.errors import require
from jfed.core.options import plain, static_half
from jfed.core.types import Dims
from jfed.engine import facts
from jfed.engine.spec import Spec, TrainingSpec, build
from jfed.engine.state import RunParams
from jfed.models.classifier import Inputs
from jfed.runner import feed
from jfed.sweep import Point

CHUNK_ROUNDS = {False: 500, True: 25}


@dataclass(frozen=True)
class Layout:
    """The layout of a computation; it is recorded with the results and does not change what they mean.

    Attributes:
        block_size: runs per block. None means even shares of the runs for the devices, at most 256 runs and, on a CPU,
            25,600 clients in all; or with training 1 in the lane "sequential", and in "vmapped" as many as fill an
            accelerator (for fewer runs the next power of two). It is halved until the program fits into memory. With
            None, blocks that have checkpoints resume at their own size.
        chunk_rounds: most rounds of a chunk; None means 500 (25 with training). A chunk that would take longer than
            ten seconds is made shorter.
        lane: "sequential" or "vmapped"; None means sequential on a CPU, else vmapped.
        record_selected: whether to keep the cohort of every round.
        checkpoint_s: least number of seconds between two checkpoints; 0 writes one after every chunk.
        max_seconds: time limit; the chunk in which it is reached ends with `Unfinished`. None means no limit.
    """

    block_size: int | None = None
    chunk_rounds: int | None = None
    lane: str | None = None
    record_selected: bool = False
    checkpoint_s: float = 30.0
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        """Replace NumPy's numbers by Python's."""
        for f in fields(self):
            object.__setattr__(self, f.name, plain(getattr(self, f.name)))


def run_params(config: Config, data_seed: int, data_dir: str | None) -> RunParams:
    """Return the dynamic half of a run's settings, checked, as NumPy arrays.

    Only a world that is tied to the labels of the clients' images depends on the seed and on the data.

    Raises:
        ConfigError: a value is out of range, or the world needs labels and nothing is learned.
        DataError: the world needs labels and the data cannot be obtained.
    """
    problem, labels = configs.problem(config), None
    if config.environment.needs_labels():
        require(
            config.training is not None,
            "In this world, whether clients are there depends on the labels of their images, which they have only with"
            f" training: {configs.HOW_TO_TRAIN}.",
        )
        labels = feed.labels(config, data_seed, data_dir)
    return RunParams(
        environment=config.environment.params(problem._replace(labels=labels)),
        selector=config.selector.params(problem),
        controller=config.controller.params(problem),
        algorithm=None if config.training is None else config.training.algorithm.params(problem),
    )


def _training_spec(training: Training, data_dir: str | None) -> TrainingSpec:
    data = feed.dataset(training.dataset, data_dir)
    step = None if data.images.dtype == np.uint8 else float(np.finfo(np.float32).eps)
    return TrainingSpec(
        model=training.model,
        inputs=Inputs(data.images.shape[1:], data.num_classes, float(data.max_value), data.mean, data.std, step),
        average_over=training.average_over,
        algorithm=static_half(training.algorithm),
        final_model=training.final_model,
    )


def make_spec(config: Config, layout: Layout, slots: int, data_dir: str | None, backend: str) -> Spec:
    """Return the static half of a config that will be computed on a backend."""
    training = config.training
    batch_size = 1 if training is None else training.batch_size
    lane = layout.lane or ("sequential" if backend == "cpu" else "vmapped")
    features, resources = config.environment.features, configs.resources(config)
    return Spec(
        dims=Dims(config.num_clients, slots, batch_size, features, resources),
        environment=static_half(config.environment),
        selector=static_half(config.selector),
        controller=static_half(config.controller),
        training=None if training is None else _training_spec(training, data_dir),
        lane=lane,
        chunk_rounds=layout.chunk_rounds or CHUNK_ROUNDS[training is not None],
        record_selected=layout.record_selected,
    )


def slots_bound(config: Config) -> int:
    """Return a static bound on the cohort's size: a power of two, so that sweeps over k share a program, or K."""
    most = config.selector.slots(configs.problem(config))
    return min(config.num_clients, 1 << (most - 1).bit_length())


def check_training(
    point: Point, spec: Spec, seeds: Sequence[prng.Seeds], data_dir: str | None
) -> tuple[int, int]:  # fmt: skip
    """Check that training can be run; return the widths of the tables of clients' images and of test images."""
    training, control = point.config.training, point.config.controller
    algorithm = build(spec).algorithm
    estimates = algorithm is not None and algorithm.estimates
    require(
        estimates or not control.needs_estimates(),
        'Adaptive tau, and the stop rule "best", need clients that make estimates: set training.algorithm to'
        ' "adaptive", or fix tau and choose another stop rule.',
    )
    name = point.coords.get("method", catalog.label(point.config.selector))
    facts.check(build(spec).selector, name, training is not None)
    if training is None:
        return 0, 0
    require(
        estimates or training.final_model != "best",
        'final_model "best" needs clients that estimate losses: set training.algorithm to "adaptive".',
    )
    data = feed.federated(training, [point.config] * len(seeds), [int(s.data) for s in seeds], data_dir)
    return data.index.shape[2], data.test_index.shape[1]
