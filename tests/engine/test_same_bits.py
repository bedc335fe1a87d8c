"""The engine's promise of the same bits in every layout: blocks, chunks, devices and neighbours.

Bits depend on the loops that the compiler makes, so these programs have the emitters of use, though they are not
optimised.
"""

import jax
import numpy as np
import pytest
from support import LAYOUT, SELECTION, TRAINING, assert_same_bits, points, run

import jfed
from jfed.runner import units
from jfed.runner.units import Layout

pytestmark = [pytest.mark.check, pytest.mark.usefixtures("as_in_use")]


@pytest.fixture(scope="module")
def plain(as_in_use):
    """Return the results of E3CS with training on two seeds: one unit on one device."""
    return run(points(TRAINING, "e3cs-0.5"), [0, 1])


@pytest.mark.parametrize("chunk", [1, 4])
def test_chunks_change_no_bit(chunk):
    where = points(SELECTION, "e3cs-0.5")
    whole = run(where, [0, 1])
    assert_same_bits(whole, run(where, [0, 1], Layout(block_size=2, chunk_rounds=chunk)))


def test_neither_devices_nor_chunks_nor_neighbours_change_a_bit_of_training(plain):
    assert len(jax.devices()) == 2
    assert len(units.plan(points(TRAINING, "e3cs-0.5"), [7, 0, 1, 2], LAYOUT)) == 2  # hence two devices
    other = run(points(TRAINING, "e3cs-0.5"), [7, 0, 1, 2], Layout(block_size=2, chunk_rounds=4))
    assert other.seed.values.tolist() == [0, 1, 2, 7]
    assert_same_bits(plain, other.isel(run=[0, 1]))


@pytest.mark.parametrize(
    ("scheme", "mode", "world"),
    [
        ("e3cs-0", "faithful", "volatility"),
        ("e3cs-0.5", "corrected", "edge"),
        ("rbcs-f-20", "faithful", "exchange"),
        ("cs-ucb-q-0.001", "faithful", "wireless"),
    ],
)
def test_the_size_of_a_block_changes_no_bit_of_selection(scheme, mode, world):
    config = jfed.replace(SELECTION, {"environment": world, "num_clients": 40, "cohort_size": 8, "num_rounds": 100})
    where = jfed.methods(config, [scheme], mode)
    whole = run(where, range(11), Layout(block_size=11, chunk_rounds=100, record_selected=True))
    for size in (1, 5):  # XLA unrolls the last lanes of a block in ways of its own; 5 is the worst
        assert_same_bits(whole, run(where, range(11), Layout(block_size=size, chunk_rounds=100, record_selected=True)))


def test_devices_and_neighbours_change_no_bit_of_selection():
    where = points(SELECTION, "e3cs-0.5")
    for seeds in ([0, 1, 2, 3], [0, 9], [5, 0, 1]):
        assert_same_bits(run(where, [0, 1]).isel(run=[0]), run(where, seeds).isel(run=[0]))  # the smallest seed first
    mixed = run(points(SELECTION, "e3cs-0.5") + points(SELECTION, "e3cs-0"), [0, 1])
    assert_same_bits(run(where, [0, 1]), mixed.isel(run=np.flatnonzero(mixed.method == "e3cs-0.5")))
