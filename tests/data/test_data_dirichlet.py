"""Hsu, Qi, Brown's split: its extremes, its distribution, and its end when classes run out."""

import math

import numpy as np
import pytest
from counting import label_counts

from jfed.core.errors import ConfigError
from jfed.data.dirichlet import _draw_classes, _log_dirichlet
from jfed.data.partition import dirichlet, partition, sizes

LABELS = np.repeat(np.arange(10), 5000)


@pytest.mark.parametrize("alpha", [1e-9, 1e-3])
def test_a_tiny_alpha_gives_one_class_a_client(alpha):
    hands = dirichlet(LABELS, sizes(20, 200), np.random.default_rng(0), alpha=alpha)
    counts = label_counts(hands, LABELS)
    assert counts.max(axis=1).tolist() == [200] * 20
    assert len(set(counts.argmax(axis=1))) > 4


@pytest.mark.parametrize("alpha", [1e9, math.inf])
def test_a_huge_alpha_gives_even_classes(alpha):
    hands = dirichlet(LABELS, sizes(20, 1000), np.random.default_rng(0), alpha=alpha)
    # Multinomial with mean 100 and sd 9.5 in each of 200 cells.
    assert np.abs(label_counts(hands, LABELS) - 100).max() < 4.5 * 9.5


@pytest.mark.parametrize("alpha", [0.01, 1.0, 10.0, math.inf])
def test_all_images_can_be_dealt_out(alpha):
    hands = dirichlet(LABELS, sizes(100, 500), np.random.default_rng(0), alpha=alpha)
    assert np.sort(np.concatenate(hands)).tolist() == list(range(50_000))


@pytest.mark.parametrize("seed", range(5))
def test_many_clients_of_few_classes_end_and_none_is_empty(seed):
    part = partition("dirichlet", LABELS, sizes(500, 100), 0.1, np.random.default_rng(seed), {"alpha": 0.05})
    assert part.num_train.tolist() == [90] * 500
    assert part.num_test.tolist() == [10] * 500
    used = np.concatenate([part.train.ravel(), part.test.ravel()])
    assert np.sort(used).tolist() == list(range(50_000))
    # Most clients have hardly more than one class, though the last ones get the remaining images.
    assert np.median(label_counts(part.train, LABELS).max(axis=1)) > 80


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_the_class_vector_has_the_moments_of_the_law(alpha):
    rng = np.random.default_rng(0)
    log_q = np.stack([_log_dirichlet(alpha, 4, rng) for _ in range(20_000)])
    q = np.exp(log_q - log_q.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    variance = 0.25 * 0.75 / (alpha + 1)
    np.testing.assert_allclose(q.mean(axis=0), 0.25, atol=4 * math.sqrt(variance / 20_000))
    np.testing.assert_allclose(q.var(axis=0), variance, rtol=0.05)


@pytest.mark.parametrize("alpha", [1e-9, 0.01])
def test_log_q_is_finite(alpha):
    rng = np.random.default_rng(0)
    assert all(np.isfinite(_log_dirichlet(alpha, 26, rng)).all() for _ in range(1000))


def test_batches_have_the_law_of_drawing_one_by_one():
    q, room, rng = np.array([0.5, 0.3, 0.2]), np.array([1, 2, 4]), np.random.default_rng(0)
    law = {(0, 0, 0): 1.0}
    for _ in range(4):
        after = {}
        for drawn, probability in law.items():
            weight = np.where(drawn < room, q, 0)
            for c in np.flatnonzero(weight):
                table = tuple(np.add(drawn, np.arange(3) == c).tolist())
                after[table] = after.get(table, 0) + probability * weight[c] / weight.sum()
        law = after

    num = 10_000
    batched = [tuple(_draw_classes(np.log(q), 4, room, rng).tolist()) for _ in range(num)]
    assert set(batched) == set(law)
    for table, p in law.items():
        assert abs(batched.count(table) / num - p) < 4 * math.sqrt(p * (1 - p) / num)


@pytest.mark.parametrize("alpha", [1e-9, 0.05, 1.0, math.inf])
def test_a_batch_is_drawn_at_most_once_for_each_class(alpha):
    """However many images there are: every draw but the last closes a class."""

    class Counting(np.random.Generator):
        turns = 0

        def multinomial(self, *args):
            self.turns += 1
            return super().multinomial(*args)

    for seed in range(20):
        rng = Counting(np.random.PCG64(seed))
        room = rng.integers(1, 500, 12)
        assert _draw_classes(_log_dirichlet(alpha, 12, rng), int(room.sum()), room, rng).tolist() == room.tolist()
        assert 1 < rng.turns <= 12


def test_a_class_of_no_probability_is_filled_when_the_others_are_gone():
    log_q = np.array([0.0, -1e6, -2e6])
    drawn = _draw_classes(log_q, 9, np.array([3, 4, 5]), np.random.default_rng(0))
    assert drawn.tolist() == [3, 4, 2]


def test_late_clients_are_not_always_the_same():
    # Clients 0 and 1 share 10 + 10 images; the first one to draw shows its q, on either side.
    labels = np.repeat([0, 1], 10)
    first = [
        label_counts(dirichlet(labels, [5, 15], np.random.default_rng(s), alpha=1e-9), labels)[0] for s in range(100)
    ]
    assert {tuple(row) for row in first} == {(5, 0), (0, 5)}


@pytest.mark.parametrize("alpha", [0, -1.0, 1e-10, math.nan])
def test_alpha_out_of_range(alpha):
    with pytest.raises(ConfigError, match=f"alpha must be at least 1e-09, found {alpha}"):
        dirichlet(LABELS, sizes(2, 5), np.random.default_rng(0), alpha=alpha)


@pytest.mark.parametrize("alpha", [0.5, 10.0, math.inf])
def test_rounded_shares_are_within_one_image_of_the_law(alpha):
    rounded = dirichlet(LABELS, sizes(8, 503), np.random.default_rng(3), alpha=alpha, rounded=True)
    counts = label_counts(rounded, LABELS)
    rng = np.random.default_rng(3)  # the same draws: an order of clients, and then each one's q and ties
    for client in rng.permutation(8):
        log_q = _log_dirichlet(alpha, 10, rng)
        rng.random(10)
        share = 503 * np.exp(log_q) / np.exp(log_q).sum()
        assert np.abs(counts[client] - share).max() < 1
        up = counts[client] > share  # the largest remainders
        assert up.all() or not up.any() or (share % 1)[up].min() >= (share % 1)[~up].max()
    assert counts.sum(axis=1).tolist() == [503] * 8


def test_rounded_shares_end_when_classes_run_out():
    labels = np.repeat(np.arange(4), [3, 40, 40, 17])
    hands = dirichlet(labels, sizes(10, 10), np.random.default_rng(0), alpha=0.5, rounded=True)
    assert np.sort(np.concatenate(hands)).tolist() == list(range(100))
