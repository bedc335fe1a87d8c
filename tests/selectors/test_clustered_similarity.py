"""Clustered sampling by similarity: beside the reference, Ward's tree beside SciPy's, and what it guarantees."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from facts_steps import cohorts, is_unbiased, told, walk
from reference import sampling
from scipy.cluster.hierarchy import linkage
from stepping import drawn

from jfed.core import ops, prng
from jfed.core.types import Dims, Problem
from jfed.selectors import clustered_similarity
from jfed.selectors.divfl import State, squared_distances

pytestmark = pytest.mark.check

K, ROUNDS = 8, 30
FORMS = [("released", "angle"), ("pairs", "angle"), ("pairs", "distance")]
OPTIONS = {form: clustered_similarity.Options(tree=form[0], measure=form[1], dimensions=3) for form in FORMS}
SELECTORS = {form: options.make(Dims(K, K)) for form, options in OPTIONS.items()}
SIZES = np.array([20, 3, 0, 8, 1, 4, 40, 11])
GROUPS = jax.jit(clustered_similarity.groups)


def random_numbers(key):
    """Return the order of ties, the order inside groups by place in that order, and the words of the draws."""
    ties, inside, draw = (prng.words(prng.at(key, i), K) for i in range(3))
    return ops.order_of(ties), inside, draw


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("seed", "k", "none"), [(0, 3, False), (1, 5, False), (2, 2, True), (3, 1, False)])
def test_a_run_beside_the_reference(form, seed, k, none):
    sizes, events = SIZES * (not none), told(seed, ROUNDS, K)
    with jax.enable_x64(True):
        params = OPTIONS[form].params(Problem(K, k, ROUNDS))
        states, cohort = walk(SELECTORS[form], params, sizes, events, seed)
        order, inside, words = drawn(random_numbers, seed, 1, ROUNDS)
    for t in range(ROUNDS):
        own, name = sampling.own_images(sizes, events.available[t]), np.argsort(order[t])
        whole, sketch = sum(own), states.sketch[t]
        if not whole:
            assert not cohort.selected[t].any()
            continue
        released = form[0] == "released"
        table = sampling.apart(sketch)
        if form[1] == "angle":
            table = sampling.angles(sketch, 0.0 if released else math.pi / 2)
        made = sampling.clustered_similarity(table, released, own, k, name, inside[t][name])
        assert [sum(row) for row in made] == [whole] * k
        assert [sum(column) for column in zip(*made, strict=True)] == [k * n for n in own]
        times = np.array(sampling.draw(made, whole, words[t]))
        np.testing.assert_array_equal(cohort.selected[t], times > 0)
        mean = np.array(made).sum(0) / whole
        np.testing.assert_allclose(cohort.importance[t], times / np.where(mean > 0, mean, 1), rtol=1e-9)
        np.testing.assert_allclose(cohort.inclusion[t], 1 - np.prod(1 - np.array(made) / whole, 0), atol=1e-9)


def without_diagonal(square):
    return jnp.where(jnp.eye(len(square), dtype=bool), jnp.inf, jnp.asarray(square))


def as_sets(group):
    return {frozenset(np.flatnonzero(group == name).tolist()) for name in group}


def test_groups_are_those_of_the_usual_ward_tree():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for whole in (12, 25, 60, 1000):
            points, mass = rng.normal(size=(14, 3)), rng.integers(1, 12, 14)
            group = np.asarray(GROUPS(without_diagonal(squared_distances(jnp.asarray(points))), mass, whole))
            leaves = [[i] for i in range(14)]
            for a, b, *_ in linkage(points, "ward"):
                leaves.append(leaves[int(a)] + leaves[int(b)])
            expected = sampling.subtrees(leaves[14:], dict(enumerate(mass.tolist())), whole)
            assert as_sets(group) == {frozenset(g) for g in expected}
    assert len(as_sets(group)) == 1


def test_distributions_by_hand():
    # Masses 6, 3, 4, 2, 5 in bins of 10. The groups {0, 1} and {2, 4} of 9 are kept; {3} fills 1 and 1.
    group, mass = jnp.array([0, 0, 2, 3, 2]), jnp.array([6, 3, 4, 2, 5], jnp.int32)
    words, used = jnp.zeros(5, jnp.uint32), jnp.arange(3) < 2
    made = jax.jit(clustered_similarity.by_groups)(words, group, mass, jnp.int32(10), used)
    assert np.asarray(made).tolist() == [[0, 0, 4, 1, 5], [6, 3, 0, 1, 0], [0, 0, 0, 0, 0]]


def test_clients_without_a_finite_distance_stay_alone():
    square = jnp.full((4, 4), jnp.inf).at[0, 1].set(1.0).at[1, 0].set(1.0)
    assert GROUPS(square, jnp.ones(4, jnp.int32), jnp.int32(4)).tolist() == [0, 0, 2, 3]


@pytest.mark.parametrize("form", FORMS)
def test_groups_of_like_updates_give_one_client_each(form):
    directions = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [-1.0, -1, -1]])
    sketch = np.repeat(directions, 2, 0) + np.random.default_rng(1).normal(0, 0.01, (K, 3))
    state = State(jnp.asarray(sketch, jnp.float32), jnp.ones(K, bool))
    many = cohorts(SELECTORS[form], OPTIONS[form].params(Problem(K, 4, 1)), state, [5] * K)
    assert (many.selected.reshape(-1, 4, 2).sum(-1) == 1).all()
    assert many.selected.any(0).all() and np.allclose(many.inclusion, 0.5)


def test_updates_are_unbiased_with_a_client_that_fills_a_distribution():
    rng, form = np.random.default_rng(2), FORMS[0]
    updates, state = (
        rng.normal(size=(K, 4)),
        State(jnp.asarray(rng.normal(size=(K, 3)), jnp.float32), jnp.ones(K, bool)),
    )
    many = cohorts(SELECTORS[form], OPTIONS[form].params(Problem(K, 3, 1)), state, SIZES)
    assert many.selected[:, 6].all()  # 40 of 87 images
    assert is_unbiased(many, SIZES, updates)
    p, times = SIZES / SIZES.sum(), many.importance * 3 * SIZES / SIZES.sum()
    assert (times.var(0) / 9 <= p * (1 - p) / 3 + 0.01).all()


def test_one_draw_is_in_proportion_to_sizes():
    form = FORMS[0]
    state = State(jnp.asarray(np.random.default_rng(3).normal(size=(K, 3)), jnp.float32), jnp.ones(K, bool))
    one = cohorts(SELECTORS[form], OPTIONS[form].params(Problem(K, 1, 1)), state, SIZES)
    np.testing.assert_allclose(one.inclusion, np.tile(SIZES / SIZES.sum(), (len(one.inclusion), 1)), atol=1e-6)
