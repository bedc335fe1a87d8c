"""Computation in this process: compile groups one after another, and units of a group side by side on its devices."""

import sys
from collections.abc import Sequence
from typing import Self

from jfed.core.errors import Unfinished
from jfed.runner import ahead, host, memory
from jfed.runner.batch import Host, compute_group, leave
from jfed.runner.executors.executor import keep
from jfed.runner.leave import until
from jfed.runner.site import Site, here
from jfed.runner.units import Unit
from jfed.runner.watch import Watch

IDLE = 0.8  # share of busy devices up to which advice is given


class Local:
    """This process, with jax's devices or the first ones of them; see `Executor`."""

    def __init__(self, devices: int | None = None) -> None:
        """Take the number of devices; None means all that jax has."""
        self._devices = devices

    def __enter__(self) -> Self:
        host.setup(self._devices)
        self.site = here(self._devices)
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def compute(self, groups: Sequence[Sequence[Unit]], host: Host, runs: int, progress: bool) -> None:
        """Compute units by compile group; see `Executor.compute`."""
        devices, left = self.site.num_devices, sum(len(unit.runs) for group in groups for unit in group)
        work = [-(-len(group) // devices) * group[0].config.num_rounds for group in groups if group]
        groups, compiling = [group for group in groups if group], None
        if progress and (hint := idle([len(group) for group in groups], self.site)):
            print(hint, file=sys.stderr, flush=True)
        with Watch(work, runs, runs - left, progress) as host.watch:
            try:
                for planned, following in zip(groups, [*groups[1:], None], strict=True):
                    if compiling:
                        until(compiling)
                    compiling = ahead.begin(following, min(devices, len(following))) if following else None
                    memory.fitted(planned, host.layout, devices, lambda group: _compute(group, host))
            except Unfinished:
                if host.live is None or host.live.error is None:
                    raise
            finally:
                if compiling:
                    until(compiling)


def idle(units: Sequence[int], site: Site) -> str:
    """Return advice, given the number of units of each compile group, if it is long before all accelerators work."""
    busy = sum(units) / sum(-(-many // site.num_devices) for many in units) if units else site.num_devices
    if site.backend == "cpu" or len(units) < 2 or busy > IDLE * site.num_devices:
        return ""
    return (
        f"On average {busy:.1f} of {site.num_devices} devices have work, since programs run one after another here:"
        " --on processes (executor=jfed.Processes()) gives each device a process and a program of its own."
    )


def _compute(group: Sequence[Unit], host: Host) -> None:
    """Compute the units of a compile group that are not done."""
    missing = [unit for unit in group if host.path(unit) not in host.parts]
    try:
        for unit, part in compute_group(missing, host) if missing else ():
            keep(unit, part, host)
    except memory.TooLarge:
        host.watch.again()
        raise


def ended(host: Host) -> None:
    """Raise what the callback has raised, or KeyboardInterrupt after a signal that came in the last chunk."""
    if host.live is not None and host.live.error is not None:
        raise host.live.error  # outside of a handler, which would change the error's context
    if host.leaving.asked:
        leave(host)
