"""A bare PyTorch loop over the clients of one round: the baseline of `rounds`.

Started as a worker by an interpreter that has PyTorch; jfed itself does not need it. The images are scaled to float
tensors beforehand, the batches are those that jfed takes, and each client starts with a fresh momentum.
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
        self.images = torch.from_numpy(images.reshape(len(images), -1).astype(np.float32))
        self.labels = torch.from_numpy(part["labels"].astype(np.int64))
        self.batches = [[torch.from_numpy(b) for b in client] for client in part["batches"].astype(np.int64)]
        self.steps = part["steps"].tolist()
        self.rate, self.momentum = float(part["rate"]), float(part["momentum"])
        layers = int(part["layers"])
        self.weights = [part[f"{kind}_{i}"] for i in range(layers) for kind in ("kernel", "bias")]

    def model(self) -> torch.nn.Sequential:
        """The network with the round's initial weights."""
        parts: list[torch.nn.Module] = []
        for i in range(0, len(self.weights), 2):
            kernel, bias = self.weights[i : i + 2]
            layer = torch.nn.Linear(*kernel.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(kernel.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))
            parts += [layer, torch.nn.ReLU()]
        return torch.nn.Sequential(*parts[:-1])

    def round(self) -> list[torch.Tensor]:
        """Local training of every client, and the average of their models."""
        start = self.model()
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
                loss(start(self.images[batch]), self.labels[batch]).backward()
                optimizer.step()
            with torch.no_grad():
                for sum_, w in zip(total, start.parameters(), strict=True):
                    sum_ += w
        return [w / len(self.steps) for w in total]


def main() -> None:
    """Answer requests: a path to load, a number of threads, and perhaps where to write the round's weights."""
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
        weights = loop.round()
        seconds = time.perf_counter() - started
        if "save" in request:
            np.savez(request["save"], *[w.numpy() for w in weights])
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
