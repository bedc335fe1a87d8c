"""Selection-only E3CS as a NumPy loop over the rounds of one seed: the peer of `selection`.

It is written to be fast: draws of many rounds in one call, as many as stay in the cache, the cap found without sorting
from the last round's set, one exponential function a round. The sequential sampler is an exponential race cut by
`argpartition`; the exact one is systematic sampling in a random order by one cumulative sum and one binary search.
Runs as a worker; needs NumPy alone.
"""

import json
import math
import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SMALL = 1e-250  # a sum of weights below this may have lost terms to underflow: use logarithms
LARGE = 300.0  # weights above e^300 are divided by their maximum
CELLS = 1 << 17  # random numbers that are drawn at a time


def log_cap(log_w: Floats, w: Floats, target: float, over: Mask) -> tuple[float, Mask]:
    """Return log c with sum_i min(1, w_i / c) = target, and the mask of w > c; the search starts from `over`."""
    many = np.count_nonzero(over)
    if many >= target:
        over, many = np.zeros(len(w), bool), 0
    known = False  # whether `over` was found with this round's weights, so that it can only grow
    while True:
        rest = w.dot((~over).astype(np.float64)) if many else w.sum()
        if rest > SMALL:
            log_c = math.log(rest / (target - many))
        else:
            left = log_w[~over]
            top = left.max()
            log_c = top + math.log(np.exp(left - top).sum() / (target - many))
        found = log_w > log_c
        count = np.count_nonzero(found)
        if count >= target or (count <= many if known else found.tobytes() == over.tobytes()):
            return log_c, found
        over, many, known = found, count, True


def draws(
    rng: np.random.Generator, rounds: int, rate: NDArray[np.float32], exact: bool
) -> Iterator[tuple[Mask, NDArray, float]]:
    """Yield for each round who would succeed, the arrivals of the race (or a random order), and a random start."""
    n = len(rate)
    for begin in range(0, rounds, max(1, CELLS // n)):
        size = (min(max(1, CELLS // n), rounds - begin), n)
        succeeds = rng.random(size, np.float32) < rate
        if exact:
            order = rng.permuted(np.broadcast_to(np.arange(n), size), axis=1)
            yield from zip(succeeds, order, rng.random(size[0]).tolist(), strict=True)
        else:
            yield from zip(succeeds, rng.standard_exponential(size), [0.0] * size[0], strict=True)


def run(
    seed: int, rounds: int, num_clients: int, k: int, quota: float, eta: float, rates: list[float], exact: bool
) -> tuple[int, int]:
    """Run one seed, with the exponent's clip if the sampler is exact; return the number returned and selected."""
    rng = np.random.default_rng(seed)
    rate = np.asarray(rates, np.float32)[np.arange(num_clients) % len(rates)]
    sigma = quota * k / num_clients
    residual = k - num_clients * sigma
    target = residual / (1 - sigma)
    step = residual * eta / num_clients
    log_w, over = np.zeros(num_clients), np.zeros(num_clients, bool)
    w, p = np.empty(num_clients), np.empty(num_clients)
    ticks = np.arange(k, dtype=np.float64)
    returned = chosen = 0
    for succeeded, drawn, start in draws(rng, rounds, rate, exact):
        np.exp(log_w, out=w)
        log_c, over = log_cap(log_w, w, target, over)
        if log_c > -500:
            np.multiply(w, math.exp(-log_c), out=p)
        else:
            np.exp(np.minimum(log_w - log_c, 0.0), out=p)
        np.minimum(p, 1.0, out=p)
        if sigma:
            p *= 1 - sigma
            p += sigma
        else:
            np.maximum(p, 1e-300, out=p)
        if exact:
            ends = p[drawn].cumsum()
            cohort = drawn[ends.searchsorted((ticks + start) * (ends[-1] / k), side="right")]
        else:
            cohort = np.divide(drawn, p, out=drawn).argpartition(k - 1)[:k]
        back = cohort[succeeded[cohort]]
        chosen += len(cohort)
        returned += len(back)
        learns = back[~over[back]]
        gain = step / p[learns]
        log_w[learns] += np.minimum(gain, 1.0) if exact else gain
        top = log_w.max()
        if top > LARGE:
            log_w -= top
    return returned, chosen


def main() -> None:
    """Answer requests from standard input: run seeds one after another until some seconds have passed."""
    seed = 0
    for line in sys.stdin:
        request = json.loads(line)
        seconds = request.pop("seconds")
        started, runs, returned, chosen = time.perf_counter(), 0, 0, 0
        while runs == 0 or time.perf_counter() - started < seconds:
            one = run(seed=seed, **request)
            returned, chosen, runs, seed = returned + one[0], chosen + one[1], runs + 1, seed + 1
        done = runs * request["rounds"]
        rate = done / (time.perf_counter() - started)
        print(json.dumps({"rate": rate, "returned": returned / done, "selected": chosen / done}), flush=True)


if __name__ == "__main__":
    main()
