"""Local training of one round by jfed, and the files from which peers train the same round."""

import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from benchmarks.cases import BATCH, CASES, CLIENTS, EPOCHS, MOMENTUM, RATE, Case, flat, images
from jfed.algorithms import local_sgd
from jfed.core import ops, prng
from jfed.core.learning import Answers
from jfed.core.types import Dims
from jfed.engine import compiler
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.models import classifier, losses


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


@functools.cache
def setting(name: str) -> Setting:
    """Return the work of one round for a case."""
    case = CASES[name]
    pixels, labels = images(name)
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
        mapped = jax.shard_map(round_of_one, mesh=mesh, in_specs=specs, out_specs=runs, check_vma=False)
        return jax.jit(mapped, compiler_options=compiler.options(case.options.wide_products))

    return Setting(case, train, jax.tree.map(lambda x: x[None], weights), data, job_keys)


@functools.cache
def _ready(name: str, some_fail: bool) -> tuple[Callable[[], Any], Any]:
    """Return a function that trains a round on each device, compiled, and its result."""
    work, devices = setting(name), len(jax.devices())
    train = work.train(devices)
    repeat = functools.partial(jnp.repeat, repeats=devices, axis=0)
    data = Data(work.data.images, work.data.labels, *(repeat(x) for x in work.data[2:]))
    steps = jnp.asarray(work.case.few if some_fail else work.case.steps)
    args = (jax.tree.map(repeat, work.weights), data, work.keys, repeat(steps[None]))
    result = jax.block_until_ready(train(*args))
    return lambda: jax.block_until_ready(train(*args)), result


def measure(name: str, some_fail: bool = False) -> dict[str, float]:
    """Return the rounds per second of a run on each device."""
    once, _ = _ready(name, some_fail)
    times, started = CASES[name].times, time.perf_counter()
    for _ in range(times):
        once()
    return {"rate": len(jax.devices()) * times / (time.perf_counter() - started)}


def save(name: str, folder: str) -> dict[str, str]:
    """Write the round for peers, `round.npz`, and the averaged weights, `jfed.npz`, both in jfed's layout.

    The round has scaled float images, batches in jfed's order, initial weights, and the layers of the network.
    """
    work, samples = setting(name), CASES[name].samples

    def in_order(key: Any, epoch: Any) -> Any:
        return ops.shuffled(jax.random.fold_in(key, epoch), jnp.arange(samples), jnp.int32(samples))

    order = jax.jit(jax.vmap(in_order))
    epochs = jnp.arange(EPOCHS.max())
    per_client = [np.asarray(order(jnp.repeat(key[None], len(epochs)), epochs)) for key in work.keys]
    own = [o.reshape(-1, BATCH) + c * samples for c, o in enumerate(per_client)]
    case = work.case
    scaled = jax.jit(lambda x: classifier.scaled(x, case.inputs, case.options.scaling))(work.data.images)
    arrays: dict[str, Any] = {f"weight_{i}": np.asarray(w[0]) for i, w in enumerate(flat(work.weights))}
    np.savez(
        Path(folder, "round.npz"), images=np.asarray(scaled), labels=np.asarray(work.data.labels),
        batches=np.stack(own), steps=case.steps, layers=json.dumps(case.layers()), rate=RATE, momentum=MOMENTUM,
        **arrays,
    )  # fmt: skip
    np.savez(Path(folder, "jfed.npz"), *(np.asarray(w[0]) for w in flat(_ready(name, False)[1])))
    return {}
