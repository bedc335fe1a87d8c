"""Tests by hand of the references of schemes that use norms and directions of updates."""

import math

import numpy as np
from scipy.cluster.hierarchy import linkage

from . import sampling


def test_optimal_probabilities_by_hand() -> None:
    # m = 2 of 3: 2 x 8 > 10, so l = 2, and the two small ones share one place.
    assert sampling.optimal([1, 8, 1], 2) == [0.5, 1, 0.5]
    assert sampling.optimal([2, 3, 5], 1) == [0.2, 0.3, 0.5]
    assert sampling.optimal([0, 3, 0], 2) == [0.5, 1, 0.5] and sampling.optimal([4, 4, 4], 3) == [1, 1, 1]
    assert sampling.approximate([1, 8, 1], 2, 0) == [0.2, 1, 0.2]
    np.testing.assert_allclose(sampling.approximate([1, 8, 1], 2, 1), [0.5, 1, 0.5])
    assert sampling.approximate([0, 0], 1, 3) == [0.5, 0.5]
    np.testing.assert_allclose(sampling.with_floor([0.5, 1, 0.5], 2, 0.3), [0.55, 0.9, 0.55])


def test_norms_by_hand() -> None:
    assert sampling.norm_importance([1, 3], 0.5) == [0.375, 0.625]
    assert sampling.norm_importance([0, 0], 0.5) == [0.5, 0.5]
    assert sampling.own_images(np.array([4, 0, 2]), np.array([True, True, False])) == [4, 0, 0]
    assert sampling.own_images(np.array([4, 0, 0]), np.array([False, True, True])) == [0, 1, 1]


def test_divfl_by_hand() -> None:
    # On a line at 0, 1, 2 and 10: column sums 13, 11, 11 and 27, and client 1 comes first by its tie number. Then G is
    # 9 + 1 with client 0 or 2, and 1 + 1 with client 3.
    distance = sampling.apart(np.array([[0.0], [1.0], [2.0], [10.0]]))
    tie = np.array([0.1, 0.2, 0.3, 0.4])
    assert sampling.divfl(distance, range(4), range(4), 3, tie) == [1, 3, 0]
    assert sampling.facility(distance, range(4), [1, 3]) == 2
    random = np.array([[0.5, 0.9, 0.8, 0.1], [0.1, 0.9, 0.8, 0.7]])  # it looks at 0 and 3, then at 0 and 3 or at 1
    assert sampling.divfl(distance, range(4), range(4), 2, tie, random, 2) == [0, 3]


def test_clustered_by_size_by_hand() -> None:
    assert sampling.clustered_size([70, 10, 10, 10], 3, np.arange(4.0)) == [[100, 0, 0, 0]] * 2 + [[10, 30, 30, 30]]
    assert sampling.clustered_size([2, 4, 1, 3], 2, np.arange(4.0)) == [[0, 8, 0, 2], [4, 0, 2, 4]]
    # Points 100 x 3/4 and 100 x 1/16: client 0 of the first row, client 0 or, past its 10, client 1 of the third.
    assert sampling.draw([[100, 0], [10, 90]], 100, [3 << 30, 1 << 28]) == [2, 0]
    assert sampling.draw([[100, 0], [10, 90]], 100, [3 << 30, 1 << 30]) == [1, 1]


def test_angles_by_hand() -> None:
    got = sampling.angles(np.array([[1.0, 0], [1, 1], [-2, 0], [0, 0]]), 0.5)
    expected = [[0, 1 / 4, 1], [1 / 4, 0, 3 / 4], [1, 3 / 4, 0]]
    np.testing.assert_allclose(got[:3, :3], np.array(expected) * math.pi)
    assert got[3].tolist() == got[:, 3].tolist() == [0.5, 0.5, 0.5, 0]


def test_the_tree_is_the_usual_one() -> None:
    points = np.random.default_rng(0).normal(size=(9, 2))
    leaves = [[i] for i in range(9)]
    for a, b, *_ in linkage(points, "ward"):
        leaves.append(leaves[int(a)] + leaves[int(b)])
    got = sampling.ward(sampling.apart(points) ** 2, range(9))
    assert {frozenset(x) for x in got} == {frozenset(x) for x in leaves[9:]}
    assert sampling.ward(np.zeros((3, 3)), [2, 0, 1]) == [[2, 0], [2, 0, 1]]
    assert sampling.subtrees([[0, 1], [2, 3], [0, 1, 2, 3]], {0: 2, 1: 3, 2: 4, 3: 2}, 5) == [[2], [3], [0, 1]]


def test_clustered_by_similarity_by_hand() -> None:
    # Images 6, 6, 4, 4 and 20, n = 40 and k = 3: client 4 has one bin for itself and a mass of 20 left; the others have
    # 18, 18, 12 and 12. On a line, 2 and 3 are nearest: 24, and alone are 0, 1 and 4. Then 0 and 1: 36, and no more.
    # Kept are {0, 1} and {2, 3}, the lighter first; client 4 fills up 16 and 4.
    points = np.array([[0.0], [2.0], [10.0], [11.0], [50.0]])
    made = sampling.clustered_similarity(sampling.apart(points), False, [6, 6, 4, 4, 20], 3, np.arange(5), np.zeros(5))
    assert made == [[0, 0, 12, 12, 16], [18, 18, 0, 0, 4], [0, 0, 0, 0, 40]]
