"""Work of several processes on one directory of results, without a driver: each takes the units that nobody has.

The first process that comes writes the plan, so that all have the same units. A process takes the lease of a unit,
looks whether its runs are finished, and computes those that are not. It begins at a place of its own in the plan and
then helps with the rest.
"""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jfed import config as configs
from jfed.core import prng
from jfed.core.errors import ConfigError, StorageError, require
from jfed.results import index, records, store
from jfed.results.lease import Leases, alone
from jfed.runner import checkpoint, memory
from jfed.runner import host as hosts
from jfed.runner.batch import Host, compute_group
from jfed.runner.executors.executor import entry, keep
from jfed.runner.executors.local import ended
from jfed.runner.executors.station import compare, versions
from jfed.runner.leave import Leaving
from jfed.runner.site import here
from jfed.runner.specs import Layout
from jfed.runner.units import Asked, Unit, ask, blocks, cut, names
from jfed.runner.watch import Flat
from jfed.sweep import Point, listed, listed_seeds

PLANNING_S = 0.2  # between two looks for the plan of another process
LOOKING = 20.0  # times longer than the last listing of the results is the pause until the next, unless a file is there


def work(
    points: Iterable[Point], seeds: Iterable[int | prng.Seeds], out: Path, layout: Layout, data_dir: str | None = None,
    shard: tuple[int, int] = (1, 1), progress: bool = True,
) -> tuple[int, int]:  # fmt: skip
    """Compute the runs of a study that nobody has computed and nobody is computing.

    Args:
        points: points from `jfed.sweep`.
        seeds: see `jfed.run`.
        out: directory of results, which all processes see.
        layout: see `Layout`.
        data_dir: directory of the data sets.
        shard: number of this process, from 1, and the number of processes.
        progress: whether to show progress.

    Returns:
        the number of runs that were computed here, and of those that are not finished, which others have.

    Raises:
        ConfigError: a setting cannot be run, or this process would compute other bits than the one that planned.
        StorageError: a file cannot be written.
        Unfinished: time is up.
        KeyboardInterrupt: a signal ended the work.
    """
    number, many = shard
    require(1 <= number <= many, f"A shard is a number of how many, such as 3/100, found {number}/{many}.")
    hosts.setup()
    started, points, every, site = time.perf_counter(), listed(points), listed_seeds(seeds), here()
    groups = ask(points, every, layout, data_dir, site)
    host = Host(store.prepare(out), layout, Leaving(layout.max_seconds), site, names(groups))
    directory, runs = _Directory(out, layout.record_selected), sum(len(group.runs) for group in groups)
    with store.lock(out, shared=True), Leases(out / "leases") as leases, host.leaving:
        units = _planned(groups, points, every, host, directory, leases)
        start = len(units) * (number - 1) // many
        left = directory.unfinished([*units[start:], *units[:start]])
        each = [unit.config.num_rounds for unit in left]
        rounds, ready = -(-sum(each) // site.num_devices), runs - sum(len(unit.runs) for unit in left)
        try:
            with Flat(f"shard {number}/{many}", max(each, default=0), rounds, runs, ready, progress) as host.watch:
                _until_nothing_is_free(left, host, directory, leases)
            ended(host)
        finally:
            if host.parts:
                with contextlib.suppress(StorageError), alone(out / "leases", "manifest"):
                    told = entry(host, points, time.perf_counter() - started)
                    store.write_manifest(out, {"shard": f"{number}/{many}"} | told)
    done = directory.done()
    others = sum(run.id not in done for group in groups for run in group.runs)
    return sum(len(part.runs) for part in host.parts.values()), others


def _until_nothing_is_free(left: Sequence[Unit], host: Host, directory: "_Directory", leases: Leases) -> None:
    """Compute units until all that are left are other processes'; those of a dead process become free."""
    sizes: dict[int, int] = {}  # of the blocks that fit into memory, by group
    taken = True
    while taken:
        taken = False
        for batch in _taken(left, host, directory, leases):
            taken, group = True, batch[0].group
            most = sizes.get(group, batch[0].block_size)
            smaller = batch if most >= batch[0].block_size else cut(batch, most)
            fitting = memory.fitted(smaller, host.layout, host.site.num_devices, lambda units: _compute(units, host))
            sizes[group] = max(unit.block_size for unit in fitting)
        left = directory.unfinished(left)


def _taken(left: Sequence[Unit], host: Host, directory: "_Directory", leases: Leases) -> Iterator[list[Unit]]:
    """Yield units of one program whose leases have been taken, at most one per device; then give the leases back."""
    batch: list[Unit] = []
    for unit in left:
        alike = not batch or (unit.group, unit.block_size) == (batch[0].group, batch[0].block_size)
        if batch and (len(batch) == host.site.num_devices or not alike):
            yield batch
            for done in batch:
                leases.give_back(done.id)
            batch = []
        if not leases.take(unit.id):
            continue
        if directory.still_unfinished(unit, host.path(unit)):  # it may have been finished before the lease was free
            batch.append(unit)
        else:
            leases.give_back(unit.id)
    if batch:
        yield batch
        for done in batch:
            leases.give_back(done.id)


def _compute(batch: Sequence[Unit], host: Host) -> None:
    """Compute units that are not done."""
    missing = [unit for unit in batch if host.path(unit) not in host.parts]
    for unit, part in compute_group(missing, host) if missing else ():
        keep(unit, part, host)
        host.parts[host.path(unit)] = replace(part, arrays={})  # the file has them


def _planned(
    groups: Sequence[Asked], points: Sequence[Point], seeds: Sequence[prng.Seeds], host: Host, directory: "_Directory",
    leases: Leases,
) -> list[Unit]:  # fmt: skip
    """Return the units of the plan; the first process writes it."""
    assert host.out is not None
    layout, what = host.layout, [configs.canonical(point.config) for point in points]
    asked = [what, [[int(s) for s in own] for own in seeds], layout.record_selected, layout.block_size, layout.lane]
    name, ids = configs.digest(asked), [run.id for group in groups for run in group.runs]
    path = host.out / "plans" / f"{name}.json"
    mine = {"backend": host.site.backend, "precision": host.site.precision, "device": host.site.device} | versions()
    mine |= {"the code or the data of a member": configs.digest(ids)}
    while not path.exists():
        if not leases.take(f"plan-{name}"):
            time.sleep(PLANNING_S)
            continue
        if not path.exists():
            found = [block for folder in sorted(host.out.glob("checkpoints/*")) if (block := checkpoint.begun(folder))]
            units = [unit for group in groups for unit in blocks(group, layout, directory.done(), found)]
            plan = [{"runs": [run.id for run in unit.runs], **unit.block_layout()} for unit in units]
            _write(path, {"made": mine, "units": plan})
        leases.give_back(f"plan-{name}")
    try:
        plan = records.read(path)
        made, planned = dict(plan["made"]), {run for unit in plan["units"] for run in unit["runs"]}
        units = [unit for group in groups for unit in blocks(group, layout, (), plan["units"])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is damaged: delete it.") from error
    try:
        compare(mine, {name: made.get(name) for name in mine}, "this process", "the one that planned")
    except ConfigError as error:
        raise ConfigError(f"{error} If this process is right, delete {path}.") from None
    done = directory.done()  # a result that is damaged by now is neither planned nor done
    return [unit for unit in units if any(run.id in planned or run.id not in done for run in unit.runs)]


def _write(path: Path, content: Any) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        store.write_whole(path, json.dumps(content).encode())
    except OSError as error:
        raise StorageError(f"The plan cannot be written to {path} ({error.strerror}).") from error


class _Directory:
    """The finished runs of a directory, of which only new files are read again."""

    def __init__(self, out: Path, recorded: bool) -> None:
        self._out, self._recorded, self._index = out, recorded, index.Index()
        self._done: set[str] = set()
        self._again = 0.0  # when a look is worth its time again

    def done(self) -> set[str]:
        """Return the finished runs."""
        begun = time.monotonic()
        self._index = index.survey(self._out, store.files(self._out / "results"), True, before=self._index)
        self._done = {run for run in self._index.runs if self._index.place(run, self._recorded)}
        self._again = time.monotonic() + LOOKING * (time.monotonic() - begun)
        return self._done

    def unfinished(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units with runs that are not finished."""
        done = self.done()
        return [unit for unit in units if any(run.id not in done for run in unit.runs)]

    def still_unfinished(self, unit: Unit, path: Path) -> bool:
        """Return whether a unit that was unfinished has runs that are not finished, as far as one quick look shows.

        A large folder on a network takes seconds to list, so this is seldom done for a unit whose own file is not
        there: its runs are then finished only if another process had to cut its block, and they would get equal files.
        """
        if path.exists() or time.monotonic() >= self._again:
            self.done()
        return any(run.id not in self._done for run in unit.runs)
