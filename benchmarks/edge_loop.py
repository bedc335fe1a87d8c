"""Eiffel on the squared SVM as a NumPy loop over rounds, clients and steps: the peer of `budget`.

It is written to be fast: float32 images made once for all runs, one gather and two matrix products a step, losses and
gradients of a batch from one set of margins, batches from orders that are shuffled once an epoch, all draws of times in
one call a round, and the search over tau as array operations. Runs as a worker; needs jfed's data loader and MNIST.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jfed.data.load import load

Floats = NDArray[Any]
RATE, LAMBDA, BATCH, PHI, TAU_MAX = np.float32(0.01), np.float32(0.1), 100, 0.025, 100
STEP_S, SENT_S = (0.013015156, 0.006946299), (0.131604348, 0.053873234)


class Data:
    """MNIST with pixels in [0, 1] and labels as signs by parity, sorted by label."""

    def __init__(self) -> None:
        mnist = load("mnist")
        order = np.argsort(mnist.labels, kind="stable")
        self.x = (mnist.images[order] / np.float32(255)).reshape(len(order), -1).astype(np.float32)
        self.y = np.where(mnist.labels[order] % 2 == 0, 1, -1).astype(np.float32)
        self.labels = mnist.labels[order]
        self.test_x = (mnist.test_images / np.float32(255)).reshape(len(mnist.test_images), -1).astype(np.float32)
        self.test_y = np.where(mnist.test_labels % 2 == 0, 1, -1).astype(np.float32)


def margins(w: Floats, x: Floats, y: Floats) -> Floats:
    """Return each image's shortfall from a margin of 1."""
    return np.maximum(1 - y * (x @ w), 0)


def loss(w: Floats, short: Floats) -> float:
    """Return the loss of a batch from its shortfalls."""
    return float(LAMBDA / 2 * (w @ w) + 0.5 * (short @ short) / len(short))


def gradient(w: Floats, x: Floats, y: Floats, short: Floats) -> Floats:
    """Return the gradient of a batch from its shortfalls."""
    return LAMBDA * w - ((short * y) @ x) / np.float32(len(short))


class Client:
    """The state of one client: its generator, images, last model and current batch."""

    def __init__(self, own: NDArray[np.int64], seed: int) -> None:
        self.rng, self.own = np.random.default_rng(seed), own
        self.point: Floats | None = None
        self.uses = self.next = 0
        self.batch = self._fresh()

    def _fresh(self) -> NDArray[np.int64]:
        if self.next == 0:
            self.order = self.rng.permutation(self.own)
        batch = self.order[self.next : self.next + BATCH]
        self.next = self.next + BATCH if self.next + 2 * BATCH <= len(self.own) else 0
        return batch

    def train(self, data: Data, w: Floats, best: Floats, tau: int) -> tuple[Floats, Floats, list[float]]:
        """Return the model after tau steps, the gradient at w, and [loss at w, loss at the best model, rho, beta]."""
        if tau <= 1 and self.uses >= 3:
            self.batch, self.uses = self._fresh(), 0
        x, y = data.x[self.batch], data.y[self.batch]
        short = margins(w, x, y)
        first, here = gradient(w, x, y, short), loss(w, short)
        rho = beta = np.nan
        if self.point is not None:
            there = margins(self.point, x, y)
            apart = float(np.linalg.norm(self.point - w))
            if apart > 1e-10:
                rho = abs(loss(self.point, there) - here) / apart
                beta = max(float(np.linalg.norm(gradient(self.point, x, y, there) - first)) / apart, 1e-5)
        told = [here, loss(best, margins(best, x, y)), rho, beta]
        own = w - RATE * first
        for _ in range(tau - 1):
            self.batch = self._fresh()
            x, y = data.x[self.batch], data.y[self.batch]
            own = own - RATE * gradient(own, x, y, margins(own, x, y))
        self.uses = 1 if tau > 1 else self.uses + 1
        self.point = own
        return own, first, told


def best_tau(tau: int, rho: float, beta: float, delta: float, c: float, b: float, left: float) -> int:
    """Return the tau that minimises G, of those up to 10 times the last one and `TAU_MAX`."""
    x = np.arange(1.0, min(10 * tau, TAU_MAX) + 1)
    eta = float(RATE)
    with np.errstate(over="ignore"):
        h = np.maximum(delta / beta * np.expm1(x * np.log1p(eta * beta)) - eta * delta * x, 0)
        inverse = (c * x + b) / (left * x)
        g = (inverse + np.sqrt(inverse**2 + 4 * PHI * eta * rho * h / x)) / (2 * eta * PHI) + rho * h
    return int(np.argmin(g)) + 1


def pool(order: NDArray[np.int64], demand: NDArray[np.float64], room: Any) -> list[int]:
    """Return the clients, taken in order, whose demands fit into the room that is left."""
    taken = []
    for i in order:
        if demand[i] <= room:
            room -= demand[i]
            taken.append(int(i))
    return taken


def unit(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values scaled to [0, 1]."""
    low, high = v.min(), v.max()
    return (v - low) / (high - low) if high > low else np.zeros(len(v))


def eiffel(data: Data, seed: int, num_clients: int, k: int, budget: float, every: int) -> dict[str, float]:
    """Run one seed in corrected mode, with one label per client and tests every `every` rounds; return its measures."""
    rng = np.random.default_rng(seed)
    hands: list[list[NDArray[np.int64]]] = [[] for _ in range(num_clients)]
    for label in range(10):
        who = list(range(label, num_clients, 10))
        drawn = rng.permutation(np.flatnonzero(data.labels == label))
        for i, client in enumerate(who):
            hands[client].append(drawn[i :: len(who)])
    own = [np.concatenate(hand) for hand in hands]
    clients = [Client(images, 1000 * seed + i) for i, images in enumerate(own)]
    size = np.array([len(images) for images in own], float)
    power, demand = np.resize([1.0, 1.5, 2.0], num_clients), rng.uniform(0.5, 1.5, num_clients)
    power, relative, demand = power, power / power.mean(), demand / demand.mean()
    w = np.zeros(data.x.shape[1], np.float32)
    best, age, known = w, np.ones(num_clients), np.ones(num_clients)
    selected = list(range(num_clients))
    tau, steps, rounds, last, looks = 1, 0, 0, False, False
    spent: Any = 0.0
    tests: list[float] = []
    rho: Any = np.nan
    beta, delta, c, b = rho, rho, rho, rho
    while True:
        weight = size[selected] * relative[selected] / demand[selected] * age[selected]
        weight /= weight.sum()
        ends, firsts, told = zip(*(clients[i].train(data, w, best, tau) for i in selected), strict=True)
        facts = np.array(told)
        mean = weight.astype(np.float32) @ np.array(firsts)
        apart = np.linalg.norm(np.array(firsts) - mean, axis=1)
        there = ~np.isnan(facts[:, 2])
        if there.any():
            part = weight[there] / weight[there].sum()
            rho, beta, delta = part @ facts[there, 2], part @ facts[there, 3], weight @ apart
        if weight @ facts[:, 0] < weight @ facts[:, 1]:
            best = w
        if not looks:
            w = weight.astype(np.float32) @ np.array(ends)
        each = np.maximum(rng.normal(*STEP_S, (len(selected), tau)), 1e-10).mean(1) / power[selected]
        sends = 2 * np.maximum(rng.normal(*SENT_S, len(selected)), 1e-10)
        slowest = np.argmax(each * tau + sends)
        cost, sent = each[slowest], sends[slowest]
        spent += cost * tau + sent
        steps, rounds = steps + tau * len(selected), rounds + 1
        if rounds % every == 0:
            tests.append(loss(best, margins(best, data.test_x, data.test_y)))
        known[selected] = facts[:, 0]
        age += 1
        age[selected] = 1
        if looks:
            break
        left = budget - (c + b)
        wanted = best_tau(tau, rho, beta, delta, c, b, left) if np.isfinite(rho + c) and left > 0 else tau
        c, b = cost, sent
        room = budget - spent - (c + b) - b
        if c * wanted < room and not last:
            tau = wanted
        else:
            cut = int(np.clip(np.floor(room / c), 0, wanted))
            looks = last or cut == 0
            tau, last = (1, True) if looks else (cut, True)
            if looks and spent + c + b > budget:
                break
        index = (unit(1 / np.maximum(known, 1e-8)) + unit(size) + unit(relative / demand) + unit(age)) / 4
        order, before = np.argsort(-index), np.isin(np.arange(num_clients), selected)
        selected = sorted(pool(order[before[order]], demand, k / 2) + pool(order[~before[order]], demand, k / 2))
    final = margins(best, data.x, data.y)
    tests.append(loss(best, margins(best, data.test_x, data.test_y)))
    return {"test": tests[-1], "steps": steps, "rounds": rounds, "spent": spent, "loss": loss(best, final)}


def main() -> None:
    """Answer requests from standard input: run seeds one after another until some seconds have passed."""
    data, seed = Data(), 0
    for line in sys.stdin:
        request = json.loads(line)
        seconds, told, started = request.pop("seconds"), [], time.perf_counter()
        while not told or time.perf_counter() - started < seconds:
            told.append(eiffel(data, seed=seed, **request))
            seed += 1
        answer = {"rate": len(told) / (time.perf_counter() - started)}
        print(json.dumps(answer | {name: sum(one[name] for one in told) / len(told) for name in told[0]}), flush=True)


if __name__ == "__main__":
    main()
