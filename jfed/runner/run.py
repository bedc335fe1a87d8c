"""Run a set of points: find finished runs, compute the missing ones, and return all of them as one dataset."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from jfed import config as configs
from jfed.core import code, prng
from jfed.core.errors import Unfinished, require, require_folder, shown
from jfed.results import index, store
from jfed.results.load import read_rows
from jfed.results.whole import assemble
from jfed.runner import ahead, checkpoint, memory
from jfed.runner.batch import Host, compute_group, leave
from jfed.runner.identity import Run, called, coordinates, say_changes
from jfed.runner.leave import Leaving, until
from jfed.runner.live import Callback, Live, require_callback
from jfed.runner.specs import Layout
from jfed.runner.units import Asked, Unit, ask, blocks, require_layout
from jfed.runner.watch import Watch, resuming
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
) -> xr.Dataset:
    """Run every point on every seed and return all results.

    With `out`, finished units are stored and unfinished ones leave checkpoints, from which the same call resumes, to
    the same bits. Ctrl-C and SIGTERM then end it after the current chunk of rounds; a second one ends it at once.

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
    if on_chunk is not None:
        require_callback(on_chunk)
    leaving, points = Leaving(layout.max_seconds), listed(points)
    live = None if on_chunk is None else Live(on_chunk, leaving)
    groups = ask(points, seeds, layout, data_dir)
    names = _names(groups)
    runs = [run for group in groups for run in group.runs]
    if out is None:
        host = Host(None, layout, leaving, names, live)
        _compute_all([blocks(group, layout) for group in groups], host, len(runs), progress)
        return _whole(runs, index.Index(), host)
    out = store.prepare(Path(out))
    host = Host(out, layout, leaving, names, live)
    known = _known(host, runs)
    if not _missing(runs, known, layout):
        _say(resuming(out, len(runs), len(runs), 0, ()), progress)
    else:
        with store.lock(out):
            known = _known(host, runs)
            say_changes(_missing(runs, known, layout), known.kinds)
            store.remove_leftovers(out, lambda folder: _needless(folder, known))
            _compute_missing(groups, known, host, progress, points)
    if known.rename(names):
        index.write_labels(out, known)
    return _whole(runs, known, host)


def _names(groups: Sequence[Asked]) -> dict[str, list[dict[str, Any]]]:
    """Return, by kind of run, the names that the command gives it; see `identity.called`."""
    own = {(id(run.point), run.kind.id): run for group in groups for run in group.runs}.values()
    return called([run.point for run in own], [run.kind for run in own])


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
    groups: Sequence[Asked], known: index.Index, host: Host, progress: bool, points: Sequence[Point]
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
            _compute_all(units, host, runs, progress)
    finally:
        for path, part in host.parts.items():
            known.add(path, part)
        if host.parts:
            entry = {
                "units": [path.stem for path in host.parts],
                "seconds": round(time.perf_counter() - started, 3),
                "device": str(jax.devices()[0].device_kind),
                "num_devices": len(jax.devices()),
                "block_sizes": sorted({part.layout["block_size"] for part in host.parts.values()}),
                "points": [{"coords": p.coords, "config": configs.canonical(p.config)} for p in points],
            }
            store.write_manifest(host.out, entry)


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


def _compute_all(groups: Sequence[Sequence[Unit]], host: Host, runs: int, progress: bool) -> None:
    """Compute units by compile group; keep each result in `host.parts` and, with a directory, in its file."""
    left = sum(len(unit.runs) for group in groups for unit in group)
    work = [-(-len(group) // len(jax.devices())) * group[0].config.num_rounds for group in groups if group]
    with Watch(work, runs, runs - left, progress) as host.watch:
        groups, compiling = [group for group in groups if group], None
        try:
            for planned, following in zip(groups, [*groups[1:], None], strict=True):
                if compiling:
                    until(compiling)
                compiling = ahead.begin(following) if following else None
                memory.fitted(planned, host.layout, lambda group: _compute_units(group, host))
        except Unfinished:
            if host.live is None or host.live.error is None:
                raise
        finally:
            if compiling:
                until(compiling)
    if host.live is not None and host.live.error is not None:
        raise host.live.error  # outside of a handler, which would change the error's context
    if host.leaving.asked:
        leave(host)


def _compute_units(group: Sequence[Unit], host: Host) -> None:
    """Compute the units of a compile group that are not done."""
    missing = [unit for unit in group if _path(unit, host) not in host.parts]
    try:
        for unit, part in compute_group(missing, host) if missing else ():
            if host.out is not None:
                store.write_unit(host.out, unit.id, part.content())
            host.parts[_path(unit, host)] = part
            host.watch.unit(len(unit.runs))
    except memory.TooLarge:
        host.watch.again()
        raise


def _path(unit: Unit, host: Host) -> Path:
    return store.unit_path(host.out or Path(), unit.id)
