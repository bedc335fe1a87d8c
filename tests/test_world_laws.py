"""Positions of the clients in a cell, times of edge devices, and the smallest budget that edge devices accept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from support import Stepper

import jfed
from jfed.controllers import adaptive
from jfed.core.types import Cohort, Dims, Plan, Problem, View
from jfed.envs import edge, wireless
from jfed.selectors import uniform


def test_clients_are_uniform_over_the_area_of_the_cell():
    """The share of the disc within a client's distance is uniform, whatever the radius, and drawn for each run."""
    num = 400
    world = wireless.Options().make(Dims(num, num))
    start = jax.jit(lambda key, params: world.init(key, params, jnp.ones(num, jnp.int32)).snr)
    for radius_m in (500.0, 80.0):
        options = wireless.Options(radius_m=radius_m)
        params = jax.tree.map(jnp.asarray, options.params(Problem(num, 5, 10)))
        snr = np.array([start(jax.random.key(seed), params) for seed in (0, 1)])
        decibels = options.power_dbm - options.noise_dbm - options.path_loss_db[0] - 10 * np.log10(snr)
        distance_m = 1e3 * 10 ** (decibels / options.path_loss_db[1])
        assert 0.9 * radius_m < distance_m.max() <= radius_m * 1.0001
        assert min(stats.kstest((row / radius_m) ** 2, "uniform").pvalue for row in distance_m) > 0.01
        assert abs(np.corrcoef(distance_m)[0, 1]) < 0.2


@pytest.mark.parametrize("bits", [5e3, 2e5])
def test_expected_times_in_a_cell_are_sums_over_the_whole_grid(bits):
    """Every pair of quantiles of the two links and every speed, clipped at tau_max (Eq. 4)."""
    distance_km, (nodes, speeds) = np.array([0.5, 0.2, 0.05, 2.0]), (wireless.QUANTILES, wireless.SPEEDS)
    options = wireless.Options(model_bits=bits, distances_m=tuple(1e3 * distance_km))
    world = options.make(Dims(4, 4))
    params = jax.tree.map(jnp.asarray, options.params(Problem(4, 1, 1)))
    state = jax.jit(world.init)(jax.random.key(0), params, jnp.ones(4, jnp.int32))
    v, share = ((np.arange(n) + 0.5) / n for n in (nodes, speeds))
    weight, gain = v**2 / (v**2).sum(), -np.log1p(-(v**3))
    snr = 10 ** ((23 + 107 - 128.1 - 37.6 * np.log10(distance_km)) / 10)
    link = bits / 15e3 / np.log2(1 + snr[:, None] * gain)
    number = np.arange(1, 5)[:, None]
    compute = 2 / (10 * number + 10 + 20 * share)
    total = link[:, :, None, None] + link[:, None, :, None] + compute[:, None, None]
    mean = np.einsum("i,j,kijs->k", weight, weight, np.minimum(total, 5.0)) / speeds
    success = np.einsum("i,j,kijs->k", weight, weight, total < 5.0) / speeds
    np.testing.assert_allclose(state.latency_s, mean, rtol=2e-5)
    np.testing.assert_allclose(state.success_rate, success, rtol=1e-4)


def test_edge_devices_take_as_long_as_expected():
    """A step takes a client of power 4 a quarter of the time, and two transfers take all clients equally long."""
    options = edge.Options((0.4, 0.04), (0.1, 0.01), transfers=2, power=(1.0, 4.0), shared=False, drawn=1)
    problem, dims, draws = Problem(2, 1, 1), Dims(2, 2, features=("power", "demand")), 4000
    world, params = options.make(dims), jax.tree.map(jnp.asarray, options.params(problem))
    nothing, nobody = jnp.full(2, jnp.nan), Cohort(selected=jnp.zeros(2, bool), inclusion=jnp.zeros(2))
    before = View(
        round=jnp.int32(1), horizon=jnp.int32(1), available=jnp.ones(2, bool), num_samples=jnp.ones(2, jnp.int32),
        context=jnp.ones((2, 2)), probed=nothing, probed_accuracy=nothing, oracle=None,
    )  # fmt: skip

    @jax.jit
    def many(keys):
        state = world.init(jax.random.key(0), params, before.num_samples)
        _, seen = world.observe(jax.random.key(1), state, params, before)
        plan = Plan(steps=jnp.ones(2, jnp.int32))
        return seen, jax.vmap(lambda key: world.respond(key, state, params, seen, nobody, plan)[1].latency_s)(keys)

    seen, times = many(jax.random.split(jax.random.key(2), draws))
    np.testing.assert_allclose(seen.oracle.latency_s, [0.4 + 0.2, 0.1 + 0.2], rtol=1e-6)
    error = times.std(0) / np.sqrt(draws)
    np.testing.assert_array_less(np.abs(times.mean(0) - seen.oracle.latency_s), 4.5 * error + 1e-6)


def test_a_budget_of_joules_need_only_be_enough_for_the_least_demand():
    """A round of one step and one exchange costs 3 joules on average, and half as much where demand is least."""
    world = edge.Options(others=((2.0, 1.0),), demand=(0.5, 1.5))
    base = jfed.Config(6, 1, 3, environment=world, selector=uniform.Options())

    def accepted(joules):
        controller = adaptive.Options(budgets=(100.0, joules), fixed=1, stop="last", cost="sum")
        return Stepper([jfed.Point(jfed.replace(base, {"controller": controller}), {})], [0]).config

    assert accepted(1.6).num_rounds == 3
    with pytest.raises(jfed.ConfigError, match=r"A budget of 1\.4 is too small .* costs about 1\.5 or more"):
        accepted(1.4)
