"""NumPy's product of two matrices, timed: a roof of `roofs`. Runs as a worker; needs NumPy alone."""

import json
import sys
import time

import numpy as np


def main() -> None:
    """Answer requests for GFLOP/s from standard input."""
    for line in sys.stdin:
        request = json.loads(line)
        side = request["side"]
        a, b = (np.random.default_rng(i).random((side, side), np.float32) for i in range(2))
        out = a @ b
        started, calls = time.perf_counter(), 0
        while time.perf_counter() - started < request["seconds"]:
            np.matmul(a, b, out=out)
            calls += 1
        rate = calls * 2 * side**3 / 1e9 / (time.perf_counter() - started)
        print(json.dumps({"rate": rate}), flush=True)


if __name__ == "__main__":
    main()
