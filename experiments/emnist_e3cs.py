"""E3CS on EMNIST letters: Table II and Fig. 5.

`--preset paper` is the published setting (400 rounds, iid and non-iid, FedAvg and FedProx) on 10 seeds, some 29 hours
of two cores, extrapolated from 14 of its 280 runs; `small` its non-iid FedAvg part on 3 seeds of 150 rounds, an hour;
`quick` a small network on the digits that ship with jfed.
"""

from pathlib import Path

from experiments.e3cs.training import Settings, main
from experiments.shared.common import command

PRESETS = {
    "quick": Settings(
        preset="quick", out=Path("out/emnist_quick"), dataset="digits", model="cnn", seeds=5, num_clients=40,
        cohort_sizes=(8,), num_rounds=200, eval_every=4, samples_per_client=35, test_fraction=0.0, test_set="official",
        learning_rate=0.2, batch_size=10, targets=(0.5, 0.7, 0.8),
    ),
    "small": Settings(
        preset="small", out=Path("out/emnist_small"), dataset="emnist_letters", model="e3cs-emnist", seeds=3,
        num_rounds=150,
    ),
    "paper": Settings(
        preset="paper", out=Path("out/emnist_paper"), dataset="emnist_letters", model="e3cs-emnist",
        partitions=("iid", "primary"), algorithms=("fedavg", "fedprox"), eval_every=1,
    ),
}  # fmt: skip

if __name__ == "__main__":
    command(main, PRESETS)
