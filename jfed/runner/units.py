"""From points and seeds to units: the pieces of work that are computed, stored, skipped and resumed.

Points with the same static half form a compile group. In a group, (seed, point) is flattened to one run axis, seeds
slowest so that more seeds leave the earlier units as they are, and cut into blocks of a fixed size.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from jfed import catalog
from jfed import config as configs
from jfed.config import Config, Training
from jfed.core import prng
from jfed.core.errors import require, unknown
from jfed.core.options import static_half
from jfed.core.types import Dims
from jfed.engine import facts
from jfed.engine.lanes import LANES
from jfed.engine.simulate import Block, Pool
from jfed.engine.spec import Spec, TrainingSpec, build
from jfed.engine.state import RunParams
from jfed.models.classifier import Inputs
from jfed.runner import feed
from jfed.sweep import Point

RESULTS_VERSION = 6  # raised whenever the same config and seed would give other numbers
SELECTION_BLOCK = 64  # on a CPU 128 is no faster, 16 is about 1.5 times slower
TRAINING_BLOCK = {"sequential": 1, "vmapped": 16}  # a CPU gains little from more; 16 is a guess for accelerators
CHUNK_ROUNDS = {False: 500, True: 25}


@dataclass(frozen=True)
class Layout:
    """How work is laid out; recorded with the results, and no part of what they mean.

    Attributes:
        block_size: runs of a block; None means 64, or with training 1 on a CPU and 16 elsewhere (for fewer runs the
            next power of two), halved until the program fits into memory. What was begun in smaller blocks goes on
            in them, so that more seeds leave full blocks as they are.
        chunk_rounds: rounds between two looks by the host, at most; None means 500 (25 with training). A chunk that
            would take longer than ten seconds is cut shorter.
        lane: "sequential" or "vmapped"; None means sequential on a CPU, else vmapped.
        record_selected: keep the cohort of every round.
        checkpoint_s: seconds between two checkpoints, at least; 0 writes one after every chunk.
        max_seconds: leave with `Unfinished` at the end of the chunk in which this time is up; None means never.
    """

    block_size: int | None = None
    chunk_rounds: int | None = None
    lane: str | None = None
    record_selected: bool = False
    checkpoint_s: float = 30.0
    max_seconds: float | None = None


class Run(NamedTuple):
    """One run: a point and its seeds."""

    point: Point
    seeds: prng.Seeds


@dataclass(frozen=True, eq=False)
class Unit:
    """One block of runs of one compile group.

    Attributes:
        group: number of its compile group in the sweep.
        spec: its program.
        runs: at most `block_size` of them.
        block_size: the last block is padded to it.
        widths: of the tables of clients' and of test images, the same for all units of a group.
        data_dir: where data sets are.
    """

    group: int
    spec: Spec
    runs: tuple[Run, ...]
    block_size: int
    widths: tuple[int, int]
    data_dir: str | None

    @property
    def config(self) -> Config:
        """The first run's config: horizon and evaluation are the same for all."""
        return self.runs[0].point.config

    @functools.cached_property
    def id(self) -> str:
        """Names the unit by what it computes: equal units have equal ids on every machine."""
        runs = [(r.point.config, r.point.coords, [int(s) for s in r.seeds]) for r in self.runs]
        spec, training = self.spec, self.config.training
        data = None if training is None else feed.dataset(training.dataset, self.data_dir).digest
        numbers = [jax.default_backend(), bool(jax.config.jax_enable_x64)]  # type: ignore[attr-defined]
        layout = [self.block_size, spec.lane, spec.record_selected]
        return configs.digest([RESULTS_VERSION, numbers, data, runs, layout])

    def block(self) -> Block:
        """The runs' arrays, padded by repeating the last run; where they train, copies have no images: no work."""
        runs = [*self.runs, *[self.runs[-1]] * (self.block_size - len(self.runs))]
        params = jax.tree.map(lambda *xs: np.stack(xs), *(run_params(r.point.config) for r in runs))
        seeds = jax.tree.map(lambda *xs: np.stack(xs), *(r.seeds for r in runs))
        training = self.config.training
        if training is None:
            ones: Any = np.ones((len(runs), self.config.num_clients), np.int32)
            return Block(seeds, params, ones)
        own, data_seeds = [r.point.config for r in runs], [int(r.seeds.data) for r in runs]
        data = feed.federated(training, own, data_seeds, self.data_dir, self.widths)
        real = np.arange(len(runs)) < len(self.runs)
        num_samples: Any = data.num_samples * real[:, None]  # NumPy arrays: jit moves them to the device
        return Block(seeds, params, num_samples, data.index, data.test_index, data.num_test * real)

    def pool(self, num_devices: int = 1) -> Pool:
        """The images that all blocks share, training images first, on each of the first devices."""
        training = self.config.training
        if training is None:
            return Pool()
        return feed.pool(training.dataset, self.data_dir, num_devices)


# ----------------------------------------------------------------------------------------- data and params


def run_params(config: Config) -> RunParams:
    """The dynamic half of a config, checked, as NumPy arrays."""
    problem = configs.problem(config)
    return RunParams(
        environment=config.environment.params(problem),
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


def make_spec(config: Config, layout: Layout, slots: int, data_dir: str | None) -> Spec:
    """The static half of a config."""
    training = config.training
    batch_size = 1 if training is None else training.batch_size
    lane = layout.lane or ("sequential" if jax.default_backend() == "cpu" else "vmapped")
    features, resources = config.environment.features, configs.resources(config)
    chunk = layout.chunk_rounds or CHUNK_ROUNDS[training is not None]
    return Spec(
        dims=Dims(config.num_clients, slots, batch_size, features, resources),
        environment=static_half(config.environment),
        selector=static_half(config.selector),
        controller=static_half(config.controller),
        training=None if training is None else _training_spec(training, data_dir),
        lane=lane,
        chunk_rounds=min(chunk, config.num_rounds),
        record_selected=layout.record_selected,
    )


def slots_bound(config: Config) -> int:
    """A static bound on the cohort, a power of two so that sweeps over k share a program."""
    most = config.selector.slots(configs.problem(config))
    return min(config.num_clients, 1 << (most - 1).bit_length())


# ------------------------------------------------------------------------------------------------- planning


def plan(
    points: Sequence[Point], seeds: Iterable[int | prng.Seeds], layout: Layout, data_dir: str | None = None
) -> list[Unit]:
    """All units of a sweep. Every setting and every partition is checked here, before anything compiles.

    Args:
        points: at least one.
        seeds: at least one; an int seeds everything, `prng.seeds` sets streams apart.
        layout: see `Layout`.
        data_dir: where data sets are.

    Raises:
        ConfigError: a setting that cannot be run.
        DataError: data that cannot be had, or too few images.
    """
    every = [s if isinstance(s, prng.Seeds) else prng.seeds(s) for s in seeds]
    require(len(points) > 0 and len(every) > 0, "There is nothing to run: give at least one scheme and one seed.")
    require(len({tuple(map(int, s)) for s in every}) == len(every), "A seed is listed twice.")
    names = [str(sorted(p.coords.items())) for p in points]
    twice = next((p.coords for p in points if names.count(str(sorted(p.coords.items()))) > 1), None)
    require(twice is None, f"Two points of the sweep have the same name {twice}: results could not tell them apart.")
    for name in ("block_size", "chunk_rounds"):
        size = getattr(layout, name)
        require(size is None or size >= 1, f"{name} must be at least 1, found {size}.")
    for name in ("checkpoint_s", "max_seconds"):
        seconds = getattr(layout, name)
        require(seconds is None or seconds >= 0, f"{name} must be at least 0, found {seconds}.")
    if layout.lane not in (None, *LANES):
        raise unknown("lane", layout.lane, LANES)
    groups: dict[Any, list[Point]] = {}
    widths: dict[Any, tuple[int, int]] = {}
    for point in points:
        configs.check(point.config)
        point = dataclasses.replace(point, config=configs.normal(point.config))
        shapes = str(jax.tree.map(np.shape, run_params(point.config)))
        spec = make_spec(point.config, layout, 0, data_dir)
        key = (spec, shapes, point.config.num_rounds, point.config.eval_every, feed.shape(point.config.training))
        groups.setdefault(key, []).append(point)
        width = _check_training(point, spec, every, data_dir)
        widths[key] = max(width[0], widths.get(key, (0, 0))[0]), max(width[1], widths.get(key, (0, 0))[1])
    units: list[Unit] = []
    for number, (key, members) in enumerate(groups.items()):
        slots = max(slots_bound(p.config) for p in members)
        spec = make_spec(members[0].config, layout, slots, data_dir)
        runs = [Run(point, s) for s in every for point in members]
        # Copies that fill a block up take places on an accelerator, though they have no work.
        filled = 1 << (len(runs) - 1).bit_length()
        default = SELECTION_BLOCK if spec.training is None else min(TRAINING_BLOCK[spec.lane], filled)
        size = layout.block_size or default
        units += cut([Unit(number, spec, tuple(runs), len(runs), widths[key], data_dir)], size)
    return units


def cut(group: Sequence[Unit], size: int) -> list[Unit]:
    """The runs of a compile group in blocks of this size."""
    runs = [run for unit in group for run in unit.runs]
    blocks = [tuple(runs[i : i + size]) for i in range(0, len(runs), size)]
    return [dataclasses.replace(group[0], runs=block, block_size=size) for block in blocks]


def _check_training(
    point: Point, spec: Spec, seeds: Sequence[prng.Seeds], data_dir: str | None
) -> tuple[int, int]:  # fmt: skip
    """Refuse training that cannot be; how wide its tables are."""
    training, control = point.config.training, point.config.controller
    algorithm = build(spec).algorithm
    estimates = algorithm is not None and algorithm.estimates
    require(
        estimates or not control.needs_estimates(),
        'Adaptive tau, and the stop rule "best", need clients that make estimates: set training.algorithm to that of'
        ' "adaptive", or a fixed tau and another stop rule.',
    )
    name = point.coords.get("method", catalog.label(point.config.selector))
    facts.check(build(spec).selector, name, training is not None)
    if training is None:
        require(
            build(spec).selector.probe is None,
            f"{name} asks clients for their loss, which a"
            " selection-only run does not have: add training, or leave the scheme out.",
        )
        return 0, 0
    require(
        estimates or training.final_model != "best",
        'To return the best model needs clients that estimate it: set training.algorithm to that of "adaptive".',
    )
    data = feed.federated(training, [point.config] * len(seeds), [int(s.data) for s in seeds], data_dir)
    return data.index.shape[2], data.test_index.shape[1]
