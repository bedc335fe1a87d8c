"""Networks of `rounds` and `roofs`: their data, their layers as peers build them, and their arithmetic.

There are 20 clients of 450 images (90 for the larger networks), 1 to 4 epochs, and batches of 45, which divide evenly.
"""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from jfed import catalog
from jfed.models import classifier, cnn, dense

CLIENTS, BATCH = 20, 45
EPOCHS = np.arange(CLIENTS) % 4 + 1
RATE, MOMENTUM = 0.01, 0.9


class Case(NamedTuple):
    """One network and its data.

    Attributes:
        options: options of the network.
        shape: height, width, channels of an image.
        classes: number of classes.
        samples: number of images of a client.
        times: rounds of one measurement, so that it lasts about a second.
        tolerance: largest difference between two sides' weights after a round.
    """

    options: classifier.ModelOptions
    shape: tuple[int, int, int] = (28, 28, 1)
    classes: int = 10
    samples: int = 450
    times: int = 1
    tolerance: float = 1e-4

    @property
    def inputs(self) -> classifier.Inputs:
        """Return the network's inputs, with MNIST's scaling in all cases."""
        return classifier.Inputs(self.shape, self.classes, 255.0, 0.1307, 0.3081)

    @property
    def steps(self) -> np.ndarray:
        """Return each client's number of local SGD steps."""
        return (EPOCHS * (self.samples // BATCH)).astype(np.int32)

    @property
    def few(self) -> np.ndarray:
        """Return the same numbers, 0 for every second client, which fails."""
        return np.where(np.arange(CLIENTS) % 2 == 0, self.steps, 0).astype(np.int32)

    @property
    def convolves(self) -> bool:
        """Return whether the network has convolutions, for which the memory format matters."""
        return isinstance(self.options, cnn.Options)

    def layers(self) -> list[dict[str, Any]]:
        """Return the layers in order, with all sizes; the ReLU follows the pool, where it is cheaper, if it may."""
        options, (height, width, channels) = self.options, self.shape
        found: list[dict[str, Any]] = []
        if isinstance(options, cnn.Options):
            for i, outputs in enumerate(options.channels):
                if options.padding == "valid":
                    height, width = height - options.kernel + 1, width - options.kernel + 1
                found.append({"kind": "conv", "kernel": options.kernel, "padding": options.padding, "inputs": channels,
                              "outputs": outputs, "positions": height * width})  # fmt: skip
                channels = outputs
                pool: list[dict[str, Any]] = []
                if options.pools == "each" or i == len(options.channels) - 1:
                    pool = [{"kind": "pool", "size": options.pool, "stride": options.pool_stride}]
                    height, width = ((n - options.pool) // options.pool_stride + 1 for n in (height, width))
                relu, norm = [{"kind": "relu"}], [{"kind": "local response"}] if options.normalize else []
                found += [*relu, *norm, *pool] if options.normalize and i > 0 else [*pool, *relu, *norm]
        assert isinstance(options, cnn.Options | dense.Options)
        widths = [height * width * channels, *options.hidden, self.classes]
        for inputs, outputs in itertools.pairwise(widths):
            found += [{"kind": "dense", "inputs": inputs, "outputs": outputs}, {"kind": "relu"}]
        return found[:-1]

    def flops(self) -> int:
        """Return the useful operations of a client-step: products forward, for weights, and for inputs but the first.

        A multiplication and an addition are two operations. Pools, activations and the optimizer are not counted.
        """
        total = 0
        for i, layer in enumerate(self.layers()):
            if layer["kind"] in ("conv", "dense"):
                patch = layer.get("kernel", 1) ** 2
                once = 2 * BATCH * layer.get("positions", 1) * patch * layer["inputs"] * layer["outputs"]
                total += once * (2 if i == 0 else 3)
        return total


CASES = {
    "softmax 784-10": Case(dense.Options(), times=10),
    "MLP 784-200-10": Case(dense.Options((200,)), times=3),
    "CNN e3cs-emnist": Case(catalog.find("model", "e3cs-emnist"), classes=26),
    "CNN e3cs-cifar": Case(catalog.find("model", "e3cs-cifar"), (32, 32, 3), samples=90),
    # Its weights move by up to 0.17. Against a round in float64 jfed is off by 1.5e-4, PyTorch by 5e-5, FedJAX by 3e-5.
    "CNN wang-cifar": Case(catalog.find("model", "wang-cifar"), (32, 32, 3), samples=90, tolerance=2e-4),
    "CNN 3x3 (cnn)": Case(catalog.find("model", "cnn"), (32, 32, 3), samples=90, times=3),
}
NETWORKS = {
    "softmax 784-10": "softmax regression",
    "MLP 784-200-10": "one hidden layer of 200 ReLU units",
    "CNN e3cs-emnist": "two 5x5 convolutions of 10 channels, dense 1280-256, 26 classes",
    "CNN e3cs-cifar": "two 5x5 convolutions of 64 channels on 32 x 32 x 3, dense 384-192",
    "CNN wang-cifar": "two 5x5 convolutions of 32 channels that keep the size, local response normalisation, dense 256",
    "CNN 3x3 (cnn)": "two 3x3 convolutions of 8 and 16 channels that keep the size on 32 x 32 x 3, dense 32",
}


@functools.cache
def images(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return blurred random prototypes with pixel noise, and labels of which a tenth are redrawn: uint8 and int32."""
    case = CASES[name]
    rng = np.random.default_rng(seed)
    count, (height, width, channels) = CLIENTS * case.samples, case.shape
    coarse = rng.random((case.classes, height // 4, width // 4, channels)).repeat(4, axis=1).repeat(4, axis=2)
    labels = rng.integers(0, case.classes, count)
    pixels = 160 * coarse[labels] + rng.normal(0, 40, (count, *case.shape))
    wrong = rng.random(count) < 0.1
    labels = np.where(wrong, rng.integers(0, case.classes, count), labels)
    return pixels.clip(0, 255).astype(np.uint8), labels.astype(np.int32)


def flat(weights: Any) -> list[Any]:
    """Return kernel and bias of each layer, in the order of the network; dense kernels as (inputs, outputs)."""
    if "out" in weights:  # a dense network
        names = [*sorted(name for name in weights if name != "out"), "out"]
        if len(names) == 1:  # softmax regression, whose kernel is stored as (outputs, inputs)
            weights = {"out": weights["out"] | {"kernel": weights["out"]["kernel"].swapaxes(-1, -2)}}
        return [weights[name][part] for name in names for part in ("kernel", "bias")]
    layers = sorted({name.rpartition("_")[0] for name in weights})  # conv_0, conv_1, dense_0, ...
    return [weights[f"{layer}_{part}"] for layer in layers for part in ("kernel", "bias")]


def total_steps(name: str) -> float:
    """Return the client-steps of a round of a case in which all clients return."""
    return float(CASES[name].steps.sum())
