"""Adaptive tau beside the NumPy reference, which was written from the papers alone: every round in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import adaptive_run, adaptive_tau
from support import Stepper

import jfed
from jfed.algorithms import estimating
from jfed.controllers import adaptive
from jfed.core import ops, prng
from jfed.data.load import load
from jfed.envs import edge
from jfed.selectors import everybody

pytestmark = pytest.mark.check

CLIENTS, BATCH, ROUNDS, RATE = 4, 8, 40, 0.05
SIZES = (40, 17, 30, 8)
COSTS = edge.Options(step_s=(0.02, 0.006), exchange_s=(0.13, 0.05))


def config(**delta):
    training = jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official", model="svm",
        algorithm=estimating.Options(RATE), batch_size=BATCH, average_over="returned",
        final_model="best",
    )  # fmt: skip
    base = jfed.Config(
        CLIENTS, CLIENTS, ROUNDS, eval_every=ROUNDS, environment=COSTS, selector=everybody.Options(),
        controller=adaptive.Options(budgets=(2.5,), tau_max=30), training=training,
    )  # fmt: skip
    return jfed.replace(base, delta)


class Draws:
    """The engine's own draws of one run, for the reference."""

    def __init__(self, stepper):
        self.keys = stepper.keys()
        self.positions, self.num = stepper.block.positions[0], stepper.block.num_samples[0]
        self.given = np.full(CLIENTS, -1)
        pool = load("digits")
        pixels = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
        self.x, self.y = pixels, np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)

    def batch(self, t, client, step):
        """Return the client's next batch, in the order of the reference's calls."""
        self.given[client] += 1
        size = int(self.num[client])
        epoch, number = divmod(self.given[client], max(size // BATCH, 1))
        key = jax.random.fold_in(prng.at(self.keys.training, 0, client), epoch)
        order = np.asarray(ops.shuffled(key, jnp.asarray(self.positions[client]), jnp.int32(size)))
        return order[number * BATCH : number * BATCH + BATCH][: size - number * BATCH]

    def costs(self):
        local, sent = [], []
        for t in range(1, ROUNDS + 1):
            a, b = jax.random.split(prng.at(self.keys.environment, t, 1))
            local.append(COSTS.step_s[0] + COSTS.step_s[1] * np.asarray(jax.random.normal(a, (1, 100)))[0])
            sent.append(COSTS.exchange_s[0] + COSTS.exchange_s[1] * np.asarray(jax.random.normal(b, (1,))))
        return np.maximum(np.array(local)[:, :, None], 1e-10), np.maximum(np.array(sent), 1e-10)


@pytest.mark.parametrize(
    ("stop", "budget"), [("best", 2.5), pytest.param("last", 2.5, marks=pytest.mark.proof), ("best", 0.2)]
)
def test_every_round_is_that_of_the_reference(stop, budget):
    with jax.enable_x64(True):
        changed = config(**{"controller.stop": stop, "controller.budgets": (budget,), "controller.last_steps": 1})
        stepper = Stepper([jfed.Point(changed, {})], [3])
        draws = Draws(stepper)
        states, records = [], []
        for t in range(1, ROUNDS + 1):
            records.append(stepper.step(t)[0])
            states.append(stepper.host())
        run = adaptive_run.run(
            draws.x, draws.y, np.zeros(64), draws.num.astype(float), draws.batch, *draws.costs(), np.array([budget]),
            eta=RATE, phi=0.025, return_best=stop == "best", tau_max=30, reuse=10**9 if budget < 1 else 3,
        )  # fmt: skip
    rounds = len(run["tau"])
    assert rounds < ROUNDS and (budget < 1 or max(run["tau"]) > 5)
    looks = stop == "best"  # a last round that trains nothing
    trained = rounds - looks
    assert [int(r.num_steps[0]) for r in records[:trained]] == [CLIENTS * int(tau) for tau in run["tau"][:trained]]
    assert not looks or (int(records[trained].num_steps[0]), int(run["tau"][-1])) == (0, 1)
    ours = [s.controller for s in states]
    np.testing.assert_allclose([s.spent[0, 0] for s in ours[:rounds]], run["spent"][:, 0], rtol=1e-10)
    for name in ("rho", "beta", "delta"):
        np.testing.assert_allclose([getattr(s, name)[0] for s in ours[:rounds]], run[name], rtol=1e-8)
    weights = [jax.tree.leaves(s.weights)[0][0, :, 0] for s in states]
    np.testing.assert_allclose(weights[:trained], run["w"][:trained], rtol=1e-8, atol=1e-12)
    best = jax.tree.leaves(states[-1].best)[0][0, :, 0]
    np.testing.assert_allclose(best, run["w_best"], rtol=1e-8, atol=1e-12)
    assert [int(s.ended_round[0]) for s in states] == [0] * (rounds - 1) + [rounds] * (ROUNDS - rounds + 1)
    over = records[rounds:]
    assert not any(r.num_selected[0] or r.num_steps[0] or r.round_time_s[0] for r in over)


def test_a_batch_serves_three_single_steps_and_then_a_new_one_comes():
    """In the first round of a new batch, both of a client's models are evaluated on that batch.

    The reference then evaluates the older model on the older batch, as the public code does; so the test computes rho
    and beta of those rounds itself.
    """
    rounds, gone, drawn = 10, [], {}
    with jax.enable_x64(True):
        stepper = Stepper([jfed.Point(config(**{"controller.fixed": 1}), {})], [3])
        draws, states = Draws(stepper), []
        for t in range(1, rounds + 1):
            gone.append(int(stepper.step(t)[0].num_steps[0]))
            states.append(stepper.host())

        def batch(t, client, step):
            drawn[t, client] = draws.batch(t, client, step)
            return drawn[t, client]

        size = draws.num.astype(float)
        run = adaptive_run.run(
            draws.x, draws.y, np.zeros(64), size, batch, *draws.costs(), np.array([2.5]), eta=RATE, phi=0.025,
            tau_max=1,
        )  # fmt: skip
    assert gone == [CLIENTS] * rounds and (run["tau"][:rounds] == 1).all() and len(run["tau"]) > rounds
    assert [t for t, client in drawn if client == 0 and t < rounds] == [0, 3, 6, 9]
    weights = np.array([jax.tree.leaves(s.weights)[0][0, :, 0] for s in states])
    np.testing.assert_allclose(weights, run["w"][:rounds], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose([s.controller.spent[0, 0] for s in states], run["spent"][:rounds, 0], rtol=1e-10)
    np.testing.assert_allclose([s.controller.delta[0] for s in states][1:], run["delta"][1:rounds], rtol=1e-8)
    np.testing.assert_array_equal([s.clients.batch[0] for s in states], np.arange(rounds)[:, None] // 3 + [0] * CLIENTS)
    np.testing.assert_array_equal([s.clients.uses[0] for s in states], np.arange(rounds)[:, None] % 3 + [1] * CLIENTS)
    sent = [np.zeros(64), *run["w"]]
    for t in range(1, rounds):
        expected = {name: run[name][t] for name in ("rho", "beta")}
        if t % 3 == 0:
            both = [slopes(draws, sent[t - 1], sent[t], drawn[t - 3, i], drawn[t, i]) for i in range(CLIENTS)]
            old, expected = expected, dict(zip(expected, np.array(both).T @ size / size.sum(), strict=True))
            assert all(abs(old[name] - x) > 1e-3 * x for name, x in expected.items())
        for name, x in expected.items():
            np.testing.assert_allclose(getattr(states[t].controller, name)[0], x, rtol=1e-8)


def test_a_longer_round_begins_with_the_batch_in_use_and_leaves_its_last_one_used_once():
    taus = (1, 1, 1, 3, 1, 1, 1, 2, 2, 1, 1, 1, 1, 4)
    with jax.enable_x64(True):
        stepper = Stepper([jfed.Point(config(**{"controller.budgets": (1000.0,)}), {})], [3])
        draws, states = Draws(stepper), []
        for t, tau in enumerate(taus, 1):
            now = stepper.state.controller
            told = now._replace(tau=jnp.full_like(now.tau, tau))
            stepper.state = stepper.state._replace(controller=told)
            stepper.step(t)
            states.append(stepper.host())
        about = draws.x, draws.y, adaptive_tau.svm_loss, adaptive_tau.svm_gradient
        clients, w = [adaptive_run.Client(i, *about) for i in range(CLIENTS)], np.zeros(64)
        for t, (tau, state) in enumerate(zip(taus, states, strict=True)):
            answers = [client.play(t, w, None, tau, draws.batch, RATE, 3) for client in clients]
            w = adaptive_tau.weighted_vector([a["w"] for a in answers], draws.num.astype(float))
            np.testing.assert_allclose(jax.tree.leaves(state.weights)[0][0, :, 0], w, rtol=1e-8, atol=1e-12)
            np.testing.assert_array_equal(state.clients.batch[0], draws.given)
            np.testing.assert_array_equal(state.clients.uses[0], [client.uses for client in clients])
    assert [int(s.clients.batch[0, 0]) for s in states] == [0, 0, 0, 2, 2, 2, 3, 4, 5, 5, 5, 6, 6, 9]


def slopes(draws, before, now, used, new):
    """Return rho_i and beta_i on a new batch, of a client that made one step with the batch before."""
    end = before - RATE * adaptive_tau.svm_gradient(before, draws.x[used], draws.y[used])
    losses = [adaptive_tau.svm_loss(w, draws.x[new], draws.y[new]) for w in (end, now)]
    gradients = [adaptive_tau.svm_gradient(w, draws.x[new], draws.y[new]) for w in (end, now)]
    return adaptive_tau.local_rho(*losses, end, now), adaptive_tau.local_beta(*gradients, end, now)
