"""Times that change: jumps by hand, stepping beside plain NumPy, laws, the oracle, and schemes that follow."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import composed as reference
from walking import key_of, on_device, problem, walk

import jfed
from jfed.core import prng
from jfed.core.errors import ConfigError
from jfed.core.types import Dims
from jfed.envs import composed
from jfed.envs.composed import Always, Coins, Deadline, Drift, Jump, Lasting, LogNormal, Rotate, Swap, Tempo
from jfed.envs.parts import base

K, T = 7, 12
STEP, WAY = np.array([0.1, 0.2, 0.4]), np.array([0.3, 0.5])  # six classes of clients
NOBODY, TWO = np.zeros((T, K), bool), np.full((T, K), 2)


def of_client(i):
    return STEP[i % 3], WAY[i % 2]


def times_by_hand(role):
    """Return the times of two steps in each round of the clients whose roles clients have: role(t, i), (T, K)."""
    return np.array([[2 * of_client(role(t, i))[0] + of_client(role(t, i))[1] for i in range(K)] for t in range(T)])


def reversed_(t, i):
    return reference.role(i, K, 6, 5 - i % 6) if t >= 6 and t < 9 else i


def rotated(t, i):
    return reference.role(i, K, 6, (i % 6 + t // 5) % 6)


def swapped(t, i):
    return reference.role(i, K, 6, {1: 2, 2: 1}.get(i % 6, i % 6)) if t >= 6 else i


@pytest.mark.parametrize(
    ("change", "role"), [(Jump((0.5, 0.75)), reversed_), (Rotate(5), rotated), (Swap(0.5, 1, 2), swapped)]
)
def test_clients_take_the_times_of_others(change, role):
    world = composed.Options(
        success=Always(), change=change, changing="speed", speed=Tempo(tuple(STEP), tuple(WAY), 0.0)
    )
    start, (_, seen, outcome) = walk(world, NOBODY, TWO, np.ones(K), 0)
    want = times_by_hand(role)
    np.testing.assert_allclose(outcome.latency_s, want, rtol=1e-6)
    np.testing.assert_allclose(seen.oracle.latency_s[1:], want[1:], rtol=1e-6)  # which knows the steps from round 2 on
    np.testing.assert_allclose(outcome.costs.step[:, 0] * 2 + outcome.costs.exchange[:, 0], want, rtol=1e-6)
    assert len({tuple(row) for row in want}) > 1 and (seen.oracle.success_rate == 1).all()
    np.testing.assert_allclose(start.pace.step_s, [of_client(i)[0] for i in range(K)], rtol=1e-6)


def test_times_without_classes_go_from_client_to_client():
    world = composed.Options(success=Always(), change=Jump(), changing="speed", speed=LogNormal(jitter=0.0))
    start, (_, seen, outcome) = walk(world, NOBODY, TWO, np.ones(K), 3)
    own = 2 * start.pace.step_s + start.pace.exchange_s
    np.testing.assert_allclose(outcome.latency_s, [own] * 6 + [own[::-1]] * 6, rtol=1e-6)
    np.testing.assert_allclose(seen.oracle.latency_s[1:], outcome.latency_s[1:], rtol=1e-6)


@jax.jit
def draws(seed):
    """Return the uniforms of each round, by place: change, availability, success and times."""
    key = key_of(seed)

    def of_round(t):
        seen, given = prng.at(key, t, 0), prng.at(key, t, 1)
        return [prng.uniform(prng.at(own, i), K) for own, i in ((seen, 0), (seen, 1), (given, 0), (given, 1))]

    return jax.vmap(of_round)(jnp.arange(1, T + 1))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_everything_drifts(seed):
    rates, here, sigma, span, step, deadline_s = (0.2, 0.8), (0.5, 0.9, 0.7), 0.3, 3.0, 0.2, 1.1
    world = composed.Options(
        Coins(here), Coins(rates), Drift(step, span), "all", Tempo(tuple(STEP), tuple(WAY), sigma), Deadline(deadline_s)
    )
    rng = np.random.default_rng(seed)
    selected, steps = rng.uniform(size=(T, K)) < 0.6, rng.integers(0, 5, (T, K))
    _, (_, seen, outcome) = walk(world, selected, steps, np.ones(K), seed)
    moves, there, lucky, times = jax.device_get(draws(jnp.uint32(seed)))
    walked, before, spread = np.zeros(K), np.ones(K), []
    for t in range(T):
        for i in range(K):
            if t > 0:
                walked[i] += step * reference.stats.norm.ppf(moves[t][i] + 2.0**-24)
            slower = reference.drifted(walked[i], span)
            mean, way = (slower * own for own in of_client(i))
            rate, factor = reference.mirrored(rates[i % 2] + walked[i]), reference.factor(times[t][i], sigma)
            assert seen.available[t, i] == (there[t][i] < reference.mirrored(here[i % 3] + walked[i])), (t, i)
            came = lucky[t][i] < rate
            want = reference.client_round(came, factor * mean, factor * way, steps[t, i], deadline_s)
            assert outcome.succeeded[t, i] == want[0] and outcome.latency_s[t, i] == pytest.approx(want[2], rel=1e-4)
            known = way + before[i] * mean
            chance = rate * reference.in_time(known, sigma, deadline_s)
            assert seen.oracle.success_rate[t, i] == pytest.approx(chance, abs=1e-4)
            late = reference.expected_latency(known, sigma, deadline_s, rate)
            assert seen.oracle.latency_s[t, i] == pytest.approx(late, rel=2e-3)
            spread.append(slower)
        before = steps[t]
    assert min(spread) < 0.6 and max(spread) > 1.6 and 1 / span <= min(spread) and max(spread) <= span


def factors(change, num_rounds, seeds):
    """Return the factors of times in each round, (seeds, T, K)."""
    made, params = change.make(Dims(3, 3)), on_device(change.params(problem(3, num_rounds=num_rounds)))

    def one(seed):
        def step(state, t):
            state = made.step(prng.at(jax.random.key(seed), t), state, params, t)
            return state, made.times(state, params, jnp.ones(3), jnp.int32(3), t)

        return jax.lax.scan(step, made.init(params), jnp.arange(1, num_rounds + 1))[1]

    return np.asarray(jax.jit(jax.vmap(one))(jnp.arange(seeds)))


@pytest.mark.check
def test_drifting_times_stay_between_their_mirrors():
    found = factors(Drift(0.1, 4.0), 1500, 40)
    assert (found[:, 0] == 1).all() and found.min() >= 0.25 * (1 - 1e-5) and found.max() <= 4 * (1 + 1e-5)
    logs = np.log(found[:, 300:]) / np.log(4)
    assert logs.mean() == pytest.approx(0, abs=0.06) and logs.var() == pytest.approx(1 / 3, rel=0.1)
    assert found[:, 300:].mean() == pytest.approx((4 - 0.25) / (2 * np.log(4)), rel=0.04)
    inside = np.abs(logs[:, :-1]) < 0.3
    assert np.diff(logs, axis=1)[inside].std() == pytest.approx(0.2, rel=0.03)  # 2 log(span) times the step
    assert (factors(Drift(0.1, 1.0), 20, 3) == 1).all()


def test_rates_tied_to_time_follow_it():
    world = composed.Options(
        success=Lasting(2.0), change=Jump(), changing="speed", speed=Tempo(tuple(STEP), tuple(WAY), 0.0)
    )
    _, (_, seen, _) = walk(world, NOBODY, TWO, np.ones(K), 0)
    want = np.exp(-times_by_hand(lambda t, i: reference.role(i, K, 6, 5 - i % 6) if t >= 6 else i) / 2.0)
    np.testing.assert_allclose(seen.oracle.success_rate[1:], want[1:], rtol=1e-5)


@pytest.mark.parametrize("changing", ["success", "availability", "both"])
def test_times_stay_where_only_rates_change(changing):
    world = composed.Options(Coins(), Coins(), Jump(), changing, Tempo(tuple(STEP), tuple(WAY), 0.0))
    _, (_, seen, outcome) = walk(world, NOBODY, TWO, np.ones(K), 0)
    np.testing.assert_allclose(outcome.latency_s, times_by_hand(lambda t, i: i), rtol=1e-6)
    rates = np.resize([0.1, 0.3, 0.6, 0.9], K)
    after = np.array([0.9, 0.6, 0.3, 0.1, 0.9, 0.6, 0.3]) if changing != "availability" else rates
    np.testing.assert_allclose(seen.oracle.success_rate, np.stack([rates] * 6 + [after] * 6), rtol=1e-6)


@dataclasses.dataclass(frozen=True)
class Halved(base.ChangeOptions):
    """A change that says nothing of times."""

    def make(self, dims):
        return base.Change(lambda p: (), lambda k, s, p, t: s, lambda s, p, rates, c, t: rates / 2)


def test_changes_that_say_nothing_are_refused():
    with pytest.raises(ConfigError, match="Halved changes rates alone: set changing to success, availability or both"):
        composed.Options(change=Halved(), changing="all").make(Dims(K, K))
    composed.Options(change=Halved(), changing="both").make(Dims(K, K))
    with pytest.raises(ConfigError, match='which are all equal with speed="unit": choose another speed, such as tempo'):
        composed.Options(change="rotate", changing="speed").params(problem(K))
    with pytest.raises(
        ConfigError, match="There is nothing to change in availability and success, always on or a trac"
    ):
        composed.Options(success="always", change="jump", changing="both").params(problem(K))
    composed.Options(change="jump", changing="both").params(problem(K))  # success can change
    for fine in (composed.Options(change="drift", changing="speed"), composed.Options(change="jump", changing="all")):
        fine.params(problem(K))
    with pytest.raises(ConfigError, match=r"span must lie in \[1, 1000\], found 0\.5"):
        Drift(span=0.5).params(problem(K))
    config = jfed.Config(K, 2, 4, selector="uniform", environment="composed")
    with pytest.raises(ConfigError, match=r"environment\.changing must be .*, found 'speeds'"):
        jfed.replace(config, {"environment.changing": "speeds"})


@pytest.mark.check
def test_a_scheme_that_knows_times_follows_them():
    """FedCS with 1 s, which sees the oracle, takes the fast half before the jump, and then the other half."""
    world = composed.Options(
        success=Always(), change=Jump(), changing="speed", speed=Tempo((0.0,), (0.5, 2.0), 0.0), waiting=Deadline(5.0)
    )
    config = jfed.Config(8, 4, 10, environment=world)
    found = jfed.run(jfed.methods(config, ["fedcs-1"]), [0], layout=jfed.Layout(record_selected=True), progress=False)
    chosen = np.unpackbits(found["selected"].values[0], axis=1).astype(bool)
    assert chosen[:5].tolist() == [[True, False] * 4] * 5 and chosen[5:].tolist() == [[False, True] * 4] * 5
    np.testing.assert_allclose(found["round_time_s"].values[0], 0.5)
