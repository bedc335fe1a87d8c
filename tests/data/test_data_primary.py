"""E3CS's non-iid split: exact if that is possible, otherwise the nearest one."""

import itertools

import numpy as np
import pytest
from counting import label_counts
from hypothesis import given, settings
from hypothesis import strategies as st

import jfed.data.primary
from jfed.core.errors import ConfigError
from jfed.data.load import load
from jfed.data.partition import primary, sizes
from jfed.data.primary import _nearest

CIFAR = np.repeat(np.arange(10), 5000)


@pytest.fixture
def moved(monkeypatch):
    """Images in excess of a label's room, before each search for a cheapest way to move some of them."""
    found, search = [], jfed.data.primary._cheapest_path

    def counted(cost, excess):
        found.append(int(excess[excess > 0].sum()))
        return search(cost, excess)

    monkeypatch.setattr(jfed.data.primary, "_cheapest_path", counted)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_all_of_cifar10_is_used_exactly(seed, moved):
    hands = primary(CIFAR, sizes(100, 500), np.random.default_rng(seed))
    counts = label_counts(hands, CIFAR)
    assert np.sort(np.concatenate(hands)).tolist() == list(range(50_000))
    assert set(counts.max(axis=1)) == {400}
    assert set(np.sort(counts, axis=1)[:, :-1].ravel()) == {11, 12}
    assert np.bincount(counts.argmax(axis=1)).tolist() == [10] * 10
    assert moved == []  # the first table is the exact one: nothing is searched for


def test_digits_are_one_image_off():
    labels = load("digits").labels
    hands = primary(labels, sizes(40, 35), np.random.default_rng(0))
    counts = label_counts(hands, labels)
    wanted = np.full((40, 10), 7 / 9)
    wanted[np.arange(40), counts.argmax(axis=1)] = 28
    assert len(np.unique(np.concatenate(hands))) == 1400
    assert counts.max(axis=1).tolist() == [28] * 40
    assert counts.sum(axis=0)[8] == 139
    # The other nine labels give 140 each, and one of them the image that label 8 lacks.
    assert sorted(counts.sum(axis=0)) == [139] + [140] * 8 + [141]
    assert (np.abs(counts - wanted) < 1).all()


def test_unbalanced_primary_labels_use_all_images_too(moved):
    hands = primary(CIFAR, sizes(100, 500), np.random.default_rng(0), balanced=False)
    assert np.sort(np.concatenate(hands)).tolist() == list(range(50_000))
    counts = label_counts(hands, CIFAR)
    assert counts.sum(axis=0).tolist() == [5000] * 10
    # Not balanced: some labels are primary for more than ten clients, which get fewer than 400 images of them.
    assert set(np.bincount(counts.argmax(axis=1))) != {10}
    assert counts.max(axis=1).min() > 250
    assert moved[0] > 10 * len(moved)  # a search moves many images, not one


def test_more_clients_than_labels_share_primary_labels_evenly():
    labels = np.repeat(np.arange(7), 1000)
    hands = primary(labels, sizes(24, 40), np.random.default_rng(0))
    led = np.bincount(label_counts(hands, labels).argmax(axis=1), minlength=7)
    assert sorted(led) == [3, 3, 3, 3, 4, 4, 4]


def test_odd_images_rotate_over_the_labels():
    # 90 images over 25 labels are 3 each and 15 over, though some labels have many more images.
    labels = np.repeat(np.arange(26), np.linspace(2500, 9000, 26).astype(int))
    counts = label_counts(primary(labels, sizes(104, 450), np.random.default_rng(0)), labels)
    rest = np.where(counts == 360, 0, counts)
    assert set(counts[counts < 360]) == {3, 4}
    assert np.ptp(rest.sum(axis=0)) <= 2


def test_primary_labels_do_not_follow_the_clients_order():
    labels = np.repeat(np.arange(10), 1000)
    leads = [
        label_counts(primary(labels, sizes(20, 50), np.random.default_rng(s)), labels).argmax(1) for s in range(200)
    ]
    mean = np.mean(leads, axis=0)  # each is uniform on 0..9: mean 4.5, sd 2.87
    assert np.abs(mean - 4.5).max() < 4 * 2.87 / np.sqrt(200)


@pytest.mark.parametrize(("share", "expected"), [(0, [0, 6, 6]), (0.5, [6, 3, 3]), (0.8, [10, 1, 1]), (1, [12, 0, 0])])
def test_share(share, expected):
    labels = np.repeat(np.arange(3), 100)
    hand = primary(labels, np.array([12]), np.random.default_rng(0), share=share)
    assert sorted(label_counts(hand, labels)[0]) == sorted(expected)


def test_half_an_image_is_rounded_up():
    labels = np.repeat(np.arange(2), 100)
    hand = primary(labels, np.array([5]), np.random.default_rng(0), share=0.7)
    assert sorted(label_counts(hand, labels)[0]) == [1, 4]


def test_one_label_only_and_labels_that_do_not_occur():
    ones = primary(np.full(9, 3), np.array([4, 0, 5]), np.random.default_rng(0))
    assert [len(hand) for hand in ones] == [4, 0, 5]
    assert np.unique(np.concatenate(ones)).size == 9
    labels = np.repeat([2, 7], 50)
    counts = label_counts(primary(labels, sizes(4, 10), np.random.default_rng(0)), labels)
    assert counts.sum(axis=0).tolist() == [0, 0, 20, 0, 0, 0, 0, 20]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_table_is_the_nearest_feasible_one(data):
    # Against all tables of up to three clients and three labels.
    num_clients = data.draw(st.integers(1, 3))
    ideal = np.array(
        data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=num_clients, max_size=num_clients))
    )
    room = ideal.sum(axis=0)
    moved = data.draw(st.integers(0, int(room[0])))
    room = room - [moved, 0, 0] + data.draw(st.sampled_from([[0, moved, 0], [0, 0, moved + 1]]))
    found = _nearest(ideal, 2 * ideal, 2, room)
    assert (found >= 0).all()
    assert (found.sum(axis=0) <= room).all()
    assert (found.sum(axis=1) == ideal.sum(axis=1)).all()

    rows = [[r for r in itertools.product(range(n + 1), repeat=3) if sum(r) == n] for n in ideal.sum(axis=1)]
    tables = np.array(list(itertools.product(*rows)))
    feasible = tables[(tables.sum(axis=1) <= room).all(axis=1)]
    best = ((feasible - ideal) ** 2).sum(axis=(1, 2)).min()
    assert ((found - ideal) ** 2).sum() == best


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_share_out_of_range(share):
    with pytest.raises(ConfigError, match=f"share must lie between 0 and 1, found {share}"):
        primary(CIFAR, sizes(2, 5), np.random.default_rng(0), share=share)
