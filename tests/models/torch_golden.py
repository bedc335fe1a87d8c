"""Writes torch_golden.npz, PyTorch's results for the networks: `PYTHON_WITH_TORCH tests/models/torch_golden.py`.

Each network is written layer by layer from its paper, the small one from jfed's table; the test only reads the file.
"""

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
import torch_cases as cases
from torch import nn  # pyright: ignore[reportMissingImports]


def small():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def e3cs_emnist():
    return nn.Sequential(
        nn.Conv2d(1, 10, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(10, 10, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(160, 1280), nn.ReLU(), nn.Linear(1280, 256), nn.ReLU(), nn.Linear(256, 26),
    )  # fmt: skip


def e3cs_emnist_pooled_once():
    return nn.Sequential(
        nn.Conv2d(1, 10, 5), nn.ReLU(), nn.Conv2d(10, 10, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(1000, 1280), nn.ReLU(), nn.Linear(1280, 256), nn.ReLU(), nn.Linear(256, 26),
    )  # fmt: skip


def e3cs_emnist_padded():
    return nn.Sequential(
        nn.Conv2d(1, 10, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(10, 10, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(490, 1280), nn.ReLU(), nn.Linear(1280, 256), nn.ReLU(), nn.Linear(256, 26),
    )  # fmt: skip


def e3cs_cifar():
    return nn.Sequential(
        nn.Conv2d(3, 64, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 64, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(1600, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10),
    )  # fmt: skip


def e3cs_cifar_overlapping_pools():
    return nn.Sequential(
        nn.Conv2d(3, 64, 5), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 64, 5), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Flatten(), nn.Linear(1024, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10),
    )  # fmt: skip


def rbcs_f_fashion():
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
    )  # fmt: skip


class Normalize(nn.Module):
    """Local response normalisation: x / (1 + 0.001 / 9 * sum of squares over the channels c - 4 .. c + 4) ^ 0.75."""

    def forward(self, x):
        channels = x.shape[1]
        out = []
        for c in range(channels):
            near = x[:, max(c - 4, 0) : c + 5]
            out.append(x[:, c] / (1 + 0.001 / 9 * (near**2).sum(1)) ** 0.75)
        return torch.stack(out, 1)


def wang(channels, side):
    return nn.Sequential(
        nn.Conv2d(channels, 32, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2, 2), Normalize(),
        nn.Conv2d(32, 32, 5, padding="same"), nn.ReLU(), Normalize(), nn.MaxPool2d(2, 2), nn.Flatten(),
        nn.Linear(32 * side * side, 256), nn.ReLU(), nn.Linear(256, 10),
    )  # fmt: skip


NETWORKS = {
    "cnn": small,
    "e3cs-emnist": e3cs_emnist,
    "e3cs-cifar": e3cs_cifar,
    "rbcs-f-fashion": rbcs_f_fashion,
    "wang": lambda: wang(1, 7),
    "wang-cifar": lambda: wang(3, 8),
    "e3cs-emnist, pools=last": e3cs_emnist_pooled_once,
    "e3cs-emnist, padding=same": e3cs_emnist_padded,
    "e3cs-cifar, pool=3": e3cs_cifar_overlapping_pools,
}


def scaled(images, scaling):
    """Return the images (batch, channels, height, width) as the network sees them."""
    x = torch.tensor(images.astype(np.float64)).permute(0, 3, 1, 2)
    if scaling == "unit":
        return x / 255
    if scaling == "image":  # unscaled pixels: mean 0, standard deviation 1 where it is above 1 / sqrt(pixels)
        flat = x.flatten(1)
        std = torch.clamp(flat.std(1, correction=0), min=flat.shape[1] ** -0.5)
        return (x - flat.mean(1).view(-1, 1, 1, 1)) / std.view(-1, 1, 1, 1)
    mean, std = scaling
    return (x / 255 - mean) / std


def computed(name):
    """Return the logits, the mean cross-entropy and the digest of its gradient."""
    net = NETWORKS[name]().double()
    parameters = list(net.parameters())
    with torch.no_grad():
        for parameter, value in zip(parameters, cases.weights(name), strict=True):
            assert tuple(parameter.shape) == value.shape
            parameter.copy_(torch.tensor(value))
    logits = net(scaled(cases.images(name), cases.CASES[name].scaling))
    loss = nn.functional.cross_entropy(logits, torch.tensor(cases.labels(name)).long())
    loss.backward()
    found = cases.digest([p.grad.numpy() for p in parameters])
    return {"logits": logits.detach().numpy(), "loss": loss.detach().numpy(), **found}


if __name__ == "__main__":
    results = {name: computed(name) for name in cases.CASES}
    np.savez(cases.GOLDEN, **{f"{name}: {part}": value for name, r in results.items() for part, value in r.items()})
    for name, found in results.items():
        print(name, "loss", float(found["loss"]), "largest logit", abs(found["logits"]).max())
        print("  gradients", np.sqrt(found["squares"]).round(4).tolist())
    print(f"{cases.GOLDEN.stat().st_size:,} bytes, PyTorch {torch.__version__}")
