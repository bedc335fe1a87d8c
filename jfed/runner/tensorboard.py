"""Curves for TensorBoard, written while a run computes."""

import time
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jfed.core.errors import StorageError, extra, require_folder
from jfed.runner.live import Progress

SUMS, SCORES = ("num_succeeded", "round_time_s"), ("test_accuracy", "test_loss")
SAFE = " ,=+()"  # in names of files, beside letters, digits and _.-~


class TensorBoard:
    """A callback for `jfed.run` that writes files for TensorBoard: `on_chunk=jfed.TensorBoard("out/curves")`.

    Each point of a batch has a folder, "e3cs-0.5, 10 seeds from 0", so that TensorBoard lays their curves over each
    other. The curves are those of `Progress`, by round: num_succeeded and round_time_s after each chunk, test_accuracy
    and test_loss after its last test. A resumed run goes on with them, and replaces what was written after the
    checkpoint.
    """

    def __init__(self, folder: str | Path) -> None:
        """Make the folder.

        Raises:
            ConfigError: tensorboardX is not installed, or there cannot be such a folder.
        """
        require_folder(folder, "Curves are written to a folder, found ")
        with extra("live"):
            import tensorboardX  # noqa: F401
        self._folder, self._round = Path(folder), 0
        self._open: dict[str, Any] = {}  # writers of the batch that is computed, by the names of their folders
        weakref.finalize(self, _close, self._open)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._failed(error) from error

    def __call__(self, progress: Progress) -> None:
        """Write what a chunk has added.

        Raises:
            StorageError: the files cannot be written.
        """
        from tensorboardX.proto.event_pb2 import Event  # type: ignore[attr-defined]
        from tensorboardX.summary import scalar

        names = {_curve(name, seeds): name for name, seeds in progress.seeds.items()}
        steps = dict.fromkeys(SCORES, progress.test_round) | dict.fromkeys(SUMS, progress.round)  # in rising order
        steps = {tag: step for tag, step in steps.items() if step is not None and step >= progress.first_round}
        try:
            if names.keys() != self._open.keys() or progress.first_round != self._round + 1:
                self._begin(names, progress.first_round)
            for curve, name in names.items():
                for tag, step in steps.items():
                    value = scalar(tag, getattr(progress, tag)[name])
                    self._open[curve].write_event(Event(step=step, summary=value, wall_time=time.time()))
                self._open[curve].flush()
        except OSError as error:
            raise self._failed(error) from error
        self._round = progress.round
        if progress.round == progress.num_rounds:
            _close(self._open)

    def _begin(self, curves: Any, first: int) -> None:
        """Open a file for each curve, which replaces the curve from its first round on."""
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog  # type: ignore[attr-defined]

        _close(self._open)
        for curve in curves:
            (self._folder / curve).mkdir(parents=True, exist_ok=True)
            # Files are named by the second: the first round keeps those of a quick resumption apart.
            self._open[curve] = writer = EventsWriter(str(self._folder / curve / "events"), f".{first}")
            start = SessionLog(status=SessionLog.START)
            writer.write_event(Event(step=first, session_log=start, wall_time=time.time()))

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(f"Curves cannot be written to {self._folder}: {error.strerror}.")


def _curve(name: str, seeds: tuple[Any, ...]) -> str:
    """Return the name of a point's folder; its batches share no seed."""
    first = str(seeds[0]) if isinstance(seeds[0], int) else "-".join(map(str, seeds[0]))
    return quote(f"{name}, {len(seeds)} seeds from {first}" if len(seeds) > 1 else f"{name}, seed {first}", safe=SAFE)


def _close(writers: dict[str, Any]) -> None:
    while writers:
        writers.popitem()[1].close()
