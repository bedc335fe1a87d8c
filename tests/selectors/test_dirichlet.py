"""Tests of unfair sampling: probabilities from a Dirichlet law, cohorts drawn sequentially without replacement.

Each test of frequencies would reject a correct engine for one seed in 10,000; the seeds are fixed.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from stepping import Rounds, key_of, on_device, view, walk

from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import dirichlet

pytestmark = pytest.mark.check

K, SIZE, LEVEL = 6, 3, 1e-4
SELECTOR = dirichlet.Options().make(Dims(K, K))
INIT = jax.jit(jax.vmap(SELECTOR.init, in_axes=(0, None)))


def params(gamma2, k=SIZE):
    return dirichlet.Options(gamma2).params(Problem(K, k, 10))


def normalised(log_q):
    q = np.exp(np.asarray(log_q, float))
    return q / q.sum(-1, keepdims=True)


def law_of_cohorts(q, k, among):
    """Return the probability of every set of k clients drawn one by one, each in proportion to q among those left."""
    law = dict.fromkeys(itertools.combinations(among, k), 0.0)
    for sequence in itertools.permutations(among, k):
        chance, left = 1.0, q[list(among)].sum()
        for client in sequence:
            chance, left = chance * q[client] / left, left - q[client]
        law[tuple(sorted(sequence))] += chance
    return law


@pytest.mark.parametrize(("seed", "gamma2", "away"), [(1, 1.0, ()), (2, 10.0, (0, 4)), (1, 1.0, (2,))])
def test_cohorts_have_the_law_of_one_draw_after_another(seed, gamma2, away):
    draws, among = 20_000, [i for i in range(K) if i not in away]
    available = np.tile(~np.isin(np.arange(K), away), (draws, 1))
    states, cohort = walk(SELECTOR, params(gamma2), Rounds(available), seed)
    assert (states.log_q == states.log_q[0]).all() and np.isnan(cohort.inclusion).all()
    law = law_of_cohorts(normalised(states.log_q[0]), SIZE, among)
    assert sum(law.values()) == pytest.approx(1)
    counts = dict.fromkeys(law, 0)
    for row in cohort.selected:
        counts[tuple(np.flatnonzero(row).tolist())] += 1
    expected, observed = np.array([*law.values()]) * draws, np.array([*counts.values()])
    rare = expected < 8  # pooled into one cell
    cells = [np.append(x[~rare], x[rare].sum()) for x in (observed, expected)]
    kept = cells[1] > 0
    assert kept.sum() > 3 and stats.chisquare(cells[0][kept], cells[1][kept]).pvalue > LEVEL


@pytest.mark.parametrize("gamma2", [0.1, 1.0, 10.0])
def test_probabilities_are_drawn_once_from_the_dirichlet_law(gamma2):
    runs = 4000
    state = INIT(jax.random.split(jax.random.key(5), runs), on_device(params(gamma2)))
    assert np.isfinite(np.asarray(state.log_q)).all()
    q = normalised(state.log_q)
    for client in (0, K - 1):
        assert stats.kstest(q[:, client], stats.beta(gamma2, (K - 1) * gamma2).cdf).pvalue > LEVEL
    squares, expected = (q**2).sum(1), (gamma2 + 1) / (K * gamma2 + 1)
    error = squares.std(ddof=1) / np.sqrt(runs)
    assert abs(squares.mean() - expected) < stats.norm.isf(LEVEL / 2) * error


def test_a_small_gamma2_is_uneven_and_a_large_one_even():
    rounds, runs = 40, 25
    everybody = np.ones((rounds, K), bool)

    def fairness(gamma2):  # Jain's index of the selection counts: 1 if even, k / K if always the same k
        counts = [walk(SELECTOR, params(gamma2), Rounds(everybody), seed)[1].selected.sum(0) for seed in range(runs)]
        return np.mean([x.sum() ** 2 / (K * (x**2).sum()) for x in counts])

    uneven, middle, even, nearly_uniform = (fairness(x) for x in (0.1, 1.0, 10.0, 1e6))
    assert SIZE / K <= uneven < 0.65 < middle < 0.9 < even < nearly_uniform
    assert nearly_uniform == pytest.approx(1, abs=0.05)


def test_probabilities_too_small_for_floating_point_still_have_an_order():
    """With factors of e^-200 the draw follows the order of q: five probabilities are too small for a float32."""
    state = dirichlet.State(jnp.array([-400.0, 0.0, -1000.0, -200.0, -800.0, -600.0]))
    select, everybody = jax.jit(SELECTOR.select), view(jnp.int32(1), 10, Rounds(jnp.ones(K, bool)))
    for k, expected in ((1, {1}), (3, {1, 3, 0}), (5, {1, 3, 0, 5, 4})):
        for t in range(5):
            _, cohort = select(key_of(0, t), state, on_device(params(0.1, k)), everybody)
            assert set(np.flatnonzero(cohort.selected).tolist()) == expected
    without = everybody._replace(available=jnp.arange(K) != 3)
    _, cohort = select(key_of(0, 0), state, on_device(params(0.1)), without)
    assert set(np.flatnonzero(cohort.selected).tolist()) == {1, 0, 5}


@pytest.mark.parametrize("gamma2", [0.0, -1.0, float("inf"), float("nan")])
def test_a_concentration_must_be_positive(gamma2):
    with pytest.raises(ConfigError, match="gamma2 must be positive, found"):
        params(gamma2)
