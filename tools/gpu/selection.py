"""Selection at scale without training: E3CS among 10,000 clients on 256 seeds."""

import time

import jax

import jfed
from jfed.commands.mistakes import in_words
from tools.gpu.child import Rows, told


def main() -> None:
    """Run the stage: each case twice, of which the first run compiles."""
    asked = told(__doc__)
    table = Rows(asked.out / "selection.csv")
    clients, seeds, rounds = (400, 16, 20) if asked.small else (10_000, 256, 200)
    cases = [(clients, seeds), (100, 4 * seeds)][: 1 if asked.small else 2]
    with in_words():
        for number, many in cases:
            base = jfed.Config(num_clients=number, cohort_size=number // 5, num_rounds=rounds)
            points = jfed.methods(base, ["e3cs-0.5"])
            for run in ("with compilation", "again"):
                if asked.left() < 0:
                    print("The time is up.")
                    return
                began = time.perf_counter()
                results = jfed.run(points, range(many), progress=False)
                seconds = time.perf_counter() - began
                wrong = int((results["num_selected"].values != number // 5).sum())
                table.add(
                    {"clients": number, "seeds": many, "rounds": rounds, "run": run, "seconds": seconds,
                     "seed-rounds/s": many * rounds / seconds, "cohorts of a wrong size": wrong,
                     "device": jax.devices()[0].device_kind}
                )  # fmt: skip


if __name__ == "__main__":
    main()
