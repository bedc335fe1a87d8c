"""The laws of the parts of composed worlds: shares, runs, memory, shocks, changes, times, and the oracle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from walking import on_device, ons, problem, walk

from jfed.core import prng
from jfed.core.types import Dims
from jfed.envs import composed
from jfed.envs.composed import (
    Always,
    Coins,
    Cyclic,
    Deadline,
    Diurnal,
    Drift,
    First,
    Jump,
    Lasting,
    LogNormal,
    Markov,
    Pareto,
    Rotate,
    Shocks,
    Sized,
    Swap,
    Tempo,
)

pytestmark = pytest.mark.check


def lags(on, h):
    """Return each client's correlation of a round with the h-th one before it, over seeds and rounds."""
    x = on - on.mean((0, 1))
    return (x[:, h:] * x[:, :-h]).mean((0, 1)) / x.var((0, 1))


def test_markov_clients_have_their_share_memory_and_runs():
    pi, memory = np.array([0.2, 0.5, 0.8]), np.array([0.7, -0.2, 0.0])
    on, chance = ons(Markov(tuple(pi), tuple(memory)), 3, 60, 4000)
    np.testing.assert_allclose(on[:, 0].mean(0), pi, atol=0.05)  # from the first round on
    np.testing.assert_allclose(on[:, -1].mean(0), pi, atol=0.05)
    for h in (1, 2, 3):
        np.testing.assert_allclose(lags(on, h), memory**h, atol=0.025)
    np.testing.assert_allclose((on - chance).mean((0, 1)), 0, atol=0.01)
    down = (1 - memory) * (1 - pi)
    starts = on[:, 1:31] & ~on[:, :30]
    for i in range(3):
        run, which = np.nonzero(starts[..., i])
        lengths = np.array([np.argmin(np.append(on[r, t + 1 :, i], False)) for r, t in zip(run, which, strict=True)])
        for n in (1, 2, 4):  # geometric, of mean 1 / p10
            assert (lengths == n).mean() == pytest.approx((1 - down[i]) ** (n - 1) * down[i], abs=0.02)


def test_markov_clients_at_the_ends_of_memory():
    on, _ = ons(Markov((0.5,), (1.0,)), 2, 20, 50)
    assert (on == on[:, :1]).all() and 0.3 < on.mean() < 0.7  # they never change
    on, _ = ons(Markov((0.5,), (-1.0,)), 2, 20, 50)
    assert (on[:, 1:] != on[:, :-1]).all()  # they always do
    on, _ = ons(Markov((0.0, 1.0), (0.5,)), 2, 20, 50)
    assert not on[..., 0].any() and on[..., 1].all()


def test_gilbert_elliott_has_both_error_rates():
    part = Markov((0.6,), (0.9,), good=0.95, bad=0.3)
    on, chance = ons(part, 1, 80, 1500)
    assert on.mean() == pytest.approx(part.expected(), abs=0.01)
    assert part.expected() == pytest.approx(0.6 * 0.95 + 0.4 * 0.3)
    np.testing.assert_allclose(lags(on, 1), 0.9 * 0.24 * (0.95 - 0.3) ** 2 / (on.var()), atol=0.02)
    assert (on - chance).mean() == pytest.approx(0, abs=0.01)
    assert len(np.unique(chance)) == 2  # given the state before


def test_days_are_waves_around_the_mean():
    on, chance = ons(Diurnal((0.5, 0.3), 0.25, period=12.0, zones=1), 4, 24, 300)
    np.testing.assert_allclose(chance[:, :12].mean(1)[:, :2], [[0.5, 0.3]] * 300, atol=1e-5)
    np.testing.assert_allclose(chance[:, :12], chance[:, 12:], atol=1e-5)
    np.testing.assert_allclose(chance[..., 0] - 0.5, chance[..., 1] - 0.3, atol=1e-5)  # one day for all
    np.testing.assert_allclose(chance.max(1)[:, 0], 0.75, atol=0.01)
    np.testing.assert_allclose((on - chance).mean((0, 1)), 0, atol=0.03)
    np.testing.assert_allclose(chance[:, 0].mean(0), [0.5, 0.3, 0.5, 0.3], atol=0.06)  # any hour may be the first
    apart = ons(Diurnal((0.5,), 0.5, period=10.0, zones=2, wave="square"), 4, 20, 20)[0]
    assert (apart[..., 0] == apart[..., 2]).all() and (apart[..., 0] != apart[..., 1]).all()  # day here, night there
    assert (apart[:, :10].sum(1) == 5).all()
    own = ons(Diurnal(), 4, 1, 200)[1]
    assert np.abs(np.corrcoef(own[:, 0].T) - np.eye(4)).max() < 0.25


def test_groups_take_turns():
    on, chance = ons(Cyclic((0.25,), period=20, groups=4), 8, 40, 30)
    assert (on == chance).all() and (on[..., :4].sum(-1) == 1).all() and (on[..., :4] == on[..., 4:]).all()
    assert ((on[:, 1:] != on[:, :-1]).sum(1)[:, :4].max(1) <= 4).all()  # in one piece, twice
    assert len({tuple(row) for row in on[:, 0, :4]}) == 4  # any group may be the first
    alone, _ = ons(Cyclic((0.3, 0.62), period=10, groups=0), 2, 10, 200)
    np.testing.assert_array_equal(alone.sum(1), [[3, 6]] * 200)
    np.testing.assert_allclose(alone[:, 0].mean(0), [0.3, 0.6], atol=0.11)
    assert Cyclic((0.3, 0.62), period=10, groups=0).expected() == pytest.approx(0.45)


def test_shocks_come_together_and_keep_the_rates():
    rates, c = np.array([0.3, 0.6, 0.75]), 0.25
    on, _ = ons(Shocks(tuple(rates), c, regions=2), 6, 50, 2000)
    flat = on.reshape(-1, 6).astype(float)
    p = np.tile(rates, 2)
    np.testing.assert_allclose(flat.mean(0), p, atol=0.008)
    near = np.kron(np.eye(2), np.ones((3, 3)))
    want = near * np.outer(p, p) * c / (1 - c)
    np.fill_diagonal(want, p * (1 - p))
    np.testing.assert_allclose(np.cov(flat.T), want, atol=0.006)
    np.testing.assert_allclose(lags(on, 1), 0, atol=0.02)


def test_rates_tied_to_data_and_to_time():
    sizes = np.array([0, 1, 4, 100])
    np.testing.assert_allclose(ons(Sized(0.5, 0.8), 4, 1, 1, num_samples=sizes)[1][0, 0], [0.08, 0.08, 0.16, 0.8], 1e-5)
    np.testing.assert_allclose(ons(Sized(-0.5), 4, 1, 1, num_samples=sizes)[1][0, 0], [1, 1, 0.5, 0.1], 1e-5)
    chance = ons(Lasting(2.0), 3, 1, 1, seconds=np.array([0.0, 2.0, 4.0]))[1]
    np.testing.assert_allclose(chance[0, 0], np.exp([0, -1, -2]), 1e-5)


def test_clients_drop_out_during_the_steps_of_the_round_itself():
    world = composed.Options(success=Lasting(10.0), speed=Tempo((1.0,), (2.0,), 0.0))
    steps = np.broadcast_to(np.array([[8], [0], [3]]), (3, 3000))
    _, (_, seen, outcome) = walk(world, steps < 0, steps, np.ones(3000), 0)
    np.testing.assert_allclose(outcome.succeeded.mean(1), np.exp([-1.0, -0.2, -0.5]), atol=0.03)
    # The oracle does not know the plan yet.
    np.testing.assert_allclose(seen.oracle.success_rate[:, 0], np.exp([-0.3, -1.0, -0.2]), rtol=1e-5)


def rates_over(change, rates, classes, num_rounds, seeds=1):
    """Return the rates of each client in each round, (seeds, T, K)."""
    num_clients = len(rates)
    made = change.make(Dims(num_clients, num_clients))
    params, own = on_device(change.params(problem(num_clients, num_rounds=num_rounds))), jnp.asarray(rates, jnp.float32)

    def one(seed):
        def step(state, t):
            state = made.step(prng.at(jax.random.key(seed), t), state, params, t)
            return state, made.now(state, params, own, jnp.int32(classes), t)

        return jax.lax.scan(step, made.init(params), jnp.arange(1, num_rounds + 1))[1]

    return np.asarray(jax.jit(jax.vmap(one))(jnp.arange(seeds)))


def test_drifting_rates_walk_between_mirrors():
    rates = rates_over(Drift(0.1), [0.05, 0.5, 0.9, 1.0], 4, 1500, seeds=30)
    np.testing.assert_allclose(rates[:, 0], [[0.05, 0.5, 0.9, 1.0]] * 30, atol=1e-6)
    assert (rates >= 0).all() and (rates <= 1).all()
    moves = np.diff(rates, axis=1)[rates[:, :-1] > 0.5]
    inside = np.abs(rates[:, :-1] - 0.5) < 0.1  # too far from the mirrors to meet them
    assert np.diff(rates, axis=1)[inside].std() == pytest.approx(0.1, rel=0.03)
    assert np.abs(moves).max() < 0.6
    settled = rates[:, 300:]
    assert settled.mean() == pytest.approx(0.5, abs=0.03) and settled.var() == pytest.approx(1 / 12, rel=0.1)


def test_jumps_by_hand():
    rates = np.array([0.1, 0.3, 0.6, 0.9, 0.1, 0.3, 0.6])  # the second place of the last class is empty
    turned = [0.9, 0.6, 0.3, 0.1, 0.9, 0.6, 0.3]
    found = rates_over(Jump((0.5, 0.9)), rates, 4, 10)[0]
    np.testing.assert_allclose(found[:5], [rates] * 5)
    np.testing.assert_allclose(found[5:9], [turned] * 4)
    np.testing.assert_allclose(found[9], rates)
    found = rates_over(Rotate(3), rates, 4, 14)[0]
    np.testing.assert_allclose(found[:3], [rates] * 3)
    np.testing.assert_allclose(found[3:6], [[0.3, 0.6, 0.9, 0.1, 0.3, 0.6, 0.9]] * 3)
    np.testing.assert_allclose(found[12:], [rates] * 2)
    found = rates_over(Swap(0.5, 0, 3), rates, 4, 4)[0]
    np.testing.assert_allclose(found[1], rates)
    np.testing.assert_allclose(found[2], [0.9, 0.3, 0.6, 0.1, 0.9, 0.3, 0.6])


def paces(speed, sizes, seed=0):
    params = on_device(speed.params(problem(len(sizes))))
    init = speed.make(Dims(len(sizes), len(sizes))).init
    return jax.device_get(jax.jit(init)(jax.random.key(seed), params, jnp.asarray(sizes, jnp.int32)))


def test_times_have_their_laws():
    ones = np.ones(4000)
    step, exchange = paces(LogNormal(0.02, 0.5, 0.8, 0.3), ones)
    assert stats.kstest(step, stats.lognorm(s=0.8, scale=0.02).cdf).pvalue > 0.01
    assert stats.kstest(exchange, stats.lognorm(s=0.3, scale=0.5).cdf).pvalue > 0.01
    assert abs(stats.spearmanr(step, exchange)[0]) < 0.05
    part = Pareto(0.02, 0.5, tail=2.5)
    step, exchange = paces(part, ones)
    law = stats.pareto(2.5, scale=0.02 * 0.5 ** (1 / 2.5))
    assert law.median() == pytest.approx(0.02) and stats.kstest(step, law.cdf).pvalue > 0.01
    assert part.means(3)[0][0] == pytest.approx(law.mean())
    assert LogNormal(0.02, 0.5, 0.8).means(3)[0][0] == pytest.approx(stats.lognorm(s=0.8, scale=0.02).mean())


@pytest.mark.parametrize("rho", [-1.0, 0.0, 0.6, 1.0])
def test_times_are_correlated_with_the_numbers_of_images(rho):
    sizes = np.random.default_rng(0).lognormal(4, 2, 4000).astype(int)
    step, _ = paces(LogNormal(correlation=rho), sizes)
    score = stats.norm.ppf((stats.rankdata(sizes, method="ordinal") - 0.5) / len(sizes))
    assert np.corrcoef(np.log(step), score)[0, 1] == pytest.approx(rho, abs=0.05)
    assert abs(stats.kstest(step, stats.lognorm(s=0.8, scale=0.02).cdf).statistic) < 0.03  # whatever the correlation
    if rho == 1:
        assert (np.diff(step[np.argsort(sizes, kind="stable")])[np.diff(np.sort(sizes)) > 0] > 0).all()


@pytest.mark.parametrize("partial", [False, True])
def test_a_client_that_needs_the_whole_time_is_there(partial):
    """Steps of no time, and an exchange as long as the deadline, or a little longer."""
    every = np.ones((2, 2), bool)
    for exchange_s, back in ((2.0, True), (2.1, False)):
        world = composed.Options(Always(), Always(), speed=Tempo((0.0,), (exchange_s,), 0.0),
                                 waiting=Deadline(2.0, partial))  # fmt: skip
        _, (_, seen, outcome) = walk(world, every, 5 * every, np.ones(2), 0)
        assert (outcome.succeeded == back).all() and (seen.oracle.success_rate == back).all()
        assert outcome.steps is None or (outcome.steps == 5 * back).all()


@pytest.mark.parametrize("partial", [False, True])
def test_the_oracle_knows_who_will_be_in_time(partial):
    """Two steps in every round, so that the oracle knows their number from the second round on."""
    rounds = 6000
    world = composed.Options(
        success=Coins((0.7, 1.0)), speed=Tempo((0.2, 0.5, 0.8), (0.3,), 0.5), waiting=Deadline(1.5, partial)
    )
    nobody, steps = np.zeros((rounds, 6), bool), np.full((rounds, 6), 2)
    _, (_, seen, outcome) = walk(world, nobody, steps, np.ones(6), 3)
    rate = seen.oracle.success_rate[1]
    assert (seen.oracle.success_rate[1:] == rate).all() and rate.min() < 0.6
    np.testing.assert_allclose(outcome.succeeded[1:].mean(0), rate, atol=0.03)
    slack = 0.15 if partial else 0.02  # whole steps end before the deadline, and the oracle thinks of it
    np.testing.assert_allclose(outcome.latency_s[1:].mean(0), seen.oracle.latency_s[1], atol=slack)
    if partial:
        assert (seen.oracle.latency_s[1] >= outcome.latency_s[1:].mean(0) - 0.02).all()


def test_equally_fast_clients_are_equally_often_among_the_first():
    """Four of six are asked, three that are equally fast and a slow one; two of the fast ones count."""
    world = composed.Options(
        Always(), Always(), speed=Tempo((0.0,), (0.5, 0.5, 0.5, 0.9, 0.5, 0.5), 0.0), waiting=First(2.0, 4.0)
    )
    asked = np.tile([True, False, True, True, False, True], (3000, 1))
    _, (_, _, outcome) = walk(world, asked, np.zeros((3000, 6)), np.ones(6), 0, k=4)
    np.testing.assert_allclose(outcome.used.mean(0), [2 / 3, 0, 2 / 3, 0, 0, 2 / 3], atol=0.04)
    assert (outcome.used.sum(1) == 2).all()


def test_by_default_clients_are_the_volatile_ones():
    nobody = np.zeros((3000, 8), bool)
    _, (_, seen, outcome) = walk(composed.Options(), nobody, nobody.astype(int), np.ones(8), 0)
    np.testing.assert_allclose(seen.oracle.success_rate, [[0.1, 0.3, 0.6, 0.9] * 2] * 3000, rtol=1e-6)
    np.testing.assert_allclose(outcome.succeeded.mean(0), [0.1, 0.3, 0.6, 0.9] * 2, atol=0.035)
    assert seen.available.all() and (outcome.latency_s == 1).all() and (outcome.idle_s == 1).all()


def test_nobody_may_be_there():
    """Without a cohort, or with one that fails, over-selection ends no round early."""
    world = composed.Options(Coins((0.0,)), Always(), speed=Tempo((0.1,), (0.5,), 0.0), waiting=First(1.3, 4.0))
    every = np.ones((3, 4), bool)
    _, (_, seen, outcome) = walk(world, every, every.astype(int), np.ones(4), 0)
    assert not seen.available.any() and not outcome.used.any()
    np.testing.assert_allclose(outcome.latency_s, 0.6, rtol=1e-6)
    failing = composed.Options(Always(), Coins((0.0,)), speed=Tempo((0.1,), (0.5,), 0.0), waiting=First(1.3, 4.0))
    _, (_, _, outcome) = walk(failing, every, every.astype(int), np.ones(4), 0)
    assert not outcome.used.any() and (outcome.latency_s == 4).all()
