"""Local training of one round, everything returned, against a bare PyTorch loop over the clients.

20 clients of 450 images, 1 to 4 epochs, batches of 45 (which divide evenly); MNIST's shapes with images made by a
seeded generator. Both sides start from one model and take the same batches, and their averages must agree up to
rounding before anything is timed. No evaluation, no selection; jfed draws its batch orders inside the time. PyTorch
is measured with one thread, with one a core, and in as many processes as there are cores; the best one counts.
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
from jfed import ops, prng
from jfed.algorithms import local_sgd
from jfed.engine.lanes import LANES, Data, Jobs
from jfed.models import classifier, dense, losses
from jfed.types import Dims

CLIENTS, SAMPLES, BATCH, CLASSES = 20, 450, 45, 10
EPOCHS = np.arange(CLIENTS) % 4 + 1
STEPS = (EPOCHS * (SAMPLES // BATCH)).astype(np.int32)
FEW = np.where(np.arange(CLIENTS) % 2 == 0, STEPS, 0).astype(np.int32)  # every second client fails
SCALE, MEAN, STD = 255.0, 0.1307, 0.3081
RATE, MOMENTUM = 0.01, 0.9
MODELS = {"softmax 784-10": (), "MLP 784-200-10": (200,)}
TOLERANCE = 1e-4


class Setting(NamedTuple):
    """One round's work. Attributes: train: (weights, data, jobs) -> average; weights, data, keys: of one run."""

    train: Callable[[int], Callable[..., Any]]
    weights: Any
    data: Data
    keys: Any


def images(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ten blurred random prototypes with pixel noise, and labels of which a tenth are wrong: uint8 and int32."""
    rng = np.random.default_rng(seed)
    count = CLIENTS * SAMPLES
    coarse = rng.random((CLASSES, 7, 7)).repeat(4, axis=1).repeat(4, axis=2)
    labels = rng.integers(0, CLASSES, count)
    pixels = 160 * coarse[labels] + rng.normal(0, 40, (count, 28, 28))
    wrong = rng.random(count) < 0.1
    labels = np.where(wrong, rng.integers(0, CLASSES, count), labels)
    return pixels.clip(0, 255).astype(np.uint8)[..., None], labels.astype(np.int32)


def setting(hidden: tuple[int, ...]) -> Setting:
    """The work of a round for a model."""
    pixels, labels = images()
    model = classifier.make(dense.Options(hidden), classifier.Inputs((28, 28, 1), CLASSES, SCALE, MEAN, STD))
    algorithm = local_sgd.make(Dims(CLIENTS, CLIENTS, BATCH), model, losses.cross_entropy)
    one = local_sgd.Params(jnp.float32(RATE), jnp.float32(MOMENTUM), jnp.float32(0))
    positions = np.arange(CLIENTS * SAMPLES, dtype=np.int32).reshape(1, CLIENTS, SAMPLES)
    data = Data(
        jnp.asarray(pixels), jnp.asarray(labels), jnp.asarray(positions), jnp.full((1, CLIENTS), SAMPLES, jnp.int32),
        jnp.zeros((1, 1), jnp.int32), jnp.ones(1, jnp.int32),
    )  # fmt: skip
    keys = prng.keys(jax.tree.map(jnp.asarray, prng.seeds(1)))
    weights = model.init(prng.at(keys.model, 0))
    job_keys = jax.vmap(lambda c: prng.at(keys.training, 1, c))(jnp.arange(CLIENTS))
    params = jax.tree.map(lambda x: x[None], one)

    def round_of_one(weights: Any, data: Data, keys: Any, steps: Any) -> Any:
        client = jnp.arange(CLIENTS, dtype=jnp.int32)
        jobs = Jobs(jnp.zeros(CLIENTS, jnp.int32), client, steps[0], keys)
        updates, _ = LANES["sequential"].train(algorithm, weights, params, data, jobs)
        share, returned = jnp.full(CLIENTS, 1 / CLIENTS), jnp.ones(CLIENTS, bool)
        own = jax.tree.map(lambda x: x[0], weights)
        return jax.tree.map(lambda x: x[None], algorithm.aggregate(own, updates, share, returned))

    def train(devices: int) -> Callable[..., Any]:
        runs, shared = PartitionSpec("run"), PartitionSpec()
        per_run = Data(shared, shared, runs, runs, runs, runs)  # type: ignore[arg-type]
        mesh = Mesh(np.array(jax.devices()[:devices]), ("run",))
        specs = (runs, per_run, shared, runs)
        return jax.jit(jax.shard_map(round_of_one, mesh=mesh, in_specs=specs, out_specs=runs, check_vma=False))

    return Setting(train, jax.tree.map(lambda x: x[None], weights), data, job_keys)


def timed(work: Setting, devices: int, steps: np.ndarray = STEPS) -> tuple[Callable[[], float], Any]:
    """A function that trains one round of a run on each device and returns rounds a second; a round's weights."""
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


def export(path: Path, work: Setting, hidden: tuple[int, ...]) -> None:
    """Write the round for the PyTorch worker: images, batches in jfed's order, initial weights."""

    def in_order(key: Any, epoch: Any) -> Any:
        return ops.shuffled(jax.random.fold_in(key, epoch), jnp.arange(SAMPLES), jnp.int32(SAMPLES))

    order = jax.jit(jax.vmap(in_order))
    epochs = jnp.arange(EPOCHS.max())
    per_client = [np.asarray(order(jnp.repeat(key[None], len(epochs)), epochs)) for key in work.keys]
    own = [o.reshape(-1, BATCH) + c * SAMPLES for c, o in enumerate(per_client)]
    layers = [jax.tree.map(lambda x: np.asarray(x[0]), work.weights[n]) for n in _names(hidden)]
    kernels = {f"kernel_{i}": layer["kernel"] for i, layer in enumerate(layers)}
    biases = {f"bias_{i}": layer["bias"] for i, layer in enumerate(layers)}
    np.savez(
        path, images=np.asarray(work.data.images), labels=np.asarray(work.data.labels), batches=np.stack(own),
        steps=STEPS, scale=SCALE, mean=MEAN, std=STD, rate=RATE, momentum=MOMENTUM, layers=len(layers),
        **kernels, **biases,
    )  # fmt: skip


def _names(hidden: tuple[int, ...]) -> list[str]:
    return [*(f"hidden_{i}" for i in range(len(hidden))), "out"]


def distance(ours: Any, saved: Path, hidden: tuple[int, ...]) -> float:
    """Largest difference between jfed's averaged weights and PyTorch's."""
    with np.load(saved) as file:
        theirs = [file[f"arr_{i}"] for i in range(len(file.files))]
    mine = [np.asarray(ours[n][part][0]) for n in _names(hidden) for part in ("kernel", "bias")]
    return max(float(np.abs(a - (b.T if b.ndim == 2 else b)).max()) for a, b in zip(mine, theirs, strict=True))


def run(repeats: int, torch_python: str | None) -> tuple[list[report.Row], list[str]]:
    """All rows, and notes."""
    rows: list[report.Row] = []
    if torch_python is None:
        notes = ["PyTorch's side is skipped: give an interpreter that has it, --torch-python or $JFED_TORCH_PYTHON."]
        return [r for name, hidden in MODELS.items() for r in _alone(name, hidden, repeats)], notes
    notes = []
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        loops = [stack.enter_context(workers.Worker("torch_loop.py", torch_python)) for _ in jax.devices()]
        for name, hidden in MODELS.items():
            work = setting(hidden)
            export(Path(folder, "round.npz"), work, hidden)
            versions = [loop.ask(load=str(Path(folder, "round.npz")))["version"] for loop in loops]
            found, note = _beside(name, hidden, work, loops, folder, repeats)
            rows += found
            notes.append(f"{note} PyTorch {versions[0]}.")
    return rows, notes


def _alone(name: str, hidden: tuple[int, ...], repeats: int) -> list[report.Row]:
    work, counts = setting(hidden), sorted({1, len(jax.devices())})
    found = report.interleaved(repeats, *(timed(work, devices)[0] for devices in counts))
    return [_steps(f"{name}; a run on each of {n} device(s)", v) for n, v in zip(counts, found, strict=True)]


def _steps(case: str, rates: list[float], others: list[float] | None = None, *more: str) -> report.Row:
    """Rounds a second as client-steps a second."""
    total = float(STEPS.sum())
    return report.row(case, "client-steps/s", [r * total for r in rates], [r * total for r in others or []], *more)


def _beside(
    name: str, hidden: tuple[int, ...], work: Setting, loops: list[workers.Worker], folder: str, repeats: int
) -> tuple[list[report.Row], str]:
    devices = len(jax.devices())
    one, result = timed(work, 1)
    every, _ = timed(work, devices)
    few, _ = timed(work, 1, FEW)
    saved = Path(folder, "weights.npz")
    loops[0].ask(threads=1, save=str(saved))
    apart = distance(result, saved, hidden)
    if not apart < TOLERANCE:
        raise AssertionError(f"{name}: the round's weights differ by {apart:.2g} from PyTorch's.")

    def loop(threads: int) -> float:
        return 1 / loops[0].ask(threads=threads)["seconds"]

    def processes() -> float:
        for worker in loops:
            worker.send(threads=1)
        return len(loops) / max(worker.receive()["seconds"] for worker in loops)

    sides = [one, every, few, functools.partial(loop, 1), functools.partial(loop, devices), processes]
    ours, ours_all, ours_few, *peers = report.interleaved(repeats, *sides)
    names = ["PyTorch, 1 thread", f"PyTorch, {devices} threads", f"PyTorch, {devices} processes of 1 thread"]
    best, against = max(zip(peers, names, strict=True), key=lambda side: float(np.median(side[0])))
    left = FEW.sum() / STEPS.sum()
    rows = [
        _steps(f"{name}; a run on each of {devices} devices", ours_all, best, against, ">= 2"),
        _steps(f"{name}; one run, 1 device", ours, peers[0], names[0]),
        *(_steps(f"{name}; {peer}", rates) for peer, rates in zip(names, peers, strict=True)),
        report.row(
            f"{name}; every second client fails, {left:.0%} of the steps are left, 1 device",
            "rounds/s", ours_few, ours, "nobody fails", f"about {1 / left:.2g}",
        ),
    ]  # fmt: skip
    return rows, f"{name}: after one round the weights are within {apart:.1g} of PyTorch's."
