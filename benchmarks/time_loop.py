"""Selection-only RBCS-F and CS-UCB-Q as NumPy loops over the rounds of one seed: the peers of `time_aware`.

They are written to be fast: all draws of a run in a few calls, rank-one updates of the selected clients' inverse Gram
matrices, all time caps at once. Runs as a worker; needs NumPy alone.
"""

import json
import math
import sys
import time

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rbcs_f(seed: int, rounds: int, num_clients: int, k: int, V: float, beta: float, alpha: float) -> tuple[float, int]:
    """Run one seed in the world of exchange times; return the total of seconds and of selected clients."""
    rng = np.random.default_rng(seed)
    classes = np.arange(num_clients) % 4
    theta = np.stack([classes + 1.0, np.ones(num_clients), 1 / np.log2(1 + 10.0 ** (3 - classes))], 1)
    contexts = np.ones((rounds, num_clients, 3))
    contexts[:, :, 0] = 1 / rng.uniform(0.5, 2, (rounds, num_clients))
    contexts[:, :, 2] = 20 / rng.uniform(2, 4, (rounds, num_clients))
    there = rng.random((rounds, num_clients)) < 0.8
    noise = 2 * rng.random((rounds, num_clients))
    inverse = np.tile(np.eye(3), (num_clients, 1, 1))
    moment, queue = np.zeros((num_clients, 3)), np.zeros(num_clients)
    cold = np.ones(num_clients)
    spent, chosen = 0.0, 0
    for c, here, factor in zip(contexts, there, noise, strict=True):
        c[:, 1] = cold
        solved = np.matmul(inverse, c[:, :, None])[:, :, 0]
        variance = (solved * c).sum(1)
        bound = np.maximum((solved * moment).sum(1) - alpha * np.sqrt(variance), 0)
        who = here.nonzero()[0]
        want = min(k, len(who))
        queue += beta
        cold.fill(1)
        if want:
            times, lengths = bound[who], queue[who]
            allowed = np.where(times[None, :] <= times[:, None], lengths, -np.inf)
            parts = np.argpartition(allowed, -want, axis=1)[:, -want:]
            gains = np.take_along_axis(allowed, parts, 1).sum(1)
            cohort = who[parts[np.argmin(V * times - gains)]]
            actual = (c[cohort] * theta[cohort]).sum(1) * factor[cohort]
            spent += actual.max()
            u = solved[cohort]
            inverse[cohort] -= u[:, :, None] * (u / (1 + variance[cohort])[:, None])[:, None, :]
            moment[cohort] += actual[:, None] * c[cohort]
            queue[cohort] -= 1
            cold[cohort] = 0
            chosen += want
        np.maximum(queue, 0, out=queue)
    return spent, chosen


def cs_ucb_q(seed: int, rounds: int, num_clients: int, k: int, beta: float, model_bits: float) -> tuple[float, int]:
    """Run one seed in the wireless cell with clients available in 90 % of the rounds; return the same as `rbcs_f`."""
    rng = np.random.default_rng(seed)
    distance = 0.5 * np.sqrt(rng.random(num_clients))
    snr = 10 ** ((23 + 107 - 128.1 - 37.6 * np.log10(distance)) / 10)
    size = (rounds, num_clients)
    links = [model_bits / 15e3 / np.log2(1 + snr * rng.standard_exponential(size)) for _ in range(2)]
    low = 10.0 * np.arange(1, num_clients + 1) + 10
    latency = np.minimum(links[0] + links[1] + 2 / rng.uniform(low, low + 20, size), 5.0)
    there = rng.random(size) < 0.9
    ties = 1e-12 * rng.random(size)
    quota = k / (2 * num_clients)
    mean, times, queue = np.zeros(num_clients), np.zeros(num_clients), np.zeros(num_clients)
    spent, chosen = 0.0, 0
    for t, (waits, here, tie) in enumerate(zip(latency, there, ties, strict=True), 1):
        index = np.minimum(mean + np.sqrt(2 * math.log(t) / np.maximum(times, 1)), 1.0)
        index[times == 0] = 1.0
        score = np.where(here, (1 - beta) * index + beta * queue + tie, -np.inf)
        cohort = score.argpartition(num_clients - k)[num_clients - k :]
        cohort = cohort[here[cohort]]
        queue += quota
        if len(cohort):
            waited = waits[cohort]
            spent += waited.max()
            times[cohort] += 1
            mean[cohort] += (1 - waited / 5.0 - mean[cohort]) / times[cohort]
            queue[cohort] -= 1
            chosen += len(cohort)
        else:
            spent += 5.0
        np.maximum(queue, 0, out=queue)
    return spent, chosen


LOOPS = {"rbcs_f": rbcs_f, "cs_ucb_q": cs_ucb_q}


def main() -> None:
    """Answer requests from standard input: run seeds one after another until some seconds have passed."""
    seed = 0
    for line in sys.stdin:
        request = json.loads(line)
        loop, seconds = LOOPS[request.pop("loop")], request.pop("seconds")
        started, runs, spent, chosen = time.perf_counter(), 0, 0.0, 0
        while runs == 0 or time.perf_counter() - started < seconds:
            one = loop(seed=seed, **request)
            spent, chosen, runs, seed = spent + one[0], chosen + one[1], runs + 1, seed + 1
        done = runs * request["rounds"]
        answer = {"rate": done / (time.perf_counter() - started), "spent": spent / done, "selected": chosen / done}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
