"""A bare PyTorch loop over the clients of one round: the baseline of `rounds`.

Runs as a worker in an interpreter that has PyTorch; jfed itself does not need it. The images are scaled to float
tensors beforehand, the batches are jfed's, and each client starts with zero momentum.
"""

import json
import sys
import time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]


class Loop:
    """One round's work, read from an npz file."""

    def __init__(self, path: str) -> None:
        """Read images, batches, steps and initial weights."""
        with np.load(path) as file:
            part = {name: file[name] for name in file.files}
        images = part["images"].astype(np.float32) / float(part["scale"])
        images = (images - float(part["mean"])) / float(part["std"])
        self.images = torch.from_numpy(images.transpose(0, 3, 1, 2).astype(np.float32).copy())
        self.labels = torch.from_numpy(part["labels"].astype(np.int64))
        self.batches = [[torch.from_numpy(b) for b in client] for client in part["batches"].astype(np.int64)]
        self.steps = part["steps"].tolist()
        self.rate, self.momentum = float(part["rate"]), float(part["momentum"])
        self.weights = [part[f"weight_{i}"] for i in range(sum(name.startswith("weight_") for name in part))]
        channels = [kernel.shape[-1] for kernel in self.weights[::2] if kernel.ndim == 4]
        self.flat = channels[-1] if channels else images.shape[-1]  # channels before flattening

    def model(self) -> torch.nn.Sequential:
        """Return the network with the round's initial weights; ReLU and 2x2 max pooling follow each convolution."""
        parts: list[torch.nn.Module] = []
        for i in range(0, len(self.weights), 2):
            kernel, bias = self.weights[i : i + 2]
            if kernel.ndim == 4:
                rows, columns, inputs, outputs = kernel.shape
                layer: torch.nn.Module = torch.nn.Conv2d(inputs, outputs, (rows, columns))
                parts += [layer, torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
            else:
                first = not any(isinstance(part, torch.nn.Linear) for part in parts)
                layer = torch.nn.Linear(*kernel.shape)
                parts += [torch.nn.Flatten(), layer, torch.nn.ReLU()] if first else [layer, torch.nn.ReLU()]
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(self._to_torch(i, kernel)))
                layer.bias.copy_(torch.from_numpy(bias))
        return torch.nn.Sequential(*parts[:-1])

    def _to_torch(self, i: int, kernel: np.ndarray) -> np.ndarray:
        if kernel.ndim == 4:
            return kernel.transpose(3, 2, 0, 1).copy()
        if i == self._first_dense():  # PyTorch flattens channels first
            kernel = kernel.reshape(-1, self.flat, kernel.shape[1]).transpose(1, 0, 2).reshape(kernel.shape)
        return kernel.T.copy()

    def _first_dense(self) -> int:
        return next(i for i in range(0, len(self.weights), 2) if self.weights[i].ndim == 2)

    def from_torch(self, weights: list[np.ndarray]) -> list[np.ndarray]:
        """Return weights in jfed's layout."""
        back = []
        for i, w in enumerate(weights):
            if w.ndim == 4:
                w = w.transpose(2, 3, 1, 0)
            elif w.ndim == 2:
                w = w.T
                if i == self._first_dense():
                    w = w.reshape(self.flat, -1, w.shape[1]).transpose(1, 0, 2).reshape(w.shape)
            back.append(w)
        return back

    def round(self, channels_last: bool) -> list[torch.Tensor]:
        """Train every client locally, and return the average of their models."""
        layout = torch.channels_last if channels_last else torch.contiguous_format
        start, images = self.model().to(memory_format=layout), self.images.contiguous(memory_format=layout)
        initial = [w.detach().clone() for w in start.parameters()]
        total = [torch.zeros_like(w) for w in initial]
        loss = torch.nn.CrossEntropyLoss()
        for batches, steps in zip(self.batches, self.steps, strict=True):
            with torch.no_grad():
                for w, w_t in zip(start.parameters(), initial, strict=True):
                    w.copy_(w_t)
            optimizer = torch.optim.SGD(start.parameters(), lr=self.rate, momentum=self.momentum, fused=True)
            for batch in batches[:steps]:
                optimizer.zero_grad()
                loss(start(images[batch]), self.labels[batch]).backward()
                optimizer.step()
            with torch.no_grad():
                for sum_, w in zip(total, start.parameters(), strict=True):
                    sum_ += w
        return [w / len(self.steps) for w in total]


def main() -> None:
    """Answer requests from standard input: to load a round, or to time it and optionally save its weights."""
    loop = None
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            loop = Loop(request["load"])
            print(json.dumps({"version": torch.__version__}), flush=True)
            continue
        assert loop is not None
        torch.set_num_threads(request["threads"])
        started = time.perf_counter()
        weights = loop.round(request["channels_last"])
        seconds = time.perf_counter() - started
        if "save" in request:
            np.savez(request["save"], *loop.from_torch([w.numpy() for w in weights]))
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
