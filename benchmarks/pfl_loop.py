"""One round of pfl-research's federated averaging on PyTorch: a peer of `rounds`.

Runs as a worker in an interpreter that has `pfl` and PyTorch. One model is resident; pfl's backend takes the users one
after another and averages their differences. A user's data set holds its batches in jfed's order for all its epochs,
and nothing is evaluated.
"""

# pyright: reportMissingImports=false

import dataclasses
import functools
import json
import sys
import time
from importlib import metadata
from typing import Any

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByUser
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.model.pytorch import PyTorchModel
from torch_net import Round


class Net(torch.nn.Sequential):
    """A network with the loss that pfl asks for."""

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch."""
        return torch.nn.functional.cross_entropy(self(images), labels)

    def metrics(self, images: torch.Tensor, labels: torch.Tensor) -> dict[str, Any]:
        """Return no metrics: nothing is evaluated."""
        return {}


class Averaging(FederatedAveraging):
    """Federated averaging without pfl's evaluation of each user before and after its training."""

    def get_next_central_contexts(self, *args: Any, **kwargs: Any) -> Any:
        """Return the contexts of the next round."""
        contexts, model, metrics = super().get_next_central_contexts(*args, **kwargs)
        if contexts is not None:
            contexts = tuple(dataclasses.replace(context, do_evaluation=False) for context in contexts)
        return contexts, model, metrics


class Simulation:
    """A round of pfl that can be repeated from the same weights."""

    def __init__(self, work: Round, channels_last: bool) -> None:
        """Make the model, the users and the backend."""
        layout = torch.channels_last if channels_last else torch.contiguous_format
        net, images = Net(*work.modules()).to(memory_format=layout), work.images.contiguous(memory_format=layout)

        def user(number: int) -> Dataset:
            order = work.orders[number]
            return Dataset([images[order], work.labels[order]], user_id=str(number))

        users = FederatedDataset(user, get_user_sampler("minimize_reuse", list(range(len(work.orders)))))
        self.backend = SimulatedBackend(users, users, [WeightByUser()])
        local = functools.partial(torch.optim.SGD, momentum=work.momentum, fused=True)
        self.model = PyTorchModel(net, local, torch.optim.SGD(net.parameters(), lr=1.0))
        self.initial = self.model.get_parameters()
        self.clients = NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=work.rate, local_batch_size=work.batch
        )
        self.server = NNAlgorithmParams(
            central_num_iterations=1, evaluation_frequency=1, train_cohort_size=len(work.orders), val_cohort_size=None
        )

    def train(self) -> None:
        """Train one round from the initial weights."""
        self.model.set_parameters(self.initial)
        Averaging().run(self.server, self.backend, self.model, self.clients, send_metrics_to_platform=False)


def main() -> None:
    """Answer requests from standard input: to load a round, or to time it and optionally save its weights."""
    work, made = None, {}
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            work, made = Round(request["load"]), {}
            print(json.dumps({"version": metadata.version("pfl")}), flush=True)
            continue
        assert work is not None
        torch.set_num_threads(request["threads"])
        last = request["channels_last"]
        made[last] = made.get(last) or Simulation(work, last)
        started = time.perf_counter()
        for _ in range(request["times"]):
            made[last].train()
        seconds = time.perf_counter() - started
        if "save" in request:
            work.save(request["save"], [w.detach().numpy() for w in made[last].model.pytorch_model.parameters()])
        print(json.dumps({"rate": request["times"] / seconds}), flush=True)


if __name__ == "__main__":
    main()
