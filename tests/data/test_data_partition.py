"""The promises of every partition, the sizes, and the reserved local test parts."""

import re

import numpy as np
import pytest
from counting import label_counts
from hypothesis import given, settings
from hypothesis import strategies as st

from jfed.core.errors import ConfigError
from jfed.data.deal import deal
from jfed.data.partition import PARTITIONS, iid, partition, reserve, sizes, union_test

OPTIONS = {"iid": {}, "primary": {}, "dirichlet": {"alpha": 0.3}, "few_labels": {}, "wang_case": {}}
USE_UP = [name for name in PARTITIONS if name not in ("few_labels", "wang_case")]  # these prescribe labels or sizes


def valid(table, numbers):
    return [row[:n] for row, n in zip(table, numbers, strict=True)]


@st.composite
def labels_and_sizes(draw):
    """Unbalanced labels with gaps, and sizes (0 and 1 among them) that may use up all images."""
    class_sizes = [draw(st.integers(1, 40)), *draw(st.lists(st.integers(0, 40), max_size=5))]
    labels = np.repeat(np.arange(len(class_sizes)) * 2, class_sizes)
    left, numbers = len(labels), []
    for _ in range(draw(st.integers(1, 8))):
        numbers.append(draw(st.integers(0, left)))
        left -= numbers[-1]
    if draw(st.booleans()):
        numbers.append(left)
    order = draw(st.permutations(range(len(labels)))) if len(labels) < 50 else range(len(labels))
    return labels[list(order)].astype(np.int32), np.array(numbers)


@pytest.mark.parametrize("name", USE_UP)
@settings(deadline=None, max_examples=60)
@given(case=labels_and_sizes(), fraction=st.sampled_from([0, 0.1, 0.5, 0.99]), seed=st.integers(0))
def test_every_scheme(name, case, fraction, seed):
    labels, numbers = case
    dealt = [partition(name, labels, numbers, fraction, np.random.default_rng(seed), OPTIONS[name]) for _ in range(2)]
    for field in ("train", "num_train", "test", "num_test"):
        first, second = (getattr(part, field) for part in dealt)
        np.testing.assert_array_equal(first, second)
        assert first.dtype == np.int32
    part = dealt[0]
    np.testing.assert_array_equal(part.num_train + part.num_test, numbers)
    np.testing.assert_array_equal(part.num_test, np.floor(fraction * numbers + 1e-9))
    used = np.concatenate([*valid(part.train, part.num_train), *valid(part.test, part.num_test)])
    assert len(np.unique(used)) == len(used) == numbers.sum()
    assert len(used) == 0 or (used.min() >= 0 and used.max() < len(labels))
    for table, num in ((part.train, part.num_train), (part.test, part.num_test)):
        assert table.shape == (len(numbers), num.max())
        assert (table[np.arange(table.shape[1]) >= num[:, np.newaxis]] == 0).all()


@pytest.mark.parametrize("name", PARTITIONS)
def test_two_seeds_differ(name):
    labels = np.repeat(np.arange(10), 100)
    first, second = (
        partition(name, labels, sizes(10, 50), 0.1, np.random.default_rng(seed), OPTIONS[name]) for seed in (0, 1)
    )
    assert (first.train != second.train).any()


@pytest.mark.parametrize("name", PARTITIONS)
def test_the_global_generator_is_left_alone(name):
    before = np.random.get_state()  # noqa: NPY002
    labels = np.repeat(np.arange(5), 20)
    partition(name, labels, sizes(4, 9), 0.1, np.random.default_rng(0), OPTIONS[name])
    after = np.random.get_state()  # noqa: NPY002
    assert str(before) == str(after)


def test_iid_clients_have_the_mix_of_all():
    labels = np.repeat(np.arange(4), [4000, 3000, 2000, 1000])
    counts = label_counts(iid(labels, sizes(10, 1000), np.random.default_rng(0)), labels)
    assert counts.sum(axis=0).tolist() == [4000, 3000, 2000, 1000]
    assert np.abs(counts - [400, 300, 200, 100]).max() < 4.5 * np.sqrt(1000 * 0.4 * 0.6)


def test_sizes():
    assert sizes(3, 5).tolist() == [5, 5, 5]
    assert sizes(3, [0, 1, 7]).tolist() == [0, 1, 7]
    assert sizes(2, np.array([4, 2], np.uint8)).dtype == np.int32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5), "there must be at least one client, found 0"),
        ((3, [1, 2]), "samples_per_client must be one number or 3 numbers, found shape (2,)"),
        ((2, [1, -2]), "samples_per_client must be whole numbers of at least 0, found [1, -2]"),
        ((2, 1.5), "samples_per_client must be whole numbers of at least 0, found 1.5"),
    ],
)
def test_sizes_that_make_no_sense(arguments, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        sizes(*arguments)


def test_reserve_is_e3cs_450_and_50():
    hands = np.split(np.arange(50_000), 100)
    part = reserve(hands, 0.1, np.random.default_rng(0))
    assert part.train.shape == (100, 450)
    assert part.test.shape == (100, 50)
    assert len(union_test(part)) == 5000
    # A random part of the client's images, not the last ones of its list.
    assert (part.test // 500 == np.arange(100)[:, np.newaxis]).all()
    assert 200 < (part.test % 500).mean() < 300


@pytest.mark.parametrize(
    ("fraction", "number", "reserved"),
    [(0.1, 9, 0), (0.1, 10, 1), (0.1, 19, 1), (0.29, 100, 29), (0.99, 1, 0), (0.5, 0, 0)],
)
def test_reserve_rounds_down(fraction, number, reserved):
    part = reserve([np.arange(number)], fraction, np.random.default_rng(0))
    assert part.num_test.tolist() == [reserved]
    assert part.num_train.tolist() == [number - reserved]


def test_reserve_nothing():
    part = reserve([np.arange(3), np.arange(3, 8)], 0, np.random.default_rng(0))
    assert part.test.shape == (2, 0)
    assert union_test(part).shape == (0,)
    assert part.num_train.tolist() == [3, 5]


def test_union_test_is_client_by_client_without_padding():
    part = reserve([np.arange(10), [10], np.arange(11, 15)], 0.5, np.random.default_rng(0))
    union = union_test(part)
    assert len(union) == 7
    assert set(union[:5]) <= set(range(10))
    assert set(union[5:]) <= set(range(11, 15))


@pytest.mark.parametrize("fraction", [-0.1, 1, 1.5, float("nan")])
def test_reserve_out_of_range(fraction):
    with pytest.raises(ConfigError, match="the test fraction must be at least 0 and below 1, found"):
        reserve([np.arange(3)], fraction, np.random.default_rng(0))


@given(data=st.data())
def test_a_hand_has_the_labels_it_was_dealt(data):
    num_clients, num_labels = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 6), min_size=num_labels, max_size=num_labels)
    counts = np.array(data.draw(st.lists(row, min_size=num_clients, max_size=num_clients)))
    labels = np.repeat(np.arange(num_labels), counts.sum(axis=0) + data.draw(st.integers(1, 3)))
    labels = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(labels)
    hands = deal(labels, counts, np.random.default_rng(0))
    assert label_counts(hands, labels).tolist() == counts.tolist()
    dealt = np.concatenate(hands)
    assert len(np.unique(dealt)) == len(dealt)


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize(
    ("labels", "numbers", "message"),
    [
        ([0, 1, 1], [2, 2], "2 clients ask for 4 images, but there are only 3: lower samples_per"),
        ([0, 1, 1], [2, -1], "client 1 cannot have -1 images"),
        ([], [0], "there must be at least one image to deal out, found none"),
        ([0, 1, 1], [], "there must be at least one client, found none"),
        ([0.5, 1], [1], "labels must be a vector of integers, found float64 of shape (2,)"),
        ([0, 1], 1, "sizes must be a vector of integers, found int64 of shape ()"),
    ],
)
def test_every_scheme_refuses(name, labels, numbers, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        PARTITIONS[name](labels, numbers, np.random.default_rng(0), **OPTIONS[name])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dirichelet", {}, "unknown partition 'dirichelet' (did you mean 'dirichlet'?); the choi"),
        ("zipf", {}, "unknown partition 'zipf'; the choices are: dirichlet, few_labels, iid, natural, primary"),
        (
            "iid",
            {"alpha": 1},
            "unknown option of the partition 'iid' 'alpha'; the choices are: none",
        ),
        ("primary", {"shares": 1}, "of the partition 'primary' 'shares' (did you mean 'share'?)"),
        ("dirichlet", {}, "the partition 'dirichlet' needs the option 'alpha'"),
    ],
)
def test_dispatch_refuses(name, options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        partition(name, [0, 1], [1], 0, np.random.default_rng(0), options)
