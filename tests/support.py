"""Tiny settings that share compiled programs, and helpers of several test files."""

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

import jfed
from jfed.core import prng
from jfed.engine import simulate
from jfed.engine.simulate import clock
from jfed.runner import units
from jfed.runner.units import Layout

K, T, BATCH = 8, 6, 8
LAYOUT = Layout(block_size=2, chunk_rounds=T)  # with the configs below: one program per scheme
SELECTION = jfed.Config(num_clients=K, cohort_size=3, num_rounds=T)
# Cohorts of 5 to 8 have 8 slots, and sizes up to 20 leave at most 18 images: all of these share a program.
TRAINING = jfed.Config(
    num_clients=K,
    cohort_size=5,
    num_rounds=T,
    training=jfed.Training(samples_per_client=20, batch_size=BATCH, test_set="official"),
)
SIZES = (0, 1, 3, 10, 20, 8, 9, 17)  # none, one, less than a batch, a batch and one more


def points(base: jfed.Config, *names: str, mode: str = "faithful", **delta: Any) -> list[jfed.Point]:
    """Return named schemes in the world of `base`, with changed settings (a dot is written as two underscores)."""
    changed = {path.replace("__", "."): value for path, value in delta.items()}
    return [
        jfed.Point(jfed.replace(p.config, changed), p.coords)
        for p in jfed.methods(base, names, mode)  # type: ignore[arg-type]
    ]


def run(where: Sequence[jfed.Point], seeds: Any, layout: Layout = LAYOUT, **kwargs: Any) -> xr.Dataset:
    """Return the results of `jfed.run`, without a progress bar."""
    return jfed.run(where, seeds, layout=layout, progress=False, **kwargs)


def assert_same_bits(a: xr.Dataset, b: xr.Dataset, names: Sequence[str] | None = None) -> None:
    """Check that the two have the same variables, with the same bits; compare only `names` if given."""
    assert set(a.data_vars) == set(b.data_vars)
    for name in names or a.data_vars:
        x, y = a[name].values, b[name].values
        assert x.dtype == y.dtype and x.shape == y.shape, name
        assert x.tobytes() == y.tobytes(), name


def assert_same_tree(a: Any, b: Any) -> None:
    """Check that the two trees are the same, bit for bit: NaN is NaN, and -0 is not 0."""

    def same(x: Any, y: Any) -> bool:
        return np.asarray(x).tobytes() == np.asarray(y).tobytes()

    chex.assert_trees_all_equal_shapes_and_dtypes(a, b)
    chex.assert_trees_all_equal_comparator(same, lambda x, y: f"{x} is not the same bits as {y}", a, b)


class Stepper:
    """A unit that runs one round at a time, with its whole state in sight after each round."""

    def __init__(
        self,
        where: Sequence[jfed.Point],
        seeds: Sequence[int],
        layout: Layout | None = None,
        data_dir: str | None = None,
    ) -> None:
        size = len(where) * len(seeds)
        layout = layout or Layout(block_size=size, chunk_rounds=1, record_selected=True)
        (self.unit,) = units.plan(where, seeds, layout, data_dir)
        self.block, self.pool = self.unit.block(), self.unit.pool()
        self.program = simulate.program(self.unit.spec)
        self.config = self.unit.config
        self.state: Any = self.program.init(self.block)

    def keys(self, run: int = 0) -> prng.Keys:
        """Return the keys of a run's streams."""
        return prng.keys(jax.tree.map(lambda x: jnp.asarray(x[run]), self.block.seeds))

    def host(self) -> Any:
        """Return a copy of the state on the host."""
        return jax.tree.map(np.array, self.state)

    def step(self, t: int) -> tuple[Any, Any]:
        """Run round t; return its record and, with training, the model's quality, both without the axis of rounds."""
        when = clock(t, t + 1, self.config.num_rounds, self.config.eval_every)
        self.state, record, quality = self.program.chunk(self.pool, self.block, self.state, when)
        return jax.tree.map(lambda x: np.array(x)[0], (record, quality))

    def finish(self) -> Any:
        """Return the quality of the model on each client's data."""
        return jax.tree.map(np.array, self.program.finish(self.pool, self.block, self.state))


def unpack(record: Any, num_clients: int) -> np.ndarray:
    """Return the selected clients, (runs, K)."""
    return np.unpackbits(record.selected, axis=-1, count=num_clients).astype(bool)


def names_in(path: Path) -> list[str]:
    """Return the names of the files in a tar archive."""
    with tarfile.open(path) as tar:
        return sorted(tar.getnames())
