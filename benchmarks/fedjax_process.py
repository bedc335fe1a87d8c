"""Train softmax regression by FedJAX from an npz file, as a whole process: DATA ROUNDS SEED ..., for `processes`.

Images stay uint8 until a step, which is compiled once for all seeds.
"""

# pyright: reportMissingImports=false

import json
import sys
from typing import Any

import fedjax
import jax
import jax.numpy as jnp
import numpy as np
import optax

CLIENTS, COHORT, SAMPLES, BATCH, EVERY, CLASSES = 100, 20, 450, 45, 5, 10


def logits(weights: Any, images: Any, mean: float, std: float) -> Any:
    """Return the logits of uint8 images."""
    x = (images.reshape(images.shape[0], -1).astype(jnp.float32) / 255 - mean) / std
    return x @ weights["kernel"] + weights["bias"]


def main() -> None:
    """Train all seeds one after another, and print their mean accuracy at the end and the client-steps of a seed."""
    with np.load(sys.argv[1]) as file:
        images, labels, test_images, test_labels = (
            file[name] for name in ("images", "labels", "test_images", "test_labels")
        )
    rounds, seeds = int(sys.argv[2]), [int(seed) for seed in sys.argv[3:]]
    mean, std = float(images.mean() / 255), float(images.std() / 255)
    sgd = fedjax.optimizers.sgd(0.01, 0.9)
    fedjax.set_for_each_client_backend("jit")

    def loss(weights: Any, batch: Any) -> Any:
        found = logits(weights, batch["x"], mean, std)
        return optax.softmax_cross_entropy_with_integer_labels(found, batch["y"]).mean()

    def start(shared: Any, _: Any) -> Any:
        return {"weights": shared, "state": sgd.init(shared)}

    def step(local: Any, batch: Any) -> Any:
        state, weights = sgd.apply(jax.grad(loss)(local["weights"], batch), local["state"], local["weights"])
        return {"weights": weights, "state": state}

    def end(_: Any, local: Any) -> Any:
        return local["weights"]

    @jax.jit
    def accuracy(weights: Any, images: Any, labels: Any) -> Any:
        return (logits(weights, images, mean, std).argmax(-1) == labels).mean()

    train = fedjax.for_each_client(start, step, end)
    tests = jnp.asarray(test_images), jnp.asarray(test_labels)
    ends, steps = [], 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        own = rng.permutation(len(images))[: CLIENTS * SAMPLES].reshape(CLIENTS, SAMPLES)
        epochs = rng.integers(1, 5, CLIENTS)
        clients = [fedjax.ClientDataset({"x": images[i], "y": labels[i]}) for i in own]
        bound = 1 / np.sqrt(test_images[0].size)
        kernel = jnp.asarray(rng.normal(0, bound, (test_images[0].size, CLASSES)), jnp.float32)
        weights, found = {"kernel": kernel, "bias": jnp.zeros(CLASSES)}, 0.0
        for number in range(1, rounds + 1):
            cohort = rng.choice(CLIENTS, COHORT, replace=False)
            batches = (
                (c, clients[c].shuffle_repeat_batch(batch_size=BATCH, num_epochs=int(epochs[c]), seed=number), None)
                for c in cohort
            )
            steps += int(epochs[cohort].sum()) * (SAMPLES // BATCH)
            weights = fedjax.tree_util.tree_mean((found, 1.0) for _, found in train(weights, batches))
            if number % EVERY == 0:
                found = float(accuracy(weights, *tests))
        ends.append(found)
    print(json.dumps({"accuracy": float(np.mean(ends)), "steps": steps / len(seeds)}))


if __name__ == "__main__":
    main()
