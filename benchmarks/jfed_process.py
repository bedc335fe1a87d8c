"""Train softmax regression by jfed from an npz file, as a whole process: DATA ROUNDS SEED ..., for `processes`."""

import json
import sys

from benchmarks.cases import BATCH, MOMENTUM, RATE


def main() -> None:
    """Train all seeds, and print their mean accuracy at the end and the client-steps of a seed."""
    import jfed
    from jfed.algorithms import local_sgd
    from jfed.envs import volatility
    from jfed.runner import host

    host.setup()
    data, rounds, seeds = sys.argv[1], int(sys.argv[2]), [int(seed) for seed in sys.argv[3:]]
    training = jfed.Training(
        dataset=data, partition="iid", samples_per_client=500, test_set="official", batch_size=BATCH,
        algorithm=local_sgd.Options(learning_rate=RATE, momentum=MOMENTUM), average_over="selected",
    )  # fmt: skip
    config = jfed.Config(
        num_rounds=rounds, eval_every=5, environment=volatility.Options(success_rates=(1.0,)), training=training
    )
    results = jfed.run(jfed.methods(config, ["uniform"]), seeds, progress=False)
    steps = float(results["num_steps"].sum()) / len(seeds)
    print(json.dumps({"accuracy": float(results["test_accuracy"][..., -1].mean()), "steps": steps}))


if __name__ == "__main__":
    main()
