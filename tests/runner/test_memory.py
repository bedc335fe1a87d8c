"""Blocks that do not fit into memory are cut up, a failure says what would fit, and images are stored once."""

import logging

import jax
import numpy as np
import psutil
import pytest
from support import LAYOUT, SELECTION, TRAINING, T, assert_same_bits, points, run

import jfed.runner.executors.local as local
from jfed.core.errors import ConfigError
from jfed.runner import feed, memory, units
from jfed.runner.units import Layout

pytestmark = pytest.mark.check

SEEDS = [0, 1, 2, 3]
DEFAULT = Layout(chunk_rounds=T)


@pytest.fixture
def where(monkeypatch):
    """Return points whose blocks have four runs by default."""
    monkeypatch.setattr(units, "_size", lambda spec, runs, site: 4)
    return points(SELECTION, "e3cs-0.5")


def need(where, size):
    return memory.needed(memory._compiled(units.plan(where, SEEDS, Layout(size, T))[0], 2))


@pytest.fixture
def room_for_two(where, monkeypatch):
    want = need(where, 2)
    assert 0 < want < 0.9 * need(where, 4)
    monkeypatch.setattr(memory, "available", lambda devices: 1.05 * want / memory.SHARE)


def test_blocks_that_do_not_fit_are_halved_and_stay_so(where, room_for_two, monkeypatch, tmp_path, caplog):
    found = run(where, SEEDS, DEFAULT, out=tmp_path)
    assert "taking blocks of 2" in caplog.text and "on each device" in caplog.text
    assert found.attrs["block_size"] == 2
    assert_same_bits(found, run(where, SEEDS, LAYOUT))
    # With more memory later, runs that are finished in blocks of two are not computed again.
    monkeypatch.setattr(memory, "available", lambda devices: 1 << 40)
    more = run(where, [*SEEDS, 4], DEFAULT, out=tmp_path)
    assert len(list((tmp_path / "results").glob("*.npz"))) == 3
    assert_same_bits(more.isel(run=slice(4)), found)


def test_a_block_size_that_was_asked_for_is_taken(where, room_for_two, caplog):
    assert run(where, SEEDS, Layout(4, T)).attrs["block_size"] == 4
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("free", "advice"),
    [(1.05, "which would fit: set block_size to 2"), (0.01, "even a single run would not fit into the free memory")],
)
def test_running_out_of_memory_says_what_would_fit(where, monkeypatch, free, advice):
    want = need(where, 2)

    def full(*args):
        monkeypatch.setattr(memory, "available", lambda devices: free * want / memory.SHARE)
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate a lot.")

    monkeypatch.setattr(local, "compute_group", full)
    with pytest.raises(ConfigError, match=advice):
        run(where, SEEDS, Layout(4, T))


def test_what_is_at_hand():
    whole = psutil.virtual_memory().total
    assert 0 < memory.available(2) <= whole / 2
    assert [memory.size(3 << n) for n in (0, 9, 20, 29)] == ["3 bytes", "1.5 kB", "3 MB", "1.5 GB"]


@pytest.mark.proof
def test_two_hundred_points_in_one_process_keep_memory_flat():
    def sweep(first):
        base = points(TRAINING, "e3cs-0.5")[0].config
        for i in range(first, first + 50):
            rate = {"training__algorithm__learning_rate": 0.01 + i / 1000}
            run(points(base, "e3cs-0.5", **rate), [0, 1])
        return psutil.Process().memory_info().rss / 2**20

    sweep(0)
    after = [sweep(first) for first in (50, 100, 150)]
    assert after[-1] - after[0] < 20  # megabytes


def test_devices_of_one_memory_share_one_pool():
    pools = [feed.pool("digits", None, number) for number in (1, 2)]
    for name in ("images", "labels"):
        parts = [part.data for pool in pools for part in getattr(pool, name).addressable_shards]
        assert len(parts) == 3 and len({part.unsafe_buffer_pointer() for part in parts}) == 1
    digits = feed.dataset("digits", None)
    np.testing.assert_array_equal(pools[1].images, np.concatenate([digits.images, digits.test_images]))
