"""E3CS on CIFAR-10: Table III, Figs. 6 and 7.

`--preset paper` is the published setting (2500 rounds, iid and non-iid, FedAvg and FedProx, k = 10, 20 and 30) on 10
seeds, work for an accelerator; `small` its non-iid FedAvg part on one seed of 50 rounds, some 90 minutes on two cores.
`quick` is softmax regression on the digits that ship with jfed, 10 seeds in a minute.
"""

from pathlib import Path

from experiments.e3cs.training import Settings, main
from experiments.shared.common import command

TARGETS = (0.45, 0.55, 0.65)  # Table III
PRESETS = {
    "quick": Settings(
        preset="quick", out=Path("out/e3cs_quick"), dataset="digits", model="linear", num_clients=40,
        cohort_sizes=(8,), num_rounds=150, eval_every=5, samples_per_client=35, test_fraction=0.0, test_set="official",
        learning_rate=0.1, batch_size=10, targets=(0.7, 0.8, 0.85),
    ),
    "small": Settings(
        preset="small", out=Path("out/cifar_small"), dataset="cifar10", model="e3cs-cifar", seeds=1, num_rounds=50,
        eval_every=5, targets=(0.2, 0.3, *TARGETS),
    ),
    "paper": Settings(
        preset="paper", out=Path("out/cifar_paper"), dataset="cifar10", model="e3cs-cifar", num_rounds=2500,
        partitions=("iid", "primary"), algorithms=("fedavg", "fedprox"), cohort_sizes=(20, 10, 30), eval_every=5,
        targets=TARGETS,
    ),
}  # fmt: skip

if __name__ == "__main__":
    command(main, PRESETS)
