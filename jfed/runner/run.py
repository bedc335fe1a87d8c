"""Run a set of points: find finished runs, compute the missing ones, and return all of them as one dataset."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jfed.core import code, prng
from jfed.core.errors import require, require_folder, shown
from jfed.results import index, store
from jfed.results.load import read_rows
from jfed.results.whole import assemble
from jfed.runner import checkpoint
from jfed.runner.batch import Host
from jfed.runner.executors.executor import Executor, entry
from jfed.runner.executors.local import Local, ended
from jfed.runner.identity import Run, coordinates, say_changes
from jfed.runner.leave import Leaving
from jfed.runner.live import Callback, Live, require_callback
from jfed.runner.specs import Layout
from jfed.runner.units import Asked, ask, blocks, names, require_layout
from jfed.runner.watch import resuming
from jfed.sweep import Point, listed

if TYPE_CHECKING:
    import xarray as xr

log = logging.getLogger("jfed")


def run(
    points: Iterable[Point],
    seeds: Iterable[int | prng.Seeds],
    *,
    out: str | Path | None = None,
    layout: Layout | None = None,
    data_dir: str | None = None,
    progress: bool = True,
    on_chunk: Callback | None = None,
    devices: int | None = None,
    executor: Executor | None = None,
) -> xr.Dataset:
    """Run every point on every seed and return all results.

    With `out`, finished units are stored and unfinished ones leave checkpoints, from which the same call resumes, to
    the same bits. Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 end it after the current chunk of rounds; a second one ends it at
    once.

    Args:
        points: points from `jfed.sweep`.
        seeds: numbers from 0 to 2^32 - 1, or `prng.Seeds`.
        out: directory of results; runs found there are not computed again. None keeps results in memory.
        layout: how runs are grouped into blocks and chunks; the defaults suit most work.
        data_dir: directory of the data sets.
        progress: whether to show a bar on stderr, or a line a minute if stderr is no terminal.
        on_chunk: a function that is called with a `Progress` after each chunk of rounds, which takes about ten seconds;
            never if no run is missing. If it returns True, the call ends as at `Layout.max_seconds`: stopping is a
            value, so that every exception is an error. Any other value means to go on. An exception ends the call in
            the same way, and is raised here as it is.
        devices: number of this process's devices to use; None for all. If jax has not been used yet, a CPU counts as
            one device per core, and compiled programs are kept in a cache for later processes, as a command does it;
            else jax's devices and settings stay as they are.
        executor: where runs are computed, such as `jfed.Processes(4)`; None for this process. Unless jax has been used
            before, this process then leaves accelerators to the workers for good.

    Returns:
        the requested runs, as `jfed.load` returns them.

    Raises:
        ConfigError: a setting cannot be run, or another process writes to `out`; nothing has been computed then.
        StorageError: a result cannot be written.
        Unfinished: `Layout.max_seconds` have passed, or `on_chunk` has returned True.
        KeyboardInterrupt: a signal ended the call.
    """
    layout = Layout() if layout is None else layout
    require_layout(layout)
    require(layout.max_seconds is None or out is not None, "max_seconds needs out: unfinished work would be lost.")
    if out is not None:
        require_folder(out, "Results are written to a folder, found out=")
    told = data_dir is None or isinstance(data_dir, str | Path)
    require(told, f"Data sets are read from a folder, found data_dir={shown(data_dir)}.")
    require(devices is None or executor is None, "devices are those of this process: leave them out with an executor.")
    place = Local(devices) if executor is None else executor
    is_executor = hasattr(place, "compute") and not isinstance(place, type)
    require(is_executor, f"The executor must be such as jfed.Processes(4), found {shown(executor)}.")
    if on_chunk is not None:
        require_callback(on_chunk)
    leaving, points = Leaving(layout.max_seconds), listed(points)
    live = None if on_chunk is None else Live(on_chunk, leaving)
    with place:
        groups = ask(points, seeds, layout, data_dir, place.site)
        runs = [run for group in groups for run in group.runs]
        host = Host(None if out is None else store.prepare(Path(out)), layout, leaving, place.site, names(groups), live)
        if host.out is None:
            known = index.Index()
            place.compute([blocks(group, layout) for group in groups], host, len(runs), progress)
            ended(host)
        else:
            known = _stored(groups, runs, host, place, progress, points)
    return _whole(runs, known, host)


def _stored(
    groups: Sequence[Asked], runs: Sequence[Run], host: Host, place: Executor, progress: bool, points: Sequence[Point]
) -> index.Index:  # fmt: skip
    """Compute the runs that the directory lacks, and return its index."""
    assert host.out is not None
    known = _known(host, runs)
    if not _missing(runs, known, host.layout):
        _say(resuming(host.out, len(runs), len(runs), 0, ()), progress)
    else:
        with store.lock(host.out):
            known = _known(host, runs)
            say_changes(_missing(runs, known, host.layout), known.kinds)
            store.remove_leftovers(host.out, lambda folder: _needless(folder, known))
            _compute_missing(groups, known, host, place, progress, points)
    if known.rename(host.names):
        index.write_labels(host.out, known)
    return known


def _known(host: Host, runs: Sequence[Run]) -> index.Index:
    """Return the stored runs; warn once if some of the requested ones were made by different engine code."""
    assert host.out is not None
    known = index.survey(host.out, store.files(host.out / "results"), set_aside=True)
    places = [known.place(run.id, host.layout.record_selected) for run in runs]
    if any(place and known.engines[place.path] != code.engine_digest() for place in places) and not host.warned:
        host.warned = True
        log.warning(
            f"Some results in {host.out} were made by different engine code of the same version: raise ENGINE_VERSION"
            " if the code computes other numbers now."
        )
    return known


def _missing(runs: Sequence[Run], known: index.Index, layout: Layout) -> list[Run]:
    return [run for run in runs if known.place(run.id, layout.record_selected) is None]


def _say(sentence: str, progress: bool) -> None:
    if sentence and progress:
        print(sentence, file=sys.stderr, flush=True)


def _needless(folder: Path, known: index.Index) -> bool:
    """Return whether a folder of checkpoints cannot be resumed or holds only finished runs."""
    block = checkpoint.begun(folder)
    return block is None or all(known.place(run, block.get("record_selected")) for run in block["runs"])


def _compute_missing(
    groups: Sequence[Asked], known: index.Index, host: Host, place: Executor, progress: bool, points: Sequence[Point]
) -> None:  # fmt: skip
    """Compute the missing runs and enter them in the index and the manifest, even if the command is interrupted."""
    assert host.out is not None
    started = time.perf_counter()
    done = {run.id for group in groups for run in group.runs} - {
        run.id for group in groups for run in _missing(group.runs, known, host.layout)
    }
    found = [block for folder in sorted(host.out.glob("checkpoints/*")) if (block := checkpoint.begun(folder))]
    try:
        units, runs = [blocks(group, host.layout, done, found) for group in groups], sum(len(g.runs) for g in groups)
        begun = {unit: r for group in units for unit in group if (r := checkpoint.reached(host.out, unit.id))}
        many = sum(len(unit.runs) for unit in begun)
        _say(resuming(host.out, runs, len(done), many, [*begun.values()]), progress)
        with host.leaving:
            place.compute(units, host, runs, progress)
            ended(host)
    finally:
        for path, part in host.parts.items():
            known.add(path, part)
        if host.parts:
            store.write_manifest(host.out, entry(host, points, time.perf_counter() - started))


def _whole(runs: Sequence[Run], known: index.Index, host: Host) -> xr.Dataset:
    """Return the requested runs, each under the names that this command gives it."""
    if host.out is None:
        for path, part in host.parts.items():
            known.add(path, part)
    recorded = host.layout.record_selected
    names = {index.text(one["coords"]): one for called in host.names.values() for one in called}
    wanted = [(run.id, names[index.text(coordinates(run.point))]) for run in runs]
    whole = assemble(read_rows(known, wanted, recorded, host.parts))
    return whole if recorded or "selected" not in whole else whole.drop_vars("selected")
