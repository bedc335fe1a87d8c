"""Units of work, planned from points and seeds: the pieces that are computed, stored, skipped and resumed.

Points with the same static half form a compile group. In a group, (seed, point) is flattened to one run axis, with
seeds slowest so that more seeds leave the earlier units as they are, and cut into blocks of a fixed size.
"""

import dataclasses
import functools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from jfed import config as configs
from jfed.config import Config
from jfed.core import prng
from jfed.core.errors import require, shown, unknown
from jfed.core.options import hints, require_type
from jfed.engine.lanes import LANES
from jfed.engine.simulate import Block, Pool
from jfed.engine.spec import Spec
from jfed.runner import feed
from jfed.runner.identity import Run, called, kind_of
from jfed.runner.room import require_room
from jfed.runner.site import Site, here
from jfed.runner.specs import Layout, check_training, make_spec, run_params, slots_bound
from jfed.sweep import Point, listed_seeds

# A selection-only block on a CPU: seed-rounds per second still grow up to this number of runs, while the block's state
# (runs x clients) stays in a core's cache. Measurements are in BUILD_NOTES.
SELECTION_RUNS, SELECTION_CELLS = 256, 25_600


@dataclass(frozen=True, eq=False)
class Unit:
    """One block of runs of one compile group.

    Attributes:
        group: number of its compile group in the sweep.
        spec: spec of its program.
        runs: its runs, at most `block_size`.
        block_size: number of runs to which the block is padded.
        widths: widths of the tables of clients' images and of test images, the same for all units of a group.
        data_dir: directory of the data sets.
    """

    group: int
    spec: Spec
    runs: tuple[Run, ...]
    block_size: int
    widths: tuple[int, int]
    data_dir: str | None

    @property
    def config(self) -> Config:
        """The first run's config; the horizon and the evaluated rounds are the same for all."""
        return self.runs[0].point.config

    @functools.cached_property
    def id(self) -> str:
        """The unit's name, made from its runs and their layout; the same on all machines."""
        return configs.digest([[run.id for run in self.runs], self.block_layout()])

    def block_layout(self) -> dict[str, Any]:
        """Return the settings that must be the same to resume a block that another process left."""
        spec = self.spec
        return {"block_size": self.block_size, "lane": spec.lane, "record_selected": spec.record_selected}

    def block(self) -> Block:
        """Return the runs' arrays, padded with copies of the last run; in training, copies have no images: no work."""
        runs = [*self.runs, *[self.runs[-1]] * (self.block_size - len(self.runs))]
        each = [run_params(r.point.config, int(r.seeds.data), self.data_dir) for r in runs]
        params = jax.tree.map(lambda *xs: np.stack(xs), *each)
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
        """Return the images that all blocks share, training images first, on each of the first devices."""
        training = self.config.training
        if training is None:
            return Pool()
        return feed.pool(training.dataset, self.data_dir, num_devices)


# ------------------------------------------------------------------------------------------------- planning


class Asked(NamedTuple):
    """All runs of a compile group, whether they are finished or not.

    Attributes:
        group: its number in the sweep.
        spec: spec of its program.
        runs: its runs, with seeds slowest, so that more seeds leave the earlier blocks as they are.
        widths: widths of the tables of clients' images and of test images.
        data_dir: directory of the data sets.
        site: where it will be computed.
    """

    group: int
    spec: Spec
    runs: tuple[Run, ...]
    widths: tuple[int, int]
    data_dir: str | None
    site: Site


def plan(
    points: Sequence[Point], seeds: Iterable[int | prng.Seeds], layout: Layout, data_dir: str | None = None
) -> list[Unit]:
    """Return all units of a sweep, as if none of its runs were finished; see `ask`."""
    return [unit for group in ask(points, seeds, layout, data_dir) for unit in blocks(group, layout)]


def ask(
    points: Sequence[Point], seeds: Iterable[int | prng.Seeds], layout: Layout, data_dir: str | None = None,
    site: Site | None = None,
) -> list[Asked]:  # fmt: skip
    """Return all runs of a sweep by compile group, after checking every setting and partition.

    Args:
        points: at least one point.
        seeds: at least one seed; an int seeds all streams, `prng.seeds` seeds them separately.
        layout: see `Layout`.
        data_dir: directory of the data sets.
        site: where the runs will be computed; None for this process.

    Raises:
        ConfigError: a setting cannot be run.
        DataError: data cannot be obtained, or there are too few images.
    """
    every, site = listed_seeds(seeds), site or here()
    _check(points, every, layout)
    groups: dict[Any, list[Point]] = {}
    widths: dict[Any, tuple[int, int]] = {}
    for point in points:
        configs.check(point.config)
        require_room(point.config, layout.record_selected)
        point = dataclasses.replace(point, config=configs.normal(point.config))
        shapes = str(jax.tree.map(np.shape, run_params(point.config, int(every[0].data), data_dir)))
        spec = make_spec(point.config, layout, 0, data_dir, site.backend)
        key = (spec, shapes, point.config.num_rounds, point.config.eval_every, feed.shape(point.config.training))
        groups.setdefault(key, []).append(point)
        width = check_training(point, spec, every, data_dir)
        widths[key] = max(width[0], widths.get(key, (0, 0))[0]), max(width[1], widths.get(key, (0, 0))[1])
    asked = []
    for number, (key, members) in enumerate(groups.items()):
        slots = max(slots_bound(p.config) for p in members)
        spec = make_spec(members[0].config, layout, slots, data_dir, site.backend)
        kinds = [kind_of(p.config, spec, data_dir, site) for p in members]
        runs = [Run(point, s, kind) for s in every for point, kind in zip(members, kinds, strict=True)]
        asked.append(Asked(number, spec, tuple(runs), widths[key], data_dir, site))
    return asked


def names(groups: Sequence[Asked]) -> dict[str, list[dict[str, Any]]]:
    """Return, by kind of run, the names that the command gives it; see `identity.called`."""
    own = {(id(run.point), run.kind.id): run for group in groups for run in group.runs}.values()
    return called([run.point for run in own], [run.kind for run in own])


def _check(points: Sequence[Point], seeds: Sequence[prng.Seeds], layout: Layout) -> None:
    """Refuse a sweep whose points or seeds cannot be told apart, and a layout with impossible values."""
    require_layout(layout)
    require(len(points) > 0 and len(seeds) > 0, "There is nothing to run: give at least one scheme and one seed.")
    require(len({tuple(map(int, s)) for s in seeds}) == len(seeds), "A seed is listed twice.")
    seen: set[str] = set()
    for point in points:
        name = str(sorted(point.coords.items()))
        require(
            name not in seen,
            f"Two points of the sweep have the same name {point.coords}, so results could not tell them apart: give"
            ' jfed.methods names of your own, as in {"one": Mine(0.1), "two": Mine(0.2)}, or list each scheme once.',
        )
        seen.add(name)


def require_layout(layout: Any) -> None:
    """Check that a layout is one and has possible values.

    Raises:
        ConfigError: it is not, or has not.
    """
    require(isinstance(layout, Layout), f"The layout must be a jfed.Layout, found {shown(layout)}.")
    for f in dataclasses.fields(Layout):
        require_type(getattr(layout, f.name), hints(Layout)[f.name], f"Layout.{f.name}")
    for name in ("block_size", "chunk_rounds"):
        size = getattr(layout, name)
        require(size is None or size >= 1, f"{name} must be at least 1, found {size}.")
    for name in ("checkpoint_s", "max_seconds"):
        seconds = getattr(layout, name)
        require(seconds is None or seconds >= 0, f"{name} must be at least 0, found {seconds}.")
    if layout.lane not in (None, *LANES):
        raise unknown("lane", layout.lane, LANES)


def blocks(
    group: Asked, layout: Layout, done: Container[str] = (), begun: Iterable[Mapping[str, Any]] = ()
) -> list[Unit]:
    """Return the units of the unfinished runs of a group.

    Args:
        group: compile group from `ask`.
        layout: see `Layout`.
        done: ids of the finished runs.
        begun: blocks that have checkpoints ("runs" and `block_layout`); those that fit the layout resume as they are.
    """
    left = {run.id: run for run in group.runs if run.id not in done}
    units = []
    for block in begun:
        runs, size = block["runs"], block.get("block_size")
        if not isinstance(size, int) or layout.block_size not in (None, size) or any(run not in left for run in runs):
            continue
        unit = Unit(group.group, group.spec, tuple(left[run] for run in runs), size, group.widths, group.data_dir)
        if runs and unit.block_layout().items() <= dict(block).items():
            units.append(unit)
            left = {run: told for run, told in left.items() if run not in runs}
    if not left:
        return units
    whole = Unit(group.group, group.spec, tuple(left.values()), len(left), group.widths, group.data_dir)
    return [*units, *cut([whole], layout.block_size or _size(group.spec, len(left), group.site))]


def _size(spec: Spec, runs: int, site: Site) -> int:
    """Return the default number of runs of a block; results do not depend on it."""
    share = -(-runs // site.num_devices)
    if spec.training is not None:
        # Copies that pad a block take up places on an accelerator, though they have no work.
        return min(LANES[spec.lane].runs(spec.dims.slots), 1 << (share - 1).bit_length())
    most = SELECTION_RUNS
    if site.backend == "cpu":
        most = min(most, max(1, SELECTION_CELLS // spec.dims.num_clients))
    return -(-share // -(-share // most))  # as many blocks as `most` wants, of about the same size


def cut(group: Sequence[Unit], size: int) -> list[Unit]:
    """Return the runs of a compile group in blocks of this size."""
    runs = [run for unit in group for run in unit.runs]
    found = [tuple(runs[i : i + size]) for i in range(0, len(runs), size)]
    return [dataclasses.replace(group[0], runs=block, block_size=size) for block in found]


def halved(group: Sequence[Unit]) -> list[Unit]:
    """Return the units of a compile group with the largest blocks cut in two."""
    size = max(unit.block_size for unit in group) // 2
    small, large = [u for u in group if u.block_size <= size], [u for u in group if u.block_size > size]
    return [*small, *cut(large, size)]
