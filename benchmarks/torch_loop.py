"""A bare PyTorch loop over the clients of one round: a peer of `rounds`.

Runs as a worker in an interpreter that has PyTorch; jfed itself does not need it. The batches are jfed's, each client
starts with zero momentum, SGD is PyTorch's fused one, and a client's images are gathered once and then split.
"""

# pyright: reportMissingImports=false

import json
import sys
import time

import torch
from torch_net import Round


def train(work: Round, channels_last: bool) -> list[torch.Tensor]:
    """Train every client locally, and return the average of their models."""
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model, images = torch.nn.Sequential(*work.modules()).to(memory_format=layout), work.images
    weights = list(model.parameters())
    initial = [w.detach().clone() for w in weights]
    total = [torch.zeros_like(w) for w in initial]
    loss = torch.nn.CrossEntropyLoss()
    for order in work.orders:
        with torch.no_grad():
            for w, start in zip(weights, initial, strict=True):
                w.copy_(start)
        optimizer = torch.optim.SGD(weights, lr=work.rate, momentum=work.momentum, fused=True)
        for x, y in zip(images[order].split(work.batch), work.labels[order].split(work.batch), strict=True):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            for sum_, w in zip(total, weights, strict=True):
                sum_ += w
    return [w / len(work.orders) for w in total]


def main() -> None:
    """Answer requests from standard input: to load a round, or to time it and optionally save its weights."""
    work = None
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            work = Round(request["load"])
            print(json.dumps({"version": torch.__version__}), flush=True)
            continue
        assert work is not None
        torch.set_num_threads(request["threads"])
        last = request["channels_last"]
        work.images = work.images.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)
        weights, started = [], time.perf_counter()
        for _ in range(request["times"]):
            weights = train(work, last)
        seconds = time.perf_counter() - started
        if "save" in request:
            work.save(request["save"], [w.numpy() for w in weights])
        print(json.dumps({"rate": request["times"] / seconds}), flush=True)


if __name__ == "__main__":
    main()
