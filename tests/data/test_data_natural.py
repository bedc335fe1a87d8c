"""The natural partition: clients are owners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jfed.core.errors import ConfigError
from jfed.data.natural import natural
from jfed.data.partition import natural_partition

OWNERS = np.array([2, 0, 1, 2, 2, 0, 3, 2, 1, 2], np.int32)  # 2, 2, 5 and 1 examples


@given(owners=st.lists(st.integers(0, 6), min_size=1, max_size=60), data=st.data())
def test_nobody_mixes_owners(owners, data):
    owners = np.unique(owners, return_inverse=True)[1].astype(np.int32)
    counts = np.bincount(owners)
    least = data.draw(st.integers(1, int(counts.max())))
    fit = np.flatnonzero(counts >= least)
    clients = data.draw(st.integers(1, len(fit)))
    most, fraction = data.draw(st.none() | st.integers(1, 9)), data.draw(st.sampled_from([0, 0.1, 0.5]))
    seed = data.draw(st.integers(0, 99))

    def deal():
        return natural_partition(
            owners, clients, most, fraction, np.random.default_rng(seed), {"min_samples": float(least)}
        )

    part, again = deal(), deal()
    np.testing.assert_array_equal(part.train, again.train)
    who = []
    for client in range(clients):
        train, test = part.train[client, : part.num_train[client]], part.test[client, : part.num_test[client]]
        both = np.concatenate([train, test])
        (owner,) = set(owners[both])
        who.append(owner)
        assert len(np.unique(both)) == len(both) == min(counts[owner], most or 99)
        assert len(test) == int(fraction * len(both) + 1e-9)
    assert who == sorted(set(who)) and set(who) <= set(fit)  # each has an owner of its own, in order
    assert clients < len(fit) or who == fit.tolist()


def test_which_owners_are_clients_is_drawn_fairly():
    chosen = [
        tuple(OWNERS[h[0]] for h in natural(OWNERS, 2, np.random.default_rng(s), min_samples=2)) for s in range(600)
    ]
    assert set(chosen) == {(0, 1), (0, 2), (1, 2)}
    assert all(abs(chosen.count(pair) - 200) < 4.5 * np.sqrt(600 * 2 / 9) for pair in set(chosen))


def test_all_owners_are_clients_without_a_draw():
    hands = [natural(OWNERS, 4, np.random.default_rng(seed)) for seed in range(2)]
    assert [h.tolist() for h in hands[0]] == [h.tolist() for h in hands[1]] == [[1, 5], [2, 8], [0, 3, 4, 7, 9], [6]]


def test_a_cap_takes_any_of_an_owners_examples():
    taken = [natural(OWNERS, 4, np.random.default_rng(seed), most=2)[2].tolist() for seed in range(50)]
    assert {len(hand) for hand in taken} == {2} and {x for hand in taken for x in hand} == {0, 3, 4, 7, 9}


@pytest.mark.parametrize(
    ("clients", "most", "options", "match"),
    [
        (5, None, {}, "5 clients are asked for, but only 4 of the 4 owners have at least 1 examples: set num_clients"),
        (2, None, {"min_samples": 3}, "only 1 of the 4 owners have at least 3 examples: set num_clients to at most 1"),
        (1, None, {"min_samples": 6}, "no owner has 6 examples, the largest has 5: set min_samples to at most that"),
        (0, None, {}, "at least one client, found 0"),
        (1, None, {"min_samples": 0}, "min_samples must be a whole number of at least 1 .*, found 0"),
        (1, None, {"min_samples": 1.5}, "found 1.5"),
        (1, None, {"min_samples": float("inf")}, "found inf"),
        (1, None, {"min_samples": (1.0, 2.0)}, "min_samples must be a whole number"),
        (1, 0, {}, "samples_per_client must be a whole number of at least 1 .*, found 0"),
        (2, (3, 4), {}, r"samples_per_client can be one number, .*, found \(3, 4\)"),
        (1, None, {"most": 3}, "unknown option of the partition 'natural' 'most'"),
        (1, None, {"min_sample": 3}, "did you mean 'min_samples'"),
    ],
)
def test_refusals(clients, most, options, match):
    with pytest.raises(ConfigError, match=match):
        natural_partition(OWNERS, clients, most, 0.1, np.random.default_rng(0), options)


def test_without_owners():
    with pytest.raises(ConfigError, match=r"needs owners, .*: give clients to jfed\.arrays, or choose among dirichlet"):
        natural_partition(None, 1, None, 0.1, np.random.default_rng(0))
