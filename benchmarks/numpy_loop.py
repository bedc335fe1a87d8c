"""Selection-only E3CS as a NumPy loop over the rounds of one seed: the baseline of `selection`.

It is written to be fast: all draws of a run in two calls, the cap found without sorting from the last round's set, an
exponential race cut by `argpartition`, one exponential function a round. Runs as a worker; needs NumPy alone.
"""

import json
import math
import sys
import time

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SMALL = 1e-250  # a sum of weights below this may have lost terms to underflow: use logarithms
LARGE = 300.0  # weights above e^300 are divided by their maximum


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


def run(
    seed: int, rounds: int, num_clients: int, k: int, quota: float, eta: float, rates: list[float]
) -> tuple[int, int]:
    """Run one seed; return how many clients returned and how many were selected, over all rounds."""
    rng = np.random.default_rng(seed)
    rate = np.asarray(rates)[np.arange(num_clients) % len(rates)]
    succeeds = rng.random((rounds, num_clients), np.float32) < rate
    arrivals = rng.standard_exponential((rounds, num_clients))
    sigma = quota * k / num_clients
    residual = k - num_clients * sigma
    target = residual / (1 - sigma)
    step = residual * eta / num_clients
    log_w, over = np.zeros(num_clients), np.zeros(num_clients, bool)
    w, p = np.empty(num_clients), np.empty(num_clients)
    returned = chosen = 0
    for succeeded, arrival in zip(succeeds, arrivals, strict=True):
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
        cohort = np.divide(arrival, p, out=arrival).argpartition(k - 1)[:k]
        back = cohort[succeeded[cohort]]
        chosen += len(cohort)
        returned += len(back)
        learns = back[~over[back]]
        log_w[learns] += step / p[learns]
        top = log_w.max()
        if top > LARGE:
            log_w -= top
    return returned, chosen


def main() -> None:
    """Answer requests from standard input."""
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        returned, chosen = run(**request)
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "returned": returned, "chosen": chosen}), flush=True)


if __name__ == "__main__":
    main()
