"""Time to first results: of a first sweep, of a second one with other values, and with a warm compile cache.

Each repeat is a new process with an empty cache, then a new process with the cache that the first one left. The sweeps
are short, so that compilation dominates.
"""

from tempfile import TemporaryDirectory

from benchmarks import report, workers

SWEEPS = {
    "selection only": ("selection", "--rounds", "10", "--seeds", "64"),
    "softmax on digits": ("training", "--rounds", "10", "--seeds", "2"),
}


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    for name, args in SWEEPS.items():
        cold, warm = [], []
        for _ in range(repeats):
            with TemporaryDirectory() as cache:
                cold.append(workers.child("first_run", *args, "--again", JFED_CACHE_DIR=cache))
                warm.append(workers.child("first_run", *args, "--again", JFED_CACHE_DIR=cache))
        first = [c["seconds"] for c in cold]
        traces = [float(c["traces_again"]) for c in cold]
        rows += [
            report.row(f"{name}: first sweep, cold cache", "s", first),
            report.row(f"{name}: sweeps with other values, same process", "s", [min(c["again"]) for c in cold], first,
                       "cold"),
            report.row(f"{name}: programs traced for them", "programs", traces, target="0"),
            report.row(f"{name}: first sweep of a new process, warm cache", "s", [w["seconds"] for w in warm], first,
                       "cold"),
            report.row(f"{name}: new process in all, imports too, warm cache", "s", [w["total"] for w in warm],
                       [c["total"] for c in cold], "cold"),
        ]  # fmt: skip
    return rows, ["The cache is $JFED_CACHE_DIR, here a new folder for each repeat."]
