"""A trace from a file: the intervals in which each client is on, reproduced exactly, the same for all seeds.

The file has the columns client, start and end: csv with a header, or npz with an array for each. Clients count from 0.
A client is on from `start` to before `end`, and off where the file says nothing. Times are rounds, so that a client
with start 0 and end 3 is on in the first three rounds; or seconds, where `round_s` gives a round's length in the trace.

*Departures.* A round has the same length in the trace, `round_s`, however long it takes in the run: else, who is
available would depend on the selection, and schemes would not be compared in the same world. A client is on in a round
if it is at the round's start. Changes of rates do not apply.
"""

import functools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int, PRNGKeyArray

from jfed.core.errors import DataError, require
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem
from jfed.envs.parts import files
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate

BITS = 32  # clients in a word


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        words: whether each client is on in each round, 32 clients in a word, the first in the lowest bit.
    """

    words: Int[Array, "rounds words"]


@dataclass(frozen=True)
class Trace(OnOffOptions):
    """Settings of a trace; `from_file` makes them.

    Attributes:
        digest: digest of the intervals, by which two traces are the same.
        round_s: length of a round in the file's unit of time.
        repeats: whether the trace begins again after its last end.
        content: the intervals themselves.
    """

    names = (Name("trace"),)

    digest: str = ""
    round_s: float = 1.0
    repeats: bool = False
    content: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def from_file(cls, path: str | Path, round_s: float = 1.0, repeats: bool = False) -> "Trace":
        """Return the trace in a file.

        Args:
            path: a csv or npz file with the columns client, start and end.
            round_s: length of a round in the file's unit of time.
            repeats: whether the trace begins again after its last end.

        Raises:
            DataError: the file cannot be read, or an interval is empty, negative or overlaps another of its client.
        """
        path = Path(path)
        try:
            stat = path.stat()
        except OSError as error:
            raise DataError(f"The trace {path} cannot be read ({error.strerror}).") from error
        return replace(_from_file(path, stat.st_mtime_ns, stat.st_size), round_s=round_s, repeats=repeats)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking that the trace fits the run."""
        require(
            self.content is not None, 'A trace needs a file: write availability="file.csv" or Trace.from_file(...).'
        )
        require(0 < self.round_s < np.inf, f"round_s must be positive, found {self.round_s:g}.")
        num_clients, num_rounds, rows = problem.num_clients, problem.num_rounds, self.content
        client, end = rows.values["client"], rows.values["end"]
        for row in np.flatnonzero(client >= num_clients)[:1]:
            raise DataError(f"{rows.at(row)}: there is no client {client[row]:g} among {num_clients}, counted from 0.")
        last = (num_rounds - 1) * self.round_s
        require(
            self.repeats or last < end.max(),
            f"The trace {rows.path} ends at {end.max():g}, before round {num_rounds}, which begins at {last:g}: let it"
            " repeat, or hold fewer rounds.",
        )
        return as_arrays(Params, words=_words(rows, num_clients, num_rounds, self.round_s, self.repeats))

    def expected(self) -> float:
        """Return the share of the trace in which a client is on, over all clients up to the last one in it."""
        if self.content is None:
            return 1.0
        client, start, end = self.content.values.values()
        return float((end - start).sum() / (end.max() * (client.max() + 1)))

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: Params, about: About) -> Rate:
            return jnp.ones(dims.num_clients)

        def init(key: PRNGKeyArray, params: Params, rate: Rate) -> tuple[()]:
            return ()

        def on(params: Params, t: Int[Array, ""]) -> Bool[Array, " clients"]:
            bits = params.words[t - 1][:, None] >> jnp.arange(BITS) & 1
            return bits.reshape(-1)[: dims.num_clients] > 0

        def chance(state: tuple[()], params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
            return on(params, t).astype(rate.dtype)

        def step(
            key: PRNGKeyArray, state: tuple[()], params: Params, rate: Rate, t: Int[Array, ""]
        ) -> tuple[tuple[()], Bool[Array, " clients"]]:
            return (), on(params, t)

        return OnOff(rate, init, chance, step)


@functools.lru_cache(maxsize=4)
def _from_file(path: Path, *_: int) -> Trace:
    rows = files.read(path, ("client", "start", "end"))
    client, start, end = rows.values.values()
    for row in np.flatnonzero(start < 0)[:1]:
        raise DataError(f"{rows.at(row)}: an interval must not begin before 0, found {start[row]:g}.")
    for row in np.flatnonzero(end <= start)[:1]:
        raise DataError(f"{rows.at(row)}: an interval must end after its start {start[row]:g}, found {end[row]:g}.")
    order = np.lexsort((start, client))
    same = client[order[1:]] == client[order[:-1]]
    for place in np.flatnonzero(same & (start[order[1:]] < end[order[:-1]]))[:1]:
        other = rows.lines[order[place]]
        raise DataError(
            f"{rows.at(int(order[place + 1]))}: this interval of client {client[order[place]]:g} overlaps that of"
            f" {rows.word} {other}."
        )
    return Trace(digest=rows.digest, content=rows)


@functools.lru_cache(maxsize=4)
def _words(rows: files.Columns, num_clients: int, num_rounds: int, round_s: float, repeats: bool) -> np.ndarray:
    """Return whether each client is on in each round, as words of bits."""
    client, start, end = rows.values.values()
    when = np.arange(num_rounds) * round_s
    when = when % end.max() if repeats else when
    on = np.zeros((num_rounds, -(-num_clients // BITS) * BITS), bool)
    order = np.lexsort((start, client))
    own = np.searchsorted(client[order], np.arange(num_clients + 1))
    for i in range(num_clients):
        mine = order[own[i] : own[i + 1]]
        if len(mine):
            place = np.searchsorted(start[mine], when, side="right") - 1
            on[:, i] = (place >= 0) & (when < end[mine][np.maximum(place, 0)])
    return np.packbits(on, axis=1, bitorder="little").view("<u4").astype(np.int32)
