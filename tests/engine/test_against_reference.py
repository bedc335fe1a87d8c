"""The engine beside the NumPy reference, which was written from the paper without a look at the engine.

Exogenous draws are recomputed from `jfed.core.prng` and handed to the reference; everything else it works out itself.
In float64 the two run freely side by side; in float32 each round of the reference starts from the engine's state.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import e3cs as ref
from reference import selectors as ref_selectors
from reference import training as ref_training
from support import Stepper, unpack

import jfed
from jfed.algorithms import local_sgd
from jfed.core import ops, prng
from jfed.models import dense
from jfed.runner import feed
from jfed.selectors import e3cs, pow_d, uniform

pytestmark = pytest.mark.check

RATES = np.array([0.1, 0.3, 0.6, 0.9])


def keys_of(run: int, stepper: Stepper) -> prng.Keys:
    return prng.keys(jax.tree.map(lambda x: jnp.asarray(x[run]), stepper.block.seeds))


def success(keys: prng.Keys, t: int, rates: np.ndarray) -> np.ndarray:
    draw = prng.uniform(prng.at(keys.environment, t, 1), len(rates))
    return np.asarray(draw) < rates.astype(draw.dtype)


def race(keys: prng.Keys, t: int, num_clients: int) -> np.ndarray:
    return np.exp(np.asarray(ops.log_exponential(prng.at(keys.selector, t, 1), num_clients), np.float64))


# ------------------------------------------------------------------------------------------- selection only

NUM, ROUNDS = 12, 60
# (k, quota, eta) of the runs of one program
SETTINGS = [(4, 0.0, 0.5), (4, 0.5, 0.5), (5, "inc", 0.3), (1, 0.0, 0.05), (12, 0.3, 0.5), (3, 1.0, 0.5)]
FORMS = {
    "faithful": {"sampler": "sequential", "clip_exponent": False},
    "clipped": {"sampler": "sequential", "clip_exponent": True},
    "corrected": {"sampler": "exact", "clip_exponent": True},
}


def e3cs_stepper(form: str) -> Stepper:
    base = jfed.Config(num_clients=NUM, num_rounds=ROUNDS)
    where = [
        jfed.Point(
            jfed.replace(base, {"cohort_size": k, "selector": e3cs.Options(quota, eta, **FORMS[form])}), {"setting": i}
        )
        for i, (k, quota, eta) in enumerate(SETTINGS)
    ]
    return Stepper(where, [3])


def quotas(setting: tuple) -> np.ndarray:
    k, quota, _ = setting
    return np.array([ref.quota(quota, t, ROUNDS, k, NUM) for t in range(1, ROUNDS + 1)])


@pytest.mark.parametrize("form", ["faithful", "clipped"])
def test_e3cs_runs_freely_beside_the_reference(form):
    rates = RATES[np.arange(NUM) % 4]
    with jax.enable_x64(True):
        stepper = e3cs_stepper(form)
        log_w, p, overflow, selected, expected, returned = [], [], [], [], [], []
        for t in range(1, ROUNDS + 1):
            log_w.append(stepper.host().selector.log_w)
            record, _ = stepper.step(t)
            state = stepper.host().selector
            p.append(np.exp(state.log_p))
            overflow.append(state.overflow)
            selected.append(unpack(record, NUM))
            expected.append(record.expected_succeeded)
            returned.append(record.num_succeeded)
        log_w.append(stepper.host().selector.log_w)
        engine = {n: np.array(v) for n, v in [("w", log_w), ("p", p), ("s", selected), ("e", expected)]}
        assert all(v.dtype == np.float64 for v in (engine["w"], engine["p"], engine["e"]))
        for i, setting in enumerate(SETTINGS):
            k, _, eta = setting
            keys = keys_of(i, stepper)
            x = np.array([success(keys, t, rates) for t in range(1, ROUNDS + 1)])
            arrivals = np.array([race(keys, t, NUM) for t in range(1, ROUNDS + 1)])
            fractions = quotas(setting) * NUM / k
            run = ref.run_selection(x, arrivals, k, fractions, eta, FORMS[form]["clip_exponent"])
            np.testing.assert_array_equal(engine["s"][:, i], run["selected"], err_msg=str(setting))
            np.testing.assert_allclose(engine["p"][:, i], run["p"], rtol=0, atol=1e-10)
            np.testing.assert_allclose(engine["e"][:, i], run["expected"], rtol=0, atol=1e-10)
            np.testing.assert_array_equal(np.cumsum(np.array(returned)[:, i]), run["cep"])
            if k == NUM:  # everybody is taken; whoever sits exactly at the cap may be in S or not
                continue
            relative = run["log_w"] - run["log_w"].max(axis=1, keepdims=True)
            np.testing.assert_allclose(engine["w"][:, i], relative, rtol=1e-10, atol=1e-10)
            np.testing.assert_array_equal(np.array(overflow)[:, i], run["overflow"])


@pytest.mark.parametrize("form", ["faithful", "corrected"])
def test_e3cs_round_by_round_in_float32(form):
    rates = RATES[np.arange(NUM) % 4]
    stepper = e3cs_stepper(form)
    sigmas = [quotas(s) for s in SETTINGS]
    all_keys = [keys_of(i, stepper) for i in range(len(SETTINGS))]
    for t in range(1, ROUNDS + 1):
        before = stepper.host().selector.log_w
        record, _ = stepper.step(t)
        state, chosen = stepper.host().selector, unpack(record, NUM)
        for i, (k, _, eta) in enumerate(SETTINGS):
            sigma = sigmas[i][t - 1]
            p, overflow = ref.prob_alloc(before[i].astype(np.float64), k, sigma)
            np.testing.assert_allclose(np.exp(state.log_p[i]), p, rtol=1e-4, atol=1e-6)
            assert chosen[i].sum() == k
            x = success(all_keys[i], t, rates)
            assert record.expected_succeeded[i] == pytest.approx(p[x].sum(), rel=1e-4, abs=1e-5)
            assert record.num_succeeded[i] == (chosen[i] & x).sum()
            if form == "faithful":
                mine = ref.select_by_race(np.exp(state.log_p[i].astype(np.float64)), race(all_keys[i], t, NUM), k)
                np.testing.assert_array_equal(chosen[i], mine)
            clip = FORMS[form]["clip_exponent"]
            # An entry exactly at the cap may be in either set; p is the same. Take the engine's there.
            sure = np.abs(p - 1) > 1e-6
            np.testing.assert_array_equal(state.overflow[i][sure], overflow[sure])
            after = ref.update(before[i].astype(np.float64), p, state.overflow[i], chosen[i], x, k, sigma, eta, clip)
            np.testing.assert_allclose(state.log_w[i], after - after.max(), rtol=2e-4, atol=1e-4)


# ----------------------------------------------------------------------------------------------- training

SIZES = (20, 13, 9, 1, 0, 20)  # before a tenth is set aside for tests
BATCH, LOCAL = 8, 6
RATE, MOMENTUM, PROX = 0.05, 0.9, (0.0, 0.5)


def training_stepper(model: str, missing: str, selector: object) -> Stepper:
    hidden = {"softmax": (), "mlp": (5,)}[model]
    base = jfed.Config(
        num_clients=LOCAL,
        cohort_size=4,
        num_rounds=4,
        selector=selector,
        training=jfed.Training(
            samples_per_client=SIZES,
            batch_size=BATCH,
            test_set="official",
            model=dense.Options(hidden=hidden),
            average_over=missing,  # type: ignore[arg-type]
        ),
    )
    rates = [local_sgd.Options(learning_rate=RATE, momentum=MOMENTUM, prox=mu) for mu in PROX]
    where = [jfed.Point(jfed.replace(base, {"training.algorithm": rate}), {"prox": rate.prox}) for rate in rates]
    return Stepper(where, [5])


def reference_model(weights: dict) -> ref_training.Params:
    plain = jax.tree.map(lambda x: np.asarray(x, np.float64), weights)
    return {"hidden": plain["hidden_0"], "out": plain["out"]} if "hidden_0" in plain else dict(plain["out"])


class World:
    """What one run's clients meet, recomputed from its seeds."""

    def __init__(self, stepper: Stepper, run: int) -> None:
        self.keys = keys_of(run, stepper)
        self.n = stepper.block.num_samples[run]
        self.positions = stepper.block.positions[run]
        data = feed.dataset("digits", None)
        images = np.concatenate([data.images, data.test_images])
        self.x = images.reshape(len(images), -1) / 16.0
        self.y = np.concatenate([data.labels, data.test_labels]).astype(np.int64)
        self.test = slice(len(data.labels), None)
        which = jax.random.randint(prng.at(self.keys.environment, 0, 1), (LOCAL,), 0, 4)
        self.epochs = np.array([1, 2, 3, 4])[np.asarray(which)]
        self.rates = RATES[np.arange(LOCAL) % 4]

    def batches(self, t: int, client: int) -> list[np.ndarray]:
        key, n = prng.at(self.keys.training, t, client), int(self.n[client])
        found = []
        for epoch in range(self.epochs[client]):
            row = jnp.asarray(self.positions[client])
            order = np.asarray(ops.shuffled(jax.random.fold_in(key, epoch), row, jnp.int32(n)))
            found += [order[i : min(i + BATCH, n)] for i in range(0, n, BATCH)]
        return found

    def round(self, model, t, selected, mu, missing):
        """The reference's model after round t, and the clients' mean losses."""
        x = success(self.keys, t, self.rates)
        models, losses = {}, {}
        for i in np.flatnonzero(selected & x):
            data = [(self.x[rows], self.y[rows]) for rows in self.batches(t, int(i))]
            models[int(i)], losses[int(i)] = ref_training.local_sgd(model, data, RATE, MOMENTUM, mu)
        return ref_training.aggregate(model, models, self.n, selected, x, missing), losses

    def steps(self, t, selected):
        x = success(self.keys, t, self.rates)
        return sum(
            ref_training.steps_of(int(self.n[i]), BATCH, int(self.epochs[i])) for i in np.flatnonzero(selected & x)
        )


def assert_close(engine: dict, mine: ref_training.Params, atol: float) -> None:
    for a, b in zip(jax.tree.leaves(reference_model(engine)), jax.tree.leaves(mine), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


class Seen(NamedTuple):
    """What a check of the selector may look at, of one run in one round."""

    world: World
    t: int
    model: ref_training.Params  # before the round
    chosen: np.ndarray
    losses: dict[int, float]  # mean training losses of those who returned, by the reference
    probed: int
    selector: object  # the engine's selector state after the round


def check_training(
    model: str, missing: str, selector: object, atol: float, free: bool, also: Callable[[Seen], None]
) -> Stepper:
    """Four rounds of FedAvg and of FedProx; `free` lets the reference run on from its own model."""
    stepper = training_stepper(model, missing, selector)
    worlds = [World(stepper, i) for i in range(len(PROX))]
    initial = stepper.host().weights
    mine = [reference_model(jax.tree.map(lambda w, i=i: w[i], initial)) for i in range(len(PROX))]
    moved = []
    for t in range(1, stepper.config.num_rounds + 1):
        if not free:
            now = stepper.host().weights
            mine = [reference_model(jax.tree.map(lambda w, i=i: w[i], now)) for i in range(len(PROX))]
        record, quality = stepper.step(t)
        chosen, weights = unpack(record, LOCAL), stepper.host().weights
        for i, mu in enumerate(PROX):
            before = mine[i]
            mine[i], losses = worlds[i].round(mine[i], t, chosen[i], mu, missing)
            state = jax.tree.map(lambda leaf, i=i: leaf[i], stepper.host().selector)
            also(Seen(worlds[i], t, before, chosen[i], losses, int(record.num_probed[i]), state))
            assert_close(jax.tree.map(lambda w, i=i: w[i], weights), mine[i], atol)
            assert record.num_steps[i] == worlds[i].steps(t, chosen[i])
            w = worlds[i]
            accuracy, loss = ref_training.evaluate(mine[i], w.x[w.test], w.y[w.test])
            assert quality.loss[i] == pytest.approx(loss, abs=10 * atol)
            assert quality.accuracy[i] == pytest.approx(accuracy, abs=1e-6 if atol < 1e-8 else 0.01)
            moved.append(max(abs(a - b).max() for a, b in zip(*map(jax.tree.leaves, (before, mine[i])), strict=True)))
    assert np.count_nonzero(np.array(moved) > 1e-4) >= 6  # of 8: the models do learn
    final = stepper.finish()
    for i, w in enumerate(worlds):
        for client in np.flatnonzero(w.n):
            rows = w.positions[client, : w.n[client]]
            accuracy, loss = ref_training.evaluate(mine[i], w.x[rows], w.y[rows])
            assert final.loss[i, client] == pytest.approx(loss, abs=100 * atol)
            assert final.accuracy[i, client] == pytest.approx(accuracy, abs=1e-6 if atol < 1e-8 else 0.2)
    return stepper


def nothing_else(seen: Seen) -> None:
    assert seen.probed == 0


def check_pow_d(seen: Seen) -> None:
    """Five candidates are drawn and asked, and the four with the largest loss on their own data are chosen."""
    w = seen.world
    rows = [w.positions[c, : w.n[c]] for c in range(LOCAL)]
    losses = np.array([ref_training.evaluate(seen.model, w.x[r], w.y[r])[1] if len(r) else 0.0 for r in rows])
    draw = ops.log_exponential(prng.at(w.keys.selector, seen.t, 0), LOCAL)
    candidates = ref_selectors.pow_d_candidates(w.n, np.exp(np.asarray(draw)), 5)
    expected = ref_selectors.pow_d(losses, candidates, 4, np.zeros(LOCAL))  # no ties in float64
    np.testing.assert_array_equal(seen.chosen, expected)
    assert seen.probed == 5


def rpow_d_checker() -> Callable[[Seen], None]:
    """Nobody is asked; who returned is remembered by the mean training loss it reported."""
    memory: dict[int, np.ndarray] = {}

    def check(seen: Seen) -> None:
        last = memory.setdefault(id(seen.world), np.full(LOCAL, np.inf))
        draw_key, tie_key = jax.random.split(prng.at(seen.world.keys.selector, seen.t, 1))
        draw = ops.log_exponential(draw_key, LOCAL)
        candidates = ref_selectors.pow_d_candidates(seen.world.n, np.exp(np.asarray(draw)), 5)
        ties = np.asarray(jax.random.uniform(tie_key, (LOCAL,)))
        np.testing.assert_array_equal(seen.chosen, ref_selectors.rpow_d(last, candidates, 4, ties))
        for client, loss in seen.losses.items():
            last[client] = loss if np.isfinite(loss) else last[client]
        np.testing.assert_allclose(seen.selector.last_loss, last, rtol=0, atol=1e-9)
        assert seen.probed == 0

    return check


EVERY = list(itertools.product(["softmax", "mlp"], ["all", "selected", "returned"]))
QUICK = {
    ("softmax", "selected"): (e3cs.Options(), lambda: nothing_else),
    ("softmax", "returned"): (pow_d.Options(d=5, form="rpow-d"), rpow_d_checker),
    ("mlp", "all"): (pow_d.Options(d=5), lambda: check_pow_d),
}


@pytest.mark.parametrize(
    ("model", "missing"), [m if m in QUICK else pytest.param(*m, marks=pytest.mark.proof) for m in EVERY]
)
def test_training_runs_freely_beside_the_reference(model, missing):
    selector, also = QUICK.get((model, missing), (uniform.Options(), lambda: nothing_else))
    with jax.enable_x64(True):
        stepper = check_training(model, missing, selector, 1e-10, True, also())
        assert stepper.host().weights["out"]["kernel"].dtype == np.float64


def test_training_round_by_round_in_float32():
    check_training("softmax", "all", e3cs.Options(), 2e-6, False, nothing_else)
