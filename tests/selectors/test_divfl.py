"""DivFL: beside the reference, its greedy choice beside the best one, and what it guarantees."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from facts_steps import told, walk
from reference import sampling
from stepping import drawn

from jfed.core import prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import divfl

pytestmark = pytest.mark.check

K, ROUNDS, N = 8, 30, 10
SIZES = np.array([20, 3, 0, 8, 1, 4, 40, 11])
SEARCHES = ("greedy", "stochastic")
SELECTORS = {search: divfl.Options(search=search, dimensions=3).make(Dims(K, K)) for search in SEARCHES}


@jax.jit
def pick(points, k, seed=0):
    everybody = jnp.ones(points.shape[0], bool)
    distance = jnp.sqrt(divfl.squared_distances(points))
    return divfl.greedy(jax.random.key(seed), distance, everybody, everybody, k, N)


def random_numbers(key):
    """Return the orders of unseen clients, ties, clients without images, and candidates of each step."""
    search, first, last = prng.at(key, 0), prng.at(key, 1), prng.at(key, 2)
    steps = jax.vmap(lambda i: prng.uniform(prng.at(search, 1, i), K))(jnp.arange(K))
    return prng.uniform(first, K), prng.uniform(prng.at(search, 0), K), prng.uniform(last, K), steps


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("seed", "k", "share"), [(0, 3, 0.1), (1, 2, 0.8), (2, K, 0.5)])
def test_a_run_beside_the_reference(search, seed, k, share):
    events, options = told(seed, ROUNDS, K), divfl.Options(search=search, dimensions=3, share=share)
    events.returns[:10, 4] = False  # fails until round 10, and so is tried in each round
    with jax.enable_x64(True):
        states, cohort = walk(SELECTORS[search], options.params(Problem(K, k, ROUNDS)), SIZES, events, seed)
        first, ties, last, steps = drawn(random_numbers, seed, 1, ROUNDS)
    sketch, known = np.zeros((K, 3)), np.zeros(K, bool)
    for t in range(ROUNDS):
        np.testing.assert_array_equal(states.known[t], known)
        np.testing.assert_allclose(states.sketch[t], sketch)
        there, able = events.available[t], SIZES > 0
        expected = sorted(np.flatnonzero(there & able & ~known), key=lambda i: first[t, i])[:k]
        candidates = np.flatnonzero(there & able & known).tolist()
        looks = max(k, int(np.float64(share) * len(candidates)))
        expected += sampling.divfl(
            sampling.apart(sketch), np.flatnonzero(able & known).tolist(), candidates, k - len(expected), ties[t],
            steps[t] if search == "stochastic" else None, looks,
        )  # fmt: skip
        expected += sorted(np.flatnonzero(there & ~able), key=lambda i: last[t, i])[: k - len(expected)]
        assert set(np.flatnonzero(cohort.selected[t])) == set(expected)
        assert cohort.selected[t].sum() == min(k, there.sum())
        new = cohort.selected[t] & events.returns[t] & np.isfinite(events.sketch[t]).all(1)
        sketch[new], known = events.sketch[t][new], known | new
    assert known[able].all()


def test_the_greedy_choice_has_most_of_the_best_value():
    rng, short = np.random.default_rng(0), 0
    for seed in range(20):
        points = rng.normal(size=(N, 2)) * rng.choice([1.0, 10.0], (N, 1))
        distance = sampling.apart(points)
        most = distance.max(1).sum()
        chosen = np.flatnonzero(pick(jnp.asarray(points, jnp.float32), 3, seed)).tolist()
        assert len(chosen) == 3
        value = most - sampling.facility(distance, range(N), chosen)
        best = max(most - sampling.facility(distance, range(N), s) for s in itertools.combinations(range(N), 3))
        assert (1 - np.exp(-1)) * best <= value <= best + 1e-3
        short += value < best - 1e-3
    assert short  # it is not the best choice each time


def test_two_equal_groups_give_one_client_each_and_ties_are_random():
    points = jnp.array([[0.0, 1.0]] * 5 + [[3.0, 0.0]] * 5)
    seen = set()
    for seed in range(12):
        chosen = np.flatnonzero(pick(points, 2, seed))
        assert len(chosen) == 2 and chosen[0] < 5 <= chosen[1]
        seen.add(tuple(chosen.tolist()))
    assert len(seen) > 4


def test_all_clients_leave_no_distance_and_one_client_is_the_medoid():
    points = np.random.default_rng(1).normal(size=(N, 3))
    assert pick(jnp.asarray(points, jnp.float32), N).all()
    medoid = sampling.apart(points).sum(0).argmin()
    assert np.flatnonzero(pick(jnp.asarray(points, jnp.float32), 1)).tolist() == [medoid]


def test_other_numbers_for_the_clients_give_the_same_clients():
    rng = np.random.default_rng(2)
    for _ in range(5):
        points, order = rng.normal(size=(N, 3)).astype(np.float32), rng.permutation(N)
        one, other = (np.asarray(pick(jnp.asarray(x), 4)) for x in (points, points[order]))
        np.testing.assert_array_equal(one[order], other)


def test_a_stochastic_search_that_looks_at_all_is_greedy():
    events = told(3, ROUNDS, K)
    with jax.enable_x64(True):  # as above: the programs are compiled once
        runs = [
            walk(
                SELECTORS[search],
                divfl.Options(search=search, share=1.0).params(Problem(K, 3, ROUNDS)),
                SIZES,
                events,
                3,
            )
            for search in SEARCHES
        ]
    np.testing.assert_array_equal(runs[0][1].selected, runs[1][1].selected)


@pytest.mark.parametrize("share", [0.0, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ConfigError, match=r"share of candidates must lie in \(0, 1\], found"):
        divfl.Options(share=share).params(Problem(K, 3, 1))
