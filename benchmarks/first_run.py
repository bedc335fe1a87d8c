"""One sweep in a new process, for `compiling` and `memory`; prints seconds, traces, and peak memory as JSON."""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any


def peak() -> int:
    """Return the peak memory of this process in bytes. On Linux ru_maxrss is the parent's, if that is larger."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: bytes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("selection", "training"))
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--seeds", type=int, required=True)
    parser.add_argument("--again", action="store_true", help="also run further sweeps with other values")
    args = parser.parse_args()

    started = time.perf_counter()
    import jfed
    from jfed.engine import simulate
    from jfed.runner import host, run

    host.setup()
    training = None
    if args.kind == "training":
        training = jfed.Training(samples_per_client=14, partition="iid", batch_size=5)
    config = jfed.Config(num_rounds=args.rounds, eval_every=max(1, args.rounds // 5), training=training)

    def sweep(values: dict[str, Any]) -> tuple[float, int, int]:
        began, traced = time.perf_counter(), len(simulate.TRACES)
        points = jfed.methods(jfed.replace(config, values), ["e3cs-0.5"])
        points = [jfed.Point(jfed.replace(p.config, values), p.coords) for p in points]
        results = run.run(points, range(args.seeds), progress=False)
        return time.perf_counter() - began, len(simulate.TRACES) - traced, results.nbytes

    seconds, traces, size = sweep({})
    answer = {"seconds": seconds, "traces": traces, "bytes": size, "total": time.perf_counter() - started}
    if args.again:
        other = {"selector.eta": 0.1, "selector.quota": 0.8, "cohort_size": 18}
        again = [sweep(other), sweep(other | {"environment.success_rates": (0.2, 0.4, 0.5, 0.7)})]
        answer["again"] = [seconds for seconds, _, _ in again]
        answer["traces_again"] = sum(traces for _, traces, _ in again)
    answer["peak"] = peak()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
