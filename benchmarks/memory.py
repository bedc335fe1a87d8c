"""Peak memory by number of rounds: it may grow by each round's record, which is the result, and by little else.

Each number is the peak resident size of a new process; only the number of rounds differs within a pair.
"""

from tempfile import TemporaryDirectory

from benchmarks import report, workers

MB = 2**20
PAIRS = {
    "selection only, 128 seeds": ("selection", 128, 500, 5000),
    "softmax on digits, 4 seeds": ("training", 4, 50, 500),
}


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    with TemporaryDirectory() as cache:
        for name, (kind, seeds, few, many) in PAIRS.items():
            found: dict[int, list[dict[str, float]]] = {few: [], many: []}
            for warm_up in [True] + [False] * repeats:
                for rounds in (few, many):
                    args = ("--rounds", str(rounds), "--seeds", str(seeds))
                    answer = workers.child("first_run", kind, *args, JFED_CACHE_DIR=cache)
                    if not warm_up:  # the first of each fills the compile cache
                        found[rounds].append(answer)
            peaks = {rounds: [a["peak"] / MB for a in answers] for rounds, answers in found.items()}
            result = (found[many][0]["bytes"] - found[few][0]["bytes"]) / MB
            rows += [
                report.row(f"{name}: peak at T = {few}", "MB", peaks[few]),
                report.row(f"{name}: peak at T = {many}", "MB", peaks[many], peaks[few], f"T = {few}", "<= 1.25"),
                report.row(f"{name}: growth", "MB", [b - a for a, b in zip(peaks[few], peaks[many], strict=True)]),
                report.row(f"{name}: of which the results themselves", "MB", [result]),
            ]
    return rows, []
