"""Algorithms with a state beside the NumPy reference of the papers, in float64, where clients fail or have no data.

Cohorts are 4 of 6 clients, one of which has no images and one a single image; in some rounds no client returns.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from away_algorithms import Dyn, Gaps, Memory, Plain
from recomputed import BATCH, LOCAL, RATE, SIZES, World, assert_close, reference_model, success
from reference import away as ref_away
from reference import server as ref
from reference import training as ref_training
from support import Stepper, assert_same_tree, unpack

import jfed
from jfed.algorithms import fedau, fedavgm, feddyn, fednova, fedopt, fedvarp, local_sgd, mifa, scaffold
from jfed.core.learning import Answers, Report
from jfed.core.types import Dims, Problem
from jfed.selectors import uniform

pytestmark = pytest.mark.check

ROUNDS = 8


def stepper_of(reading: str, algorithms: list[Any]) -> Stepper:
    base = jfed.Config(
        num_clients=LOCAL,
        cohort_size=4,
        num_rounds=ROUNDS,
        eval_every=ROUNDS,
        selector=uniform.Options(),
        training=jfed.Training(
            samples_per_client=SIZES, batch_size=BATCH, test_set="official", average_over=reading  # type: ignore[arg-type]
        ),
    )  # fmt: skip
    where = [jfed.Point(jfed.replace(base, {"training.algorithm": a}), {"run": i}) for i, a in enumerate(algorithms)]
    return Stepper(where, [5])


class Trained(NamedTuple):
    """A round's input of a reference algorithm."""

    now: ref.Round
    world: World
    t: int

    def batches(self, i: int) -> list[Any]:
        return [(self.world.x[rows], self.world.y[rows]) for rows in self.world.batches(self.t, i)]

    def everything(self, i: int) -> Any:
        rows = self.world.positions[i, : self.world.n[i]]
        return self.world.x[rows], self.world.y[rows]

    def rate(self, options: Any) -> float:
        """Return the learning rate of the round."""
        return RATE * self.factor(options.schedule)

    def factor(self, schedule: Any) -> float:
        return SCHEDULES[schedule][self.t - 1]

    def moves(self, model: Any, momentum: float = 0.0, prox: float = 0.0, rate: float = RATE) -> dict[int, Any]:
        found = {}
        for i in self.now.back:
            local, _ = ref_training.local_sgd(model, self.batches(i), rate, momentum, prox)
            found[i] = ref_training.tree_map(np.subtract, local, model)
        return found

    def of_workers(self, model: Any, rate: float, **how: Any) -> dict[int, Any]:
        """Return the moves of the clients that make steps, by the steps of `away`."""
        found = {}
        for i in self.now.back:
            if batches := self.batches(i):
                own = {name: x[i] if isinstance(x, list) else x for name, x in how.items()}
                local = ref_away.descend(
                    model, batches, lambda w, batch: ref_training.loss_and_grad(w, *batch)[1], rate, **own
                )
                found[i] = ref_training.tree_map(np.subtract, local, model)
        return found

    def delta(self, model: Any) -> Any:
        """Return the averaged update; None if no client with images returned."""
        weights = self.now.weights()
        return ref.combined(self.moves(model), weights, model) if weights else None


class Momentum:
    """The reference's FedAvgM, with its state."""

    def __init__(self, options: fedavgm.Options, start: Any) -> None:
        self.options, self.v = options, ref.zeros(start)

    def round(self, model: Any, trained: Trained) -> Any:
        delta = trained.delta(model)
        if delta is None:
            return model
        eta = self.options.server_rate * trained.factor(self.options.server_schedule)
        model, self.v = ref.fedavgm(model, self.v, delta, eta, self.options.beta)
        return model

    def check(self, server: Any, clients: Any, run: int) -> None:
        trace = jax.tree.map(lambda x: -x[run], server[0].trace)  # optax's sign is the opposite
        assert_close(trace, self.v, 1e-10)


class Adaptive:
    """The reference's FedAdagrad, FedAdam or FedYogi, with its state."""

    def __init__(self, options: fedopt.Options, start: Any) -> None:
        self.options, self.moments = options, ref.first_moments(start, options.tau)

    def round(self, model: Any, trained: Trained) -> Any:
        o, delta = self.options, trained.delta(model)
        if delta is None:
            return model
        beta_1 = o.beta_1 if o.beta_1 is not None else 0.0 if o.rule == "adagrad" else 0.9
        model, self.moments = ref.fedopt(
            o.rule, model, self.moments, delta, o.server_rate, beta_1, o.beta_2, o.tau
        )  # fmt: skip
        return model

    def check(self, server: Any, clients: Any, run: int) -> None:
        assert_close(jax.tree.map(lambda x: x[run], server.m), self.moments.m, 1e-10)
        assert_close(jax.tree.map(lambda x: x[run], server.v), self.moments.v, 1e-10)


class Scaffold:
    """The reference's SCAFFOLD, with its state."""

    def __init__(self, options: scaffold.Options, start: Any) -> None:
        self.options, self.c = options, ref.zeros(start)
        self.own = [ref.zeros(start) for _ in range(LOCAL)]

    def round(self, model: Any, trained: Trained) -> Any:
        moves, changes, new, rate = {}, {}, list(self.own), trained.rate(self.options)
        for i in trained.now.back:
            y, new[i] = ref.scaffold_client(
                model, self.c, self.own[i], trained.batches(i), trained.everything(i), rate, self.options.option
            )
            moves[i] = ref_training.tree_map(np.subtract, y, model)
            changes[i] = ref_training.tree_map(np.subtract, new[i], self.own[i])
        self.own = new
        model, self.c = ref.scaffold_server(model, self.c, moves, changes, trained.now, self.options.server_rate)
        return model

    def check(self, server: Any, clients: Any, run: int) -> None:
        assert_close(jax.tree.map(lambda x: x[run], server), self.c, 1e-9)
        for i, own in enumerate(self.own):
            assert_close(jax.tree.map(lambda x, i=i: x[run, i], clients), own, 1e-9)


class Nova:
    """The reference's FedNova, which has no state."""

    def __init__(self, options: fednova.Options, start: Any) -> None:
        self.options = options

    def round(self, model: Any, trained: Trained) -> Any:
        o = self.options
        steps = {i: len(trained.batches(i)) for i in trained.now.back}
        rate = trained.rate(o)
        moves = trained.moves(model, o.momentum, o.prox, rate)
        return ref.fednova(model, moves, steps, trained.now, rate, o.momentum, o.prox)

    def check(self, server: Any, clients: Any, run: int) -> None:
        assert server is None and clients is None


def yogi(**more: float) -> fedopt.Options:
    return fedopt.Options(RATE, rule="yogi", **more)  # type: ignore[arg-type]


HALVED = "step-0.5-3"
SCHEDULES = {
    "constant": [1.0] * ROUNDS,
    HALVED: ref_away.schedule("step", ROUNDS, 0.5, 3),
    "cosine": ref_away.schedule("cosine", ROUNDS),
    "inverse": ref_away.schedule("inverse", ROUNDS),
}
# Runs of one program, which differ in dynamic settings; the reading; the reference.
CASES = {
    "fedavg": ([local_sgd.Options(RATE, schedule=HALVED, clip=0.7),
                local_sgd.Options(RATE, 0.0, schedule="cosine", clip=0.7)], "selected", Plain),
    "mifa": ([mifa.Options(RATE, schedule=HALVED), mifa.Options(RATE, schedule="inverse")], "all", Memory),
    "fedvarp": ([fedvarp.Options(RATE, schedule=HALVED), fedvarp.Options(RATE, server_rate=0.5, schedule="cosine")],
                "returned", Memory),
    "feddyn": ([feddyn.Options(RATE, clip=0.9), feddyn.Options(RATE, prox=1.0, clip=0.9)], "returned", Dyn),
    "fedau": ([fedau.Options(RATE, longest=2), fedau.Options(RATE, server_rate=0.5)], "all", Gaps),
    "fedavgm": ([fedavgm.Options(RATE, server_schedule=HALVED),
                 fedavgm.Options(RATE, server_rate=0.7, beta=0.5, server_schedule="inverse")], "returned", Momentum),
    "fedadam": ([fedopt.Options(RATE), fedopt.Options(RATE, server_rate=0.1, beta_1=0.5, tau=0.1)], "all", Adaptive),
    "fedyogi": ([yogi(tau=0.01, beta_2=0.5), yogi(server_rate=0.05)], "returned", Adaptive),
    "fedadagrad": ([fedopt.Options(RATE, rule="adagrad"), fedopt.Options(RATE, rule="adagrad", beta_1=0.9)],
                   "selected", Adaptive),
    "scaffold": ([scaffold.Options(RATE, schedule=HALVED), scaffold.Options(RATE, server_rate=0.5, schedule="cosine")],
                 "returned", Scaffold),
    "scaffold-i": ([scaffold.Options(RATE, option="I")] * 2, "all", Scaffold),
    "fednova": ([fednova.Options(RATE, schedule=HALVED),
                 fednova.Options(RATE, momentum=0.0, prox=2.0, schedule="inverse")], "all", Nova),
}  # fmt: skip


PROOF = {"fedyogi", "fedadagrad", "fedvarp"}  # which quick tests of their rules cover


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.proof] * (n in PROOF)) for n in CASES])
def test_an_algorithm_runs_freely_beside_the_reference(name):
    options, reading, reference = CASES[name]
    with jax.enable_x64(True):
        stepper = stepper_of(reading, options)
        assert jfed.catalog.label(options[0]) == name
        start = stepper.host().weights
        models = [reference_model(jax.tree.map(lambda w, i=i: w[i], start)) for i in range(2)]
        worlds = [World(stepper, i) for i in range(2)]
        mine = [reference(o, models[i]) for i, o in enumerate(options)]
        counts: dict[str, int] = {"nobody": 0, "empty": 0, "failed": 0}
        for t in range(1, ROUNDS + 1):
            before = stepper.host()
            record, _ = stepper.step(t)
            after, chosen = stepper.host(), unpack(record, LOCAL)
            for i in range(2):
                returned = success(worlds[i].keys, t, worlds[i].rates)
                now = ref.Round(worlds[i].n, chosen[i], returned, reading)
                models[i] = mine[i].round(models[i], Trained(now, worlds[i], t))
                assert_close(jax.tree.map(lambda w, i=i: w[i], after.weights), models[i], 1e-9)
                mine[i].check(after.server, after.clients, i)
                still_there(before, after, i, now)
                counts["nobody"] += not now.weights()
                counts["empty"] += any(worlds[i].n[k] == 0 for k in now.back)
                counts["failed"] += len(now.back) < chosen[i].sum()
        assert min(counts.values()) > 0, counts  # all these cases do occur


def still_there(before: Any, after: Any, run: int, now: ref.Round) -> None:
    """Check that absent clients keep their memory, bit for bit, and the server its state if none returns."""
    gone = [k for k in range(LOCAL) if k not in now.back]
    assert_same_tree(*(jax.tree.map(lambda x: x[run, gone], s.clients) for s in (before, after)))
    if not now.weights():
        assert_same_tree(*(jax.tree.map(lambda x: x[run], (s.server, s.weights)) for s in (before, after)))


@pytest.mark.parametrize("rule", ["adagrad", "adam", "yogi"])
def test_the_rules_of_reddi_et_al(rule):
    """Each of six rounds averages two updates, of which one does not return in the second round."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        options = fedopt.Options(rule=rule, server_rate=0.3, beta_1=0.8, beta_2=0.6, tau=0.2)
        algorithm = options.make(Dims(2, 2, BATCH), lambda w, *batch: 0.0 * w["w"].sum())
        params = jax.tree.map(jnp.asarray, options.params(Problem(2, 2, 6)))
        weights: Any = {"w": jnp.asarray(rng.normal(size=5))}
        server = algorithm.init(jax.random.key(0), params, weights)  # type: ignore[misc]
        x, moments = jax.tree.map(np.asarray, weights), ref.first_moments(weights, 0.2)
        for t in range(6):
            moves, returned = rng.normal(0, 0.4, (2, 5)), np.array([True, t != 1])
            answers = Answers(
                moves={"w": jnp.asarray(moves)},
                reports=Report(jnp.zeros(2)),
                share=jnp.array([0.25, 0.75]),
                returned=jnp.asarray(returned),
            )
            weights, server, _ = algorithm.aggregate(server, weights, params, answers)
            delta = {"w": 0.25 * moves[0] + 0.75 * moves[1] * returned[1]}
            x, moments = ref.fedopt(rule, x, moments, delta, 0.3, 0.8, 0.6, 0.2)
            for got, wanted in zip((weights, server.m, server.v), (x, *moments), strict=True):
                np.testing.assert_allclose(got["w"], wanted["w"], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (fedavgm.Options(server_rate=0.0), "The server's learning rate must be positive and finite, found 0"),
        (fedavgm.Options(beta=1.0), r"FedAvgM's beta must lie in \[0, 1\), found 1"),
        (fedopt.Options(tau=0.0), "The server's tau must be positive and finite, found 0"),
        (fedopt.Options(beta_1=-0.1), r"The server's beta_1 must lie in \[0, 1\), found -0.1"),
        (fedopt.Options(beta_2=1.0), r"The server's beta_2 must lie in \[0, 1\), found 1"),
        (scaffold.Options(server_rate=float("nan")), "The server's learning rate must be positive and finite"),
        (fednova.Options(momentum=1.0), r"Momentum must lie in \[0, 1\), found 1"),
    ],
)
def test_what_makes_no_sense_is_refused(options, sentence):
    with pytest.raises(jfed.ConfigError, match=sentence):
        options.params(Problem(6, 4, 8))
