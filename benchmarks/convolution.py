"""One local SGD step of 20 clients with weights of their own: jfed's lane against `jax.vmap` over flax's convolution.

Batches of 40, momentum. jfed trains the clients of a run one after another, with a run on each device. The peer trains
all clients of a run at once, for which a vmapped linen network becomes grouped convolutions, on one device and with a
run on each. The peer's step is not in a loop, where it would be slower still. Both start from the same weights, and
their updates must agree.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen
from jax.sharding import Mesh, PartitionSpec

from benchmarks import report
from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.core.types import Dims
from jfed.engine.lanes import LANES, Carried, Data, Jobs
from jfed.models import classifier, cnn, losses

CLIENTS, BATCH = 20, 40
RATE, MOMENTUM = 0.01, 0.9
EIGEN = {"xla_cpu_experimental_ynn_fusion_type": ""}  # XLA option: matrix products by Eigen, not by jax 0.10's YNNPACK
CASES = {
    "e3cs-emnist": (classifier.Inputs((28, 28, 1), 26, 255.0, 0.1307, 0.3081), ">= 2.5"),
    "e3cs-cifar": (classifier.Inputs((32, 32, 3), 10, 255.0, 0.5, 0.5), ">= 6"),
}
TOLERANCE = 1e-4


class Plain(linen.Module):
    """The same network made of flax's own layers.

    Attributes:
        options: jfed's options of the network.
        classes: number of classes.
    """

    options: cnn.Options
    classes: int

    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return logits of scaled images."""
        for channels in self.options.channels:
            x = linen.max_pool(linen.relu(linen.Conv(channels, (5, 5), padding="VALID")(x)), (2, 2), (2, 2))
        x = x.reshape(x.shape[0], -1)
        for width in self.options.hidden:
            x = linen.relu(linen.Dense(width)(x))
        return linen.Dense(self.classes)(x)


def _data(inputs: classifier.Inputs) -> Data:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (CLIENTS * BATCH, *inputs.shape), dtype=np.uint8)
    labels = rng.integers(0, inputs.num_classes, len(images), dtype=np.int32)
    positions = np.arange(len(images), dtype=np.int32).reshape(1, CLIENTS, BATCH)
    sizes, none = jnp.full((1, CLIENTS), BATCH, jnp.int32), jnp.zeros((1, 1), jnp.int32)
    return Data(jnp.asarray(images), jnp.asarray(labels), jnp.asarray(positions), sizes, none, jnp.ones(1, jnp.int32))


def _renamed(weights: Any) -> Any:
    """Return jfed's weights under flax's names."""
    names = sorted({name.rpartition("_")[0] for name in weights})
    kinds = {"conv": "Conv", "dense": "Dense"}
    return {
        f"{kinds[name.partition('_')[0]]}_{name.partition('_')[2]}": {
            part: weights[f"{name}_{part}"] for part in ("kernel", "bias")
        }
        for name in names
    }


def _ours(options: cnn.Options, inputs: classifier.Inputs) -> tuple[Callable[..., Any], Any]:
    model = classifier.make(options, inputs)
    algorithm = local_sgd.Options().make(Dims(CLIENTS, CLIENTS, BATCH), losses.mean_loss(model))
    params = local_sgd.Params(*(jnp.full(1, x) for x in (RATE, MOMENTUM, 0.0)))
    clients = jnp.arange(CLIENTS, dtype=jnp.int32)
    jobs = Jobs(
        jnp.zeros(CLIENTS, jnp.int32), clients, jnp.ones(CLIENTS, jnp.int32),
        jax.random.split(jax.random.key(0), CLIENTS), jnp.ones(CLIENTS, bool),
    )  # fmt: skip

    def train(weights: Any, data: Data) -> Any:
        own = jax.tree.map(lambda x: x[None], weights)
        return LANES["sequential"].train(algorithm, Carried(own), params, data, jobs).move

    return train, model.init(jax.random.key(1))


def _peer(options: cnn.Options, inputs: classifier.Inputs) -> Callable[..., Any]:
    net, sgd = Plain(options, inputs.num_classes), optax.sgd(RATE, MOMENTUM)

    def train(weights: Any, data: Data) -> Any:
        def client(positions: jax.Array) -> Any:
            images, labels = classifier.scaled(data.images[positions], inputs, "dataset"), data.labels[positions]

            def loss(w: Any) -> jax.Array:
                logits = net.apply({"params": w}, images)
                return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()  # type: ignore[arg-type]

            return sgd.update(jax.grad(loss)(weights), sgd.init(weights))[0]

        return jax.vmap(client)(data.positions[0])

    return train


def _timed(
    train: Callable[..., Any], weights: Any, data: Data, devices: int, xla: dict[str, Any] | None = None
) -> tuple[Callable, Any]:
    """Return a function that returns steps of 20 clients per second, with a run on each device, and a run's updates."""
    mesh = Mesh(np.array(jax.devices()[:devices]), ("run",))
    shared, runs = PartitionSpec(), PartitionSpec("run")

    def one(weights: Any, data: Data) -> Any:
        return jax.tree.map(lambda x: x[None], train(weights, data))

    sharded = jax.shard_map(one, mesh=mesh, in_specs=(shared, shared), out_specs=runs, check_vma=False)
    mapped = jax.jit(sharded, compiler_options=xla)
    result = jax.block_until_ready(mapped(weights, data))

    def once() -> float:
        started = time.perf_counter()
        jax.block_until_ready(mapped(weights, data))
        return devices / (time.perf_counter() - started)

    return once, jax.tree.map(lambda x: np.asarray(x[0]), result)


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    notes = []
    devices = len(jax.devices())
    for name, (inputs, target) in CASES.items():
        options: Any = catalog.find("model", name)
        data = _data(inputs)
        train, weights = _ours(options, inputs)
        ours, result = _timed(train, weights, data, devices)
        alone, _ = _timed(train, weights, data, 1)
        renamed, flax = _renamed(weights), _peer(options, inputs)
        peer, theirs = _timed(flax, renamed, data, 1)
        both, _ = _timed(flax, renamed, data, devices)
        eigen, _ = _timed(flax, renamed, data, 1, EIGEN)
        pairs = zip(jax.tree.leaves(_renamed(result)), jax.tree.leaves(theirs), strict=True)
        apart = max(float(np.abs(a - b).max()) for a, b in pairs)
        if not apart < TOLERANCE:
            raise AssertionError(f"{name}: updates differ by {apart:.2g} from flax's.")
        rates, one, grouped, spread, other = report.interleaved(repeats, ours, alone, peer, both, eigen)
        what, unit, peers = f"{name}; a run on each of {devices} devices", "steps of 20 clients/s", "vmap over flax's"
        rows += [
            report.row(what, unit, rates, grouped, f"{peers}, 1 device", target),
            report.row(what, unit, rates, spread, f"{peers}, a run on each device"),
            report.row(what, unit, rates, other, f"{peers}, 1 device, Eigen"),
            report.row(what, unit, rates, one, "one run, 1 device", ">= 1.3"),
            report.row(f"{name}; vmap over flax's convolution, 1 device", unit, grouped),
        ]
        notes.append(f"{name}: the updates are within {apart:.1g} of flax's.")
    return rows, notes
