"""Programs that take a block of runs from round to round, compiled once per spec and device count.

Every device runs the same program on a block of its own (shard_map without collectives), so that a run's bits do not
depend on the number of devices. The host takes over between chunks of rounds; traced code never calls back, and memory
on the device does not grow with the number of rounds.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Int

from jfed.core import prng
from jfed.core.types import Probe, Weights
from jfed.engine import compiler, ending
from jfed.engine.evaluate import Quality, client_quality, finite, test_quality
from jfed.engine.jobs import Data
from jfed.engine.lanes import LANES
from jfed.engine.round import Record, make_init, make_round, watched
from jfed.engine.spec import Spec, build
from jfed.engine.state import RunParams, RunState
from jfed.models import classifier

# What devices hold: parts of the runs, which are the first axis or, in records, the second; or copies of all.
RUNS, ROUNDS, SHARED = PartitionSpec("block"), PartitionSpec(None, "block"), PartitionSpec()

KEPT = 16  # programs in memory, where each takes 26 to 46 MB; a process seldom comes back to an older one

TRACES: list[Spec] = []  # one entry each time a chunk is traced: tests count compilations with it


class Pool(NamedTuple):
    """The examples that all blocks share; empty in a selection-only run.

    Attributes:
        images: training images, then test images.
        labels: labels of the images.
    """

    images: Any = None
    labels: Any = None


class Block(NamedTuple):
    """One block of runs; leading axis runs on every leaf.

    Attributes:
        seeds: seeds of each run.
        params: dynamic half of each run's settings.
        num_samples: number of images of each client.
        positions: positions of each client's images in the pool, padded; None in a selection-only run.
        test_positions: positions of the test images, padded; None in a selection-only run.
        num_test: number of real test images; None in a selection-only run.
    """

    seeds: prng.Seeds
    params: RunParams
    num_samples: Int[Array, "runs clients"]
    positions: Any = None
    test_positions: Any = None
    num_test: Any = None


class Clock(NamedTuple):
    """The rounds of a chunk.

    Attributes:
        start: first round.
        stop: round after the last.
        horizon: T.
        eval_every: rounds from one evaluation of the model to the next.
    """

    start: Int[Array, ""]
    stop: Int[Array, ""]
    horizon: Int[Array, ""]
    eval_every: Int[Array, ""]


def clock(start: int, stop: int, horizon: int, eval_every: int) -> Clock:
    """Return a clock from host numbers, as NumPy's, which a call takes faster than arrays on a device."""
    return Clock(*(np.int32(x) for x in (start, stop, horizon, eval_every)))  # type: ignore[arg-type]


class Program(NamedTuple):
    """Functions of a spec, compiled on their first call; each device holds one block.

    Attributes:
        init: block -> state.
        shapes: block -> the state's shapes, without a compilation.
        chunk: (pool, block, state, clock) -> (state, records, qualities), the last two with axes chunk_rounds, runs.
        finish: (pool, block, state) -> quality of the final model on each client, (runs, K); None without training.
    """

    init: Callable[[Block], RunState]
    shapes: Callable[[Block], RunState]
    chunk: Callable[[Pool, Block, RunState, Clock], tuple[RunState, Record, Any]]
    finish: Callable[[Pool, Block, RunState], Any]


def due(t: Any, horizon: Any, eval_every: Any) -> Any:
    """Return whether the model is evaluated after round t: every `eval_every` rounds, and after the last."""
    return (t % eval_every == 0) | (t == horizon)


def _data(pool: Pool, block: Block, training: bool) -> Data | Array:
    if not training:
        return block.num_samples
    return Data(pool.images, pool.labels, block.positions, block.num_samples, block.test_positions, block.num_test)


def tested(spec: Spec, state: RunState) -> Any:
    """Return the weights that are tested: those of the last, the best or the mean model."""
    kept = {"last": state.weights, "best": state.best, "mean": state.mean}
    return kept["last" if spec.training is None else spec.training.final_model]


def products() -> str | None:
    """Return the precision of matrix products: that of jax's settings if they name one, else the highest.

    Some accelerators multiply float32 matrices with fewer bits by default. None on a CPU, which never does.
    """
    set_ = jax.config.values["jax_default_matmul_precision"]
    return set_ or (None if jax.default_backend() == "cpu" else "highest")


def _compiled(
    num_devices: int,
    f: Callable[..., Any],
    ins: Any,
    outs: Any,
    donate: tuple[int, ...] = (),
    wide_products: bool = False,
) -> Any:
    """Return a function that is compiled on its first call; each device does its part of the runs.

    `wide_products` is for `compiler.options`.
    """
    mesh = Mesh(np.array(jax.local_devices()[:num_devices]), ("block",))

    def precise(*args: Any) -> Any:
        with jax.default_matmul_precision(products()):
            return f(*args)

    mapped = jax.shard_map(precise, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False)
    return jax.jit(mapped, donate_argnums=donate, compiler_options=compiler.options(wide_products))


@functools.lru_cache(maxsize=KEPT)
def _first_weights(options: classifier.ModelOptions, inputs: classifier.Inputs, num_devices: int) -> Any:
    """Return the initial models: seeds -> weights. All schemes share the program, which takes XLA most of `init`."""
    model = classifier.make(options, inputs)

    def weights(seeds: prng.Seeds) -> Weights:
        # one after another: threefry under vmap takes XLA seconds to compile
        return lax.map(lambda key: model.init(prng.at(key, 0)), jax.vmap(prng.keys)(seeds).model)

    return _compiled(num_devices, weights, RUNS, RUNS)


@functools.lru_cache(maxsize=KEPT)
def program(spec: Spec, num_devices: int = 1) -> Program:
    """Return the program of a spec on the first devices."""
    parts, lane = build(spec), LANES[spec.lane]
    one_round = jax.jit(make_round(spec), inline=True)  # the chunk takes it twice: jit traces it once
    model, training, ends = parts.model, spec.training is not None, ending.of(parts.controller)
    wide_products = spec.training is not None and spec.training.model.wide_products

    def begin(block: Block, weights: Weights) -> RunState:
        keys = jax.vmap(prng.keys)(block.seeds)
        runs = (keys, block.params, weights, block.num_samples, block.positions)
        return lax.map(lambda run: make_init(spec)(*run), runs)

    first = _compiled(num_devices, begin, RUNS, RUNS)

    def init(do: Callable[..., Any], block: Block) -> RunState:
        weights = None
        if (t := spec.training) is not None:
            weights = do(_first_weights(t.model, t.inputs, num_devices), block.seeds)
        return do(first, block, weights)

    def chunk(pool: Pool, block: Block, state: RunState, clock: Clock) -> tuple[RunState, Record, Any]:
        TRACES.append(spec)
        keys, data = jax.vmap(prng.keys)(block.seeds), _data(pool, block, training)

        def held(state: RunState, t: Array) -> tuple[RunState, Record]:
            return one_round(keys, block.params, state, data, t, clock.horizon)

        def step(state: RunState, t: Array) -> tuple[RunState, Record]:
            """Do round t, unless every run of the block is over: then the state and the watched values stay."""

            def idle(state: RunState, t: Array) -> tuple[RunState, Record]:
                shapes = jax.eval_shape(held, state, t)[1]
                nothing: Record = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
                return state, nothing._replace(watched=jax.vmap(functools.partial(watched, parts))(state))

            return ends.unless_all_over(state.ended_round, held, idle, state, t)

        def quality(state: RunState) -> Quality | None:
            if model is None:
                return None
            assert isinstance(data, Data)
            return test_quality(lane, model, tested(spec, state), data, state.broken_round == 0)

        def empty(tree: Any) -> Any:
            return jax.tree.map(lambda x: jnp.zeros((spec.chunk_rounds, *x.shape), x.dtype), tree)

        def measured(state: RunState, t: Array, qualities: Any) -> Quality | None:
            """Return the quality after round t: the previous one, if every run was over when it was measured."""
            before = (t - 1) // clock.eval_every * clock.eval_every
            again = jax.tree.map(lambda x: x[jnp.maximum(before - clock.start, 0)], qualities)
            here = before >= clock.start
            return ends.unless_over_by(state.ended_round, before, lambda: quality(state), lambda: again, here)

        kept = (
            empty(jax.eval_shape(step, state, clock.start)[1]),
            empty(jax.eval_shape(quality, state)),
        )

        def body(t: Array, carry: tuple[RunState, Any]) -> tuple[RunState, Any]:
            state, (records, qualities) = carry
            state, record = step(state, t)

            def put(tree: Any, row: Any) -> Any:
                return jax.tree.map(lambda x, y: x.at[t - clock.start].set(y), tree, row)

            qualities = lax.cond(
                due(t, clock.horizon, clock.eval_every),
                lambda: put(qualities, measured(state, t, qualities)),
                lambda: qualities,
            )
            return state, (put(records, record), qualities)

        state, (records, qualities) = lax.fori_loop(clock.start, clock.stop, body, (state, kept))
        return state, records, qualities

    def finish(pool: Pool, block: Block, state: RunState) -> Any:
        if model is None:
            return None
        data = _data(pool, block, training)
        assert isinstance(data, Data) and state.broken_round is not None
        runs, clients = block.num_samples.shape
        everybody = Probe(jnp.ones((runs, clients), bool), jnp.full(runs, jnp.iinfo(jnp.int32).max, jnp.int32))
        keys = jax.vmap(prng.keys)(block.seeds).selector
        quality = client_quality(lane, model, tested(spec, state), data, everybody, keys)
        return finite(quality, state.broken_round[:, None] == 0)

    return Program(
        init=functools.partial(init, lambda f, *args: f(*args)),
        shapes=functools.partial(init, jax.eval_shape),
        chunk=_compiled(num_devices, chunk, (SHARED, RUNS, RUNS, SHARED), (RUNS, ROUNDS, ROUNDS), (2,), wide_products),
        finish=_compiled(num_devices, finish, (SHARED, RUNS, RUNS), RUNS, wide_products=wide_products),
    )
