"""One round of FedJAX's `for_each_client` with its jit backend: a peer of `rounds`.

Runs as a worker in an interpreter that has `fedjax`. The network is plain jax, with pools as reshapes where they tile.
A client's images, scaled beforehand, are gathered once in NumPy and cut into batches, as FedJAX's data sets do.
"""

# pyright: reportMissingImports=false

import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import fedjax
import jax
import jax.numpy as jnp
import numpy as np
import optax


def pool(x: Any, size: int, stride: int) -> Any:
    """Return max-pooled images (batch, height, width, channels)."""
    if size != stride:
        window, steps = (1, size, size, 1), (1, stride, stride, 1)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, steps, "VALID")
    batch, height, width, channels = x.shape
    down, across = height // size, width // size
    x = x[:, : down * size, : across * size].reshape(batch, down, size, across, size, channels)
    return x.max((2, 4))


def local_response(x: Any) -> Any:
    """Return the normalisation over nine neighbouring channels."""
    place = np.arange(x.shape[-1])
    near = jnp.asarray(np.abs(place[:, None] - place) <= 4, x.dtype)
    return x / (1 + 0.001 / 9 * (x * x @ near)) ** 0.75


def network(layers: list[dict[str, Any]]) -> Callable[[Any, Any], Any]:
    """Return the network, (weights, images) -> logits, for kernels and biases in order."""

    def logits(weights: list[Any], x: Any) -> Any:
        number = 0
        for layer in layers:
            kind = layer["kind"]
            if kind in ("conv", "dense"):
                kernel, bias = weights[number : number + 2]
                number += 2
                if kind == "conv":
                    dims, padding = ("NHWC", "HWIO", "NHWC"), layer["padding"].upper()
                    x = jax.lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=dims)
                    x = x + bias
                else:
                    x = x.reshape(x.shape[0], -1) @ kernel + bias
            elif kind == "pool":
                x = pool(x, layer["size"], layer["stride"])
            elif kind == "relu":
                x = jax.nn.relu(x)
            else:
                x = local_response(x)
        return x

    return logits


class Round:
    """One round's work, read from an npz file."""

    def __init__(self, path: str) -> None:
        """Read images, batches, steps, layers and initial weights, and make FedJAX's function."""
        with np.load(path) as file:
            part = {name: file[name] for name in file.files}
        self.images, self.labels = part["images"].astype(np.float32), part["labels"]
        steps = part["steps"].tolist()
        self.orders = [own[:n].reshape(-1) for own, n in zip(part["batches"], steps, strict=True)]
        self.batch = part["batches"].shape[-1]
        self.weights = [jnp.asarray(part[f"weight_{i}"]) for i in range(sum(n.startswith("weight_") for n in part))]
        logits = network(json.loads(str(part["layers"])))
        sgd = fedjax.optimizers.sgd(float(part["rate"]), float(part["momentum"]))

        def loss(weights: Any, batch: Any) -> Any:
            found = logits(weights, batch["x"])
            return optax.softmax_cross_entropy_with_integer_labels(found, batch["y"]).mean()

        def start(shared: Any, _: Any) -> Any:
            return {"weights": shared, "state": sgd.init(shared)}

        def step(local: Any, batch: Any) -> Any:
            state, weights = sgd.apply(jax.grad(loss)(local["weights"], batch), local["state"], local["weights"])
            return {"weights": weights, "state": state}

        def end(_: Any, local: Any) -> Any:
            return local["weights"]

        self.train = fedjax.for_each_client(start, step, end)

    def clients(self) -> Any:
        """Yield clients with their batches; a client's images are gathered once."""
        for number, order in enumerate(self.orders):
            x, y, size = self.images[order], self.labels[order], self.batch
            yield number, ({"x": x[i : i + size], "y": y[i : i + size]} for i in range(0, len(order), size)), None

    def run(self) -> list[Any]:
        """Train every client locally, and return the average of their models."""
        answers = ((weights, 1.0) for _, weights in self.train(self.weights, self.clients()))
        return jax.block_until_ready(fedjax.tree_util.tree_mean(answers))


def main() -> None:
    """Answer requests from standard input: to load a round, or to time it and optionally save its weights."""
    work = None
    fedjax.set_for_each_client_backend("jit")
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            work = Round(request["load"])
            work.run()  # compiles
            versions = {"version": metadata.version("fedjax"), "jax": jax.__version__}
            print(json.dumps(versions), flush=True)
            continue
        assert work is not None
        weights, started = [], time.perf_counter()
        for _ in range(request["times"]):
            weights = work.run()
        seconds = time.perf_counter() - started
        if "save" in request:
            np.savez(request["save"], *(np.asarray(w) for w in weights))
        print(json.dumps({"rate": request["times"] / seconds}), flush=True)


if __name__ == "__main__":
    main()
