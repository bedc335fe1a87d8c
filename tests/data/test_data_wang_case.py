"""Wang et al.'s four cases: compared with the rule applied image by image, and the promises of each case."""

import math
import re

import numpy as np
import pytest
from counting import label_counts

from jfed.core.errors import ConfigError
from jfed.data.partition import partition, sizes, wang_case

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 6000))


def one_by_one(labels, n, case):
    """Return the hands by the rule in words: each image, in the given order, goes to the emptiest allowed client."""
    names = sorted(set(labels.tolist()))
    L = len(names)
    lower = names[: L // 2]
    h = math.ceil(min(n, L) / 2)
    hands = [[] for _ in range(n)]
    for i, name in enumerate(labels.tolist()):
        if case == 1:
            allowed = [i % n]
        elif case == 3:
            for hand in hands:
                hand.append(i)
            continue
        else:
            if case == 2:
                target = names.index(name) % n
            elif name in lower:
                target = i % h
            elif min(n, L) == 1:
                target = 0
            else:
                target = names.index(name) % (min(n, L) - h) + h
            allowed = [k for k in range(n) if k % L == target] if n > L else [target]
        hands[min(allowed, key=lambda k: (len(hands[k]), k))].append(i)
    return hands


@pytest.mark.parametrize("case", [1, 2, 3, 4])
@pytest.mark.parametrize("num_labels", [1, 2, 3, 5, 10])
def test_it_is_the_rule_image_by_image(num_labels, case):
    rng = np.random.default_rng(num_labels)
    # Labels with gaps, the least not 0, each there at least once and not equally often.
    drawn = rng.integers(num_labels, size=150) * rng.integers(2, size=150)
    labels = 3 + 2 * rng.permutation(np.concatenate([drawn, np.arange(num_labels)]))
    for n in [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 19, 20, 23, 200]:
        numbers = np.bincount(rng.integers(n, size=len(labels)), minlength=n)
        hands = wang_case(labels, numbers, rng, case=case, shuffled=False)
        assert [hand.tolist() for hand in hands] == one_by_one(labels, n, case), n


@pytest.mark.parametrize("case", [2, 4])
@pytest.mark.parametrize("n", [3, 12])
def test_a_label_that_is_not_drawn_keeps_its_rank(n, case):
    labels = np.array([7, 9, 9, 9, 7, 9, 9, 8])
    hands = wang_case(labels, [7] + [0] * (n - 1), np.random.default_rng(0), case=case, shuffled=False)
    assert [[i for i in hand if i < 7] for hand in one_by_one(labels, n, case)] == [hand.tolist() for hand in hands]


@pytest.mark.parametrize("case", [1, 2, 4])
@pytest.mark.parametrize("n", [1, 5, 10, 100])
@pytest.mark.parametrize("shuffled", [True, False])
def test_every_image_once(n, case, shuffled):
    hands = wang_case(LABELS, sizes(n, 60_000 // n), np.random.default_rng(0), case=case, shuffled=shuffled)
    assert len(hands) == n and {hand.dtype for hand in hands} == {np.dtype(np.int32)}
    assert np.sort(np.concatenate(hands)).tolist() == list(range(60_000))


def test_case_1_has_the_mix_of_all_and_equal_sizes():
    counts = label_counts(wang_case(LABELS, sizes(10, 6000), np.random.default_rng(0)), LABELS)
    assert counts.sum(axis=1).tolist() == [6000] * 10
    assert np.abs(counts - 600).max() < 4.5 * math.sqrt(6000 * 0.1 * 0.9)


@pytest.mark.parametrize("total", [60_000, 20_011, 150])
def test_case_2_with_many_clients_gives_one_label_each(total):
    numbers = np.array([total] + [0] * 99)
    counts = label_counts(wang_case(LABELS, numbers, np.random.default_rng(0), case=2), LABELS)
    assert counts.sum() == total
    for client, row in enumerate(counts):
        assert row.sum() == row[client % 10]
    own = counts.max(axis=1).reshape(10, 10)  # (turn, label)
    assert (np.ptp(own, axis=0) <= 1).all()
    assert (np.diff(own, axis=0) <= 0).all()  # the first ones have the odd images


def test_case_2_with_few_clients_keeps_labels_whole():
    counts = label_counts(wang_case(LABELS, sizes(4, 15_000), np.random.default_rng(0), case=2), LABELS)
    whole = np.arange(10) % 4 == np.arange(4)[:, np.newaxis]
    assert (counts == 6000 * whole).all()


@pytest.mark.parametrize("shuffled", [True, False])
def test_case_3_gives_all_to_each(shuffled):
    hands = wang_case(LABELS[:500], [60, 0, 40], np.random.default_rng(0), case=3, shuffled=shuffled)
    assert [len(set(hand)) for hand in hands] == [len(hand) for hand in hands] == [100] * 3
    assert set(hands[0]) == set(hands[1]) == set(hands[2])
    assert (set(hands[0]) == set(range(100))) != shuffled
    part = partition("wang_case", LABELS, sizes(4, 15_000), 0.1, np.random.default_rng(0), {"case": 3})
    assert part.num_train.tolist() == [54_000] * 4 and part.num_test.tolist() == [6000] * 4
    for train, test in zip(part.train, part.test, strict=True):
        assert len(np.unique(np.concatenate([train, test]))) == 60_000


@pytest.mark.parametrize("n", [10, 30])
def test_case_4_is_half_case_1_and_half_case_2(n):
    counts = label_counts(wang_case(LABELS, sizes(n, 60_000 // n), np.random.default_rng(0), case=4), LABELS)
    low = np.arange(n) % 10 < 5
    assert (counts[low][:, 5:] == 0).all() and (counts[~low][:, :5] == 0).all()
    mean = 30_000 / low.sum() / 5
    assert np.abs(counts[low][:, :5] - mean).max() < 5 * math.sqrt(mean)
    assert np.sort(counts[~low], axis=1)[:, :-1].max() == 0
    assert counts[~low].max(axis=1).tolist() == [60_000 // n] * (n // 2)


def test_case_4_counts_the_middle_label_as_upper():
    labels = np.tile(np.arange(5), 8)
    counts = label_counts(wang_case(labels, sizes(4, 10), np.random.default_rng(0), case=4), labels)
    assert counts[:2].sum(axis=0).tolist() == [8, 8, 0, 0, 0]
    assert counts[2:].tolist() == [[0, 0, 8, 0, 8], [0, 0, 0, 8, 0]]


def test_more_clients_than_images():
    for case in (1, 2, 4):
        hands = wang_case([1, 0, 1], [3] + [0] * 6, np.random.default_rng(0), case=case)
        assert sorted(np.concatenate(hands).tolist()) == [0, 1, 2]
        assert max(len(hand) for hand in hands) == 1
    assert [len(hand) for hand in wang_case([1, 0], [0, 0], np.random.default_rng(0), case=2)] == [0, 0]


@pytest.mark.parametrize("case", [1, 2, 3, 4])
def test_the_generator_decides_unless_the_order_is_the_data_sets(case):
    def dealt(seed, **options):
        hands = wang_case(LABELS, sizes(20, 30), np.random.default_rng(seed), case=case, **options)
        return [hand.tolist() for hand in hands]

    assert dealt(0) == dealt(0)
    assert dealt(0) != dealt(1)
    assert dealt(0, shuffled=False) == dealt(1, shuffled=False)


@pytest.mark.parametrize("case", [0, 5, 1.5, -1, math.nan, (1, 2)])
def test_a_case_that_is_none(case):
    with pytest.raises(ConfigError, match=re.escape(f"case must be 1, 2, 3 or 4, found {case}") + "$"):
        wang_case(LABELS, sizes(2, 5), np.random.default_rng(0), case=case)


@pytest.mark.parametrize("case", [1, 2, 3, 4])
def test_options_may_be_any_kind_of_number(case):
    def dealt(**options):
        part = partition("wang_case", LABELS, sizes(12, 50), 0.1, np.random.default_rng(0), options)
        return part.train.tolist(), part.num_train.tolist(), part.test.tolist(), part.num_test.tolist()

    assert dealt(case=float(case), shuffled=0.0) == dealt(case=case, shuffled=False)
    assert dealt(case=np.float64(case), shuffled=1.0) == dealt(case=case, shuffled=True) == dealt(case=case)
    assert (dealt() == dealt(case=case)) == (case == 1)


def test_an_unknown_option():
    message = (
        "unknown option of the partition 'wang_case' 'cases' (did you mean 'case'?); the choices are: case, shuffled"
    )
    with pytest.raises(ConfigError, match=re.escape(message)):
        partition("wang_case", LABELS, sizes(2, 5), 0, np.random.default_rng(0), {"cases": 2})
