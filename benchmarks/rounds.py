"""Local training of one round, in which all clients return, against a bare PyTorch loop over the clients.

There are 20 clients of 450 images (90 for the largest network), 1 to 4 epochs, and batches of 45, which divide evenly;
images of the right shapes come from a seeded generator. Both sides start from one model and use the same batches, and
their averages must agree up to rounding before anything is timed. There is no evaluation and no selection; jfed's time
includes drawing its batch orders. PyTorch is measured with one thread, with one per device of jax, and in as many
processes; convolutional networks in both memory formats. The best one counts.
"""

import functools
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from benchmarks import report, workers
from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.core import ops, prng
from jfed.core.learning import Answers
from jfed.core.types import Dims
from jfed.engine.lanes import LANES, Carried, Data, Jobs
from jfed.models import classifier, dense, losses

CLIENTS, BATCH = 20, 45
EPOCHS = np.arange(CLIENTS) % 4 + 1
RATE, MOMENTUM = 0.01, 0.9
TOLERANCE = 1e-4


class Case(NamedTuple):
    """One network and its data.

    Attributes:
        options: options of the network.
        shape: height, width, channels of an image.
        classes: number of classes.
        samples: number of images of a client.
    """

    options: classifier.ModelOptions
    shape: tuple[int, int, int] = (28, 28, 1)
    classes: int = 10
    samples: int = 450

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


CASES = {
    "softmax 784-10": Case(dense.Options()),
    "MLP 784-200-10": Case(dense.Options((200,))),
    "CNN e3cs-emnist": Case(catalog.find("model", "e3cs-emnist"), classes=26),
    "CNN e3cs-cifar": Case(catalog.find("model", "e3cs-cifar"), (32, 32, 3), samples=90),
}


class Setting(NamedTuple):
    """One round's work.

    Attributes:
        case: the network and its data.
        train: number of devices to a function (weights, data, keys, steps) -> average.
        weights: initial weights of one run.
        data: clients' data of one run.
        keys: keys of the clients' training.
    """

    case: Case
    train: Callable[[int], Callable[..., Any]]
    weights: Any
    data: Data
    keys: Any


def images(case: Case, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return blurred random prototypes with pixel noise, and labels of which a tenth are redrawn: uint8 and int32."""
    rng = np.random.default_rng(seed)
    count, (height, width, channels) = CLIENTS * case.samples, case.shape
    coarse = rng.random((case.classes, height // 4, width // 4, channels)).repeat(4, axis=1).repeat(4, axis=2)
    labels = rng.integers(0, case.classes, count)
    pixels = 160 * coarse[labels] + rng.normal(0, 40, (count, *case.shape))
    wrong = rng.random(count) < 0.1
    labels = np.where(wrong, rng.integers(0, case.classes, count), labels)
    return pixels.clip(0, 255).astype(np.uint8), labels.astype(np.int32)


def setting(case: Case) -> Setting:
    """Return the work of one round for a case."""
    pixels, labels = images(case)
    model = classifier.make(case.options, case.inputs)
    algorithm = local_sgd.Options().make(Dims(CLIENTS, CLIENTS, BATCH), losses.mean_loss(model))
    one = local_sgd.Params(jnp.float32(RATE), jnp.float32(MOMENTUM), jnp.float32(0))
    positions = np.arange(CLIENTS * case.samples, dtype=np.int32).reshape(1, CLIENTS, -1)
    data = Data(
        jnp.asarray(pixels), jnp.asarray(labels), jnp.asarray(positions),
        jnp.full((1, CLIENTS), case.samples, jnp.int32), jnp.zeros((1, 1), jnp.int32), jnp.ones(1, jnp.int32),
    )  # fmt: skip
    keys = prng.keys(jax.tree.map(jnp.asarray, prng.seeds(1)))
    weights = model.init(prng.at(keys.model, 0))
    job_keys = jax.vmap(lambda c: prng.at(keys.training, 1, c))(jnp.arange(CLIENTS))
    params = jax.tree.map(lambda x: x[None], one)

    def round_of_one(weights: Any, data: Data, keys: Any, steps: Any) -> Any:
        client = jnp.arange(CLIENTS, dtype=jnp.int32)
        everybody = jnp.ones(CLIENTS, bool)
        jobs = Jobs(jnp.zeros(CLIENTS, jnp.int32), client, steps[0], keys, everybody)
        answer = LANES["sequential"].train(algorithm, Carried(weights), params, data, jobs)
        answers = Answers(answer.move, answer.report, share=jnp.full(CLIENTS, 1 / CLIENTS), returned=everybody)
        own = jax.tree.map(lambda x: x[0], weights)
        return jax.tree.map(lambda x: x[None], algorithm.aggregate(None, own, params, answers).weights)

    def train(devices: int) -> Callable[..., Any]:
        runs, shared = PartitionSpec("run"), PartitionSpec()
        per_run = Data(shared, shared, runs, runs, runs, runs)  # type: ignore[arg-type]
        mesh = Mesh(np.array(jax.devices()[:devices]), ("run",))
        specs = (runs, per_run, shared, runs)
        return jax.jit(jax.shard_map(round_of_one, mesh=mesh, in_specs=specs, out_specs=runs, check_vma=False))

    return Setting(case, train, jax.tree.map(lambda x: x[None], weights), data, job_keys)


def timed(work: Setting, devices: int, steps: np.ndarray) -> tuple[Callable[[], float], Any]:
    """Return a function that trains a round on each device and returns rounds per second, and the resulting weights."""
    train = work.train(devices)
    repeat = functools.partial(jnp.repeat, repeats=devices, axis=0)
    data = Data(work.data.images, work.data.labels, *(repeat(x) for x in work.data[2:]))
    args = (jax.tree.map(repeat, work.weights), data, work.keys, repeat(jnp.asarray(steps)[None]))
    result = jax.block_until_ready(train(*args))

    def once() -> float:
        started = time.perf_counter()
        jax.block_until_ready(train(*args))
        return devices / (time.perf_counter() - started)

    return once, result


def export(path: Path, work: Setting) -> None:
    """Write the round for the PyTorch worker: images, batches in jfed's order, initial weights, layers."""
    case, samples = work.case, work.case.samples

    def in_order(key: Any, epoch: Any) -> Any:
        return ops.shuffled(jax.random.fold_in(key, epoch), jnp.arange(samples), jnp.int32(samples))

    order = jax.jit(jax.vmap(in_order))
    epochs = jnp.arange(EPOCHS.max())
    per_client = [np.asarray(order(jnp.repeat(key[None], len(epochs)), epochs)) for key in work.keys]
    own = [o.reshape(-1, BATCH) + c * samples for c, o in enumerate(per_client)]
    inputs = case.inputs
    arrays: dict[str, Any] = {f"weight_{i}": np.asarray(w[0]) for i, w in enumerate(flat(work.weights))}
    np.savez(
        path, images=np.asarray(work.data.images), labels=np.asarray(work.data.labels), batches=np.stack(own),
        steps=case.steps, scale=inputs.scale, mean=inputs.mean, std=inputs.std, rate=RATE, momentum=MOMENTUM,
        **arrays,
    )  # fmt: skip


def flat(weights: Any) -> list[Any]:
    """Return kernel and bias of each layer, in the order of the network; dense kernels as (inputs, outputs)."""
    if "out" in weights:  # a dense network
        names = [*sorted(name for name in weights if name != "out"), "out"]
        if len(names) == 1:  # softmax regression, whose kernel is stored as (outputs, inputs)
            weights = {"out": weights["out"] | {"kernel": weights["out"]["kernel"].swapaxes(-1, -2)}}
        return [weights[name][part] for name in names for part in ("kernel", "bias")]
    layers = sorted({name.rpartition("_")[0] for name in weights})  # conv_0, conv_1, dense_0, ...
    return [weights[f"{layer}_{part}"] for layer in layers for part in ("kernel", "bias")]


def distance(ours: Any, saved: Path) -> float:
    """Return the largest difference between jfed's averaged weights and PyTorch's, saved in jfed's layout."""
    with np.load(saved) as file:
        theirs = [file[f"arr_{i}"] for i in range(len(file.files))]
    mine = [np.asarray(w[0]) for w in flat(ours)]
    return max(float(np.abs(a - b).max()) for a, b in zip(mine, theirs, strict=True))


def run(repeats: int, torch_python: str | None) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    if torch_python is None:
        notes = ["PyTorch's side is skipped: name an interpreter that has it by --torch-python or $JFED_TORCH_PYTHON."]
        return [r for name, case in CASES.items() for r in _alone(name, case, repeats)], notes
    notes = []
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        loops = [stack.enter_context(workers.Worker("torch_loop.py", torch_python)) for _ in jax.devices()]
        for name, case in CASES.items():
            work = setting(case)
            export(Path(folder, "round.npz"), work)
            versions = [loop.ask(load=str(Path(folder, "round.npz")))["version"] for loop in loops]
            found, note = _beside(name, work, loops, folder, repeats)
            rows += found
            notes.append(f"{note} PyTorch {versions[0]}.")
    return rows, notes


def _alone(name: str, case: Case, repeats: int) -> list[report.Row]:
    work, counts = setting(case), sorted({1, len(jax.devices())})
    found = report.interleaved(repeats, *(timed(work, devices, case.steps)[0] for devices in counts))
    return [_steps(f"{name}; a run on each of {n} device(s)", case, v) for n, v in zip(counts, found, strict=True)]


def _steps(what: str, case: Case, rates: list[float], others: list[float] | None = None, *more: str) -> report.Row:
    """Return the row of rounds per second, converted to client-steps per second."""
    total = float(case.steps.sum())
    return report.row(what, "client-steps/s", [r * total for r in rates], [r * total for r in others or []], *more)


def _beside(
    name: str, work: Setting, loops: list[workers.Worker], folder: str, repeats: int
) -> tuple[list[report.Row], str]:
    devices, case = len(jax.devices()), work.case
    one, result = timed(work, 1, case.steps)
    every, _ = timed(work, devices, case.steps)
    few, _ = timed(work, 1, case.few)
    saved = Path(folder, "weights.npz")
    loops[0].ask(threads=1, channels_last=False, save=str(saved))
    apart = distance(result, saved)
    if not apart < TOLERANCE:
        raise AssertionError(f"{name}: the round's weights differ by {apart:.2g} from PyTorch's.")

    def loop(threads: int, last: bool) -> float:
        return 1 / loops[0].ask(threads=threads, channels_last=last)["seconds"]

    def processes(last: bool) -> float:
        for worker in loops:
            worker.send(threads=1, channels_last=last)
        return len(loops) / max(worker.receive()["seconds"] for worker in loops)

    peers: dict[str, Callable[[], float]] = {}
    for last in (False, True) if name.startswith("CNN") else (False,):
        kind = ", channels last" if last else ""
        peers[f"PyTorch, 1 thread{kind}"] = functools.partial(loop, 1, last)
        peers[f"PyTorch, {devices} threads{kind}"] = functools.partial(loop, devices, last)
        peers[f"PyTorch, {devices} processes of 1 thread{kind}"] = functools.partial(processes, last)
    ours, ours_all, ours_few, *theirs = report.interleaved(repeats, one, every, few, *peers.values())
    best, against = max(zip(theirs, peers, strict=True), key=lambda side: float(np.median(side[0])))
    target = {"CNN e3cs-emnist": ">= 1", "CNN e3cs-cifar": ">= 0.7"}.get(name, ">= 2")
    more = ">= 1.3" if devices > 1 else ""
    left = case.few.sum() / case.steps.sum()
    rows = [
        _steps(f"{name}; a run on each of {devices} devices", case, ours_all, best, against, target),
        _steps(f"{name}; a run on each of {devices} devices", case, ours_all, ours, "one run, 1 device", more),
        _steps(f"{name}; one run, 1 device", case, ours, theirs[0], next(iter(peers))),
        *(_steps(f"{name}; {peer}", case, rates) for peer, rates in zip(peers, theirs, strict=True)),
        report.row(
            f"{name}; every second client fails, {left:.0%} of the steps are left, 1 device",
            "rounds/s", ours_few, ours, "no client fails", f"about {1 / left:.2g}",
        ),
    ]  # fmt: skip
    return rows, f"{name}: after one round the weights are within {apart:.1g} of PyTorch's."
