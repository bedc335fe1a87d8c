"""The reference's algorithms of `away`, each with its state, beside which `test_server_reference` runs the engine."""

from typing import Any

import jax
import numpy as np
from recomputed import LOCAL, assert_close
from reference import away as ref_away
from reference import server as ref
from reference import training as ref_training

from jfed.algorithms import fedau, feddyn, local_sgd, mifa


class Plain:
    """FedAvg with clipped gradients, which has no state."""

    def __init__(self, options: local_sgd.Options, start: Any) -> None:
        self.options = options

    def round(self, model: Any, trained: Any) -> Any:
        o, weights = self.options, trained.now.weights()
        moves = trained.of_workers(model, trained.rate(o), momentum=o.momentum, clip=o.clip)
        weights = {i: weight for i, weight in weights.items() if i in moves}
        return ref_training.tree_map(np.add, model, ref.combined(moves, weights, model))

    def check(self, server: Any, clients: Any, run: int) -> None:
        assert server is None and clients is None


class Memory:
    """The reference's MIFA or FedVARP, with its table of updates."""

    def __init__(self, options: Any, start: Any) -> None:
        self.options, self.table, self.nothing = options, [None] * LOCAL, ref.zeros(start)

    def round(self, model: Any, trained: Any) -> Any:
        o, rate = self.options, trained.rate(self.options)
        moves = trained.of_workers(model, rate)
        if isinstance(o, mifa.Options):
            model, self.table = ref_away.mifa(model, self.table, moves, rate)
        else:
            model, self.table = ref_away.fedvarp(model, self.table, moves, rate, o.server_rate)
        return model

    def check(self, server: Any, clients: Any, run: int) -> None:
        known = [g if g is not None else self.nothing for g in self.table]
        mean = server.mean if isinstance(self.options, mifa.Options) else server
        total = ref_away.scaled_sum([(1 / LOCAL, g) for g in known], self.nothing)
        assert_close(jax.tree.map(lambda x: x[run], mean), total, 1e-9)
        for i, own in enumerate(known):
            assert_close(jax.tree.map(lambda x, i=i: x[run, i], clients.update), own, 1e-9)


class Dyn:
    """The reference's FedDyn, with its state."""

    def __init__(self, options: feddyn.Options, start: Any) -> None:
        self.options, self.h, self.own = options, ref.zeros(start), [ref.zeros(start) for _ in range(LOCAL)]

    def round(self, model: Any, trained: Any) -> Any:
        o = self.options
        moves = trained.of_workers(model, trained.rate(o), prox=o.prox, linear=self.own, clip=o.clip)
        model, self.h, self.own = ref_away.feddyn(model, self.h, self.own, moves, o.prox)
        return model

    def check(self, server: Any, clients: Any, run: int) -> None:
        assert_close(jax.tree.map(lambda x: self.options.prox * x[run], server), self.h, 1e-9)
        for i, own in enumerate(self.own):
            assert_close(jax.tree.map(lambda x, i=i: x[run, i], clients), own, 1e-9)


class Gaps:
    """The reference's FedAU, which looks back at all rounds."""

    def __init__(self, options: fedau.Options, start: Any) -> None:
        self.options, self.part = options, np.zeros((0, LOCAL), bool)

    def round(self, model: Any, trained: Any) -> Any:
        moves = trained.of_workers(model, trained.rate(self.options))
        self.part = np.vstack([self.part, [i in moves for i in range(LOCAL)]])
        omega = ref_away.gap_weights(self.part, self.options.longest)[-1]
        weights = {i: weight * omega[i] for i, weight in trained.now.weights().items() if i in moves}
        return ref_away.fedau(model, moves, weights, self.options.server_rate) if weights else model

    def check(self, server: Any, clients: Any, run: int) -> None:
        assert server is None
