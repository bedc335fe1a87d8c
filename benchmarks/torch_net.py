"""The network and data of a round in PyTorch, for `torch_loop` and `pfl_loop`.

Images are float tensors that were scaled beforehand, and layers are those that jfed exported.
"""

# pyright: reportMissingImports=false

import json
from typing import Any

import numpy as np
import torch


class Round:
    """One round's work, read from an npz file.

    Attributes:
        images: scaled float images, (N, channels, height, width).
        labels: their labels.
        orders: the positions of each client's images in the order of its batches, for all of its steps.
        batch: images of a batch.
        rate: learning rate.
        momentum: of local SGD.
    """

    def __init__(self, path: str) -> None:
        """Read images, batches, steps, layers and initial weights."""
        with np.load(path) as file:
            part = {name: file[name] for name in file.files}
        self.images = torch.from_numpy(part["images"].transpose(0, 3, 1, 2).astype(np.float32).copy())
        self.labels = torch.from_numpy(part["labels"].astype(np.int64))
        batches, steps = part["batches"].astype(np.int64), part["steps"].tolist()
        self.orders = [torch.from_numpy(own[:n].reshape(-1)) for own, n in zip(batches, steps, strict=True)]
        self.batch = batches.shape[-1]
        self.rate, self.momentum = float(part["rate"]), float(part["momentum"])
        self.layers: list[dict[str, Any]] = json.loads(str(part["layers"]))
        self.weights = [part[f"weight_{i}"] for i in range(sum(name.startswith("weight_") for name in part))]
        convolved = [layer["outputs"] for layer in self.layers if layer["kind"] == "conv"]
        self.channels = convolved[-1] if convolved else part["images"].shape[-1]  # before flattening
        self.first_dense = next(2 * i for i, kernel in enumerate(self.weights[::2]) if kernel.ndim == 2)

    def modules(self) -> list[torch.nn.Module]:
        """Return the layers with the round's initial weights."""
        parts: list[torch.nn.Module] = []
        number = 0
        for layer in self.layers:
            kind = layer["kind"]
            if kind in ("conv", "dense"):
                if kind == "conv":
                    sizes = (layer["inputs"], layer["outputs"], layer["kernel"])
                    made: torch.nn.Module = torch.nn.Conv2d(*sizes, padding=layer["padding"])
                else:
                    parts += [torch.nn.Flatten()] if number == self.first_dense else []
                    made = torch.nn.Linear(layer["inputs"], layer["outputs"])
                with torch.no_grad():
                    made.weight.copy_(torch.from_numpy(self._to_torch(number, self.weights[number])))
                    made.bias.copy_(torch.from_numpy(self.weights[number + 1]))
                number += 2
                parts.append(made)
            elif kind == "pool":
                parts.append(torch.nn.MaxPool2d(layer["size"], layer["stride"]))
            elif kind == "relu":
                parts.append(torch.nn.ReLU(inplace=True))
            else:  # local response normalisation over nine channels
                parts.append(torch.nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0))
        return parts

    def _to_torch(self, i: int, kernel: np.ndarray) -> np.ndarray:
        if kernel.ndim == 4:
            return kernel.transpose(3, 2, 0, 1).copy()
        if i == self.first_dense:  # PyTorch flattens channels first
            kernel = kernel.reshape(-1, self.channels, kernel.shape[1]).transpose(1, 0, 2).reshape(kernel.shape)
        return kernel.T.copy()

    def save(self, path: str, weights: list[np.ndarray]) -> None:
        """Write weights in jfed's layout."""
        back = []
        for i, w in enumerate(weights):
            if w.ndim == 4:
                w = w.transpose(2, 3, 1, 0)
            elif w.ndim == 2:
                w = w.T
                if i == self.first_dense:
                    w = w.reshape(self.channels, -1, w.shape[1]).transpose(1, 0, 2).reshape(w.shape)
            back.append(w)
        np.savez(path, *back)
