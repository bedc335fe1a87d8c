"""One analysis in a new process, for `analysis`; prints seconds and peak memory as JSON."""

import io
import json
import sys
import time
from pathlib import Path

STARTED = time.perf_counter()


def main() -> None:
    from rich.console import Console

    from benchmarks.analysis import points
    from benchmarks.first_run import peak
    from experiments.e3cs.training import study
    from jfed.commands.output import Output
    from jfed.commands.study import reported
    from jfed.results import export
    from jfed.results.load import load

    out = Path(sys.argv[1])
    began = time.perf_counter()
    results = load(out)
    loaded = time.perf_counter() - began
    console = Console(file=io.StringIO())
    reported(results, (0.6, 0.7, 0.8), "made up", study("made up"), points(), Output(out), console)
    answer = {"load": loaded, "total": time.perf_counter() - STARTED, "peak": peak()}
    began = time.perf_counter()
    export.write(export.per_round(results), out / "rounds.parquet")
    answer["export"] = time.perf_counter() - began
    answer |= {name: len(list((out / name).iterdir())) for name in ("tables", "figures")}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
