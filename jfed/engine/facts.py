"""The facts that a selector wants of the clients that return (`Selector.wants`), computed after training.

Losses, accuracies and gradients are evaluated on all images of a client, a slice at a time; norms and sketches are
computed from the model updates. Nothing here changes the training.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Key, PRNGKeyArray

from jfed.algorithms.vectors import norm
from jfed.algorithms.whole import mean_over
from jfed.config import HOW_TO_TRAIN
from jfed.core import prng
from jfed.core.errors import require, unknown
from jfed.core.interfaces import Loss, Model, Selector
from jfed.core.learning import ClientData
from jfed.core.types import Facts, Weights
from jfed.engine.jobs import Data, Jobs
from jfed.engine.lanes import Lane

ON_IMAGES = ("loss_before", "loss_after", "loss_sq", "accuracy", "gradient_norm")  # means over a client's images


def check(selector: Selector, name: str, trains: bool) -> None:
    """Check that all facts that a selector wants exist, and that there are models if it probes clients for their loss.

    Raises:
        ConfigError: a fact is unknown, facts or probes need training, or a sketch has no dimensions.
    """
    for wanted in selector.wants:
        if wanted not in Facts._fields:
            raise unknown("fact in `wants`:", wanted, Facts._fields)
    require(
        trains or not selector.wants,
        f"{name} wants {', '.join(selector.wants)} of the clients' training, which a selection-only run does not have:"
        f" {HOW_TO_TRAIN}, or leave the scheme out.",
    )
    require(
        trains or selector.probe is None,
        f"{name} asks clients for their loss, which a selection-only run does not have: {HOW_TO_TRAIN}, or leave the"
        " scheme out.",
    )
    require(
        "sketch" not in selector.wants or selector.sketch_size >= 1,
        f"A sketch must have at least one dimension, found sketch_size = {selector.sketch_size}.",
    )


def facts(
    lane: Lane, model: Model, loss: Loss, selector: Selector, weights: Weights, data: Data, jobs: Jobs, moves: Weights,
    keys: Key[Array, " runs"],
) -> Facts:  # fmt: skip
    """Return the wanted facts, leading axis jobs; NaN where a client does not return, or a mean is over no images.

    Args:
        lane: layout of the evaluations.
        model: classifier.
        loss: loss that is trained.
        selector: selector that wants the facts.
        weights: received models, leading axis runs.
        data: data of the block.
        jobs: training jobs that were done, ordered by run, equally many for each.
        moves: model updates of the jobs, leading axis jobs.
        keys: keys of the projections, (runs,).
    """
    found: dict[str, Array] = {}
    wanted = tuple(name for name in selector.wants if name in ON_IMAGES)
    if wanted:

        def one(job: tuple[Any, Any, Any]) -> dict[str, Array]:
            run, client, move = job
            own, share = jax.tree.map(lambda x: x[run], weights), data.client(run, client)
            return on_images(model, loss, wanted, own, move, share, lane.images)

        answers = jobs.returns & (data.num_samples[jobs.run, jobs.client] > 0)
        found |= lane.each(one, (jobs.run, jobs.client, moves), answers, data.positions.shape[2])
    if "update_norm" in selector.wants:
        found["update_norm"] = jax.vmap(norm)(moves)
    if "sketch" in selector.wants:
        found["sketch"] = _sketches(lane, moves, keys, selector.sketch_size)
    return Facts(**{name: _of_returned(jobs.returns, value) for name, value in found.items()})


def on_images(
    model: Model, loss: Loss, wanted: tuple[str, ...], weights: Weights, move: Weights, data: ClientData, many: int
) -> dict[str, Float[Array, ""]]:
    """Return the wanted facts of `ON_IMAGES` for one client that has images, evaluated `many` at a time."""

    def received(images: Array, labels: Array, real: Bool[Array, " batch"]) -> dict[str, Array]:
        grades = model.grade(model.logits(weights, images), labels)
        each = {"loss_before": grades.loss, "loss_sq": grades.loss**2, "accuracy": grades.right}
        count = jnp.maximum(jnp.sum(real), 1)
        return {name: jnp.sum(jnp.where(real, x, 0.0)) / count for name, x in each.items() if name in wanted}

    found = {}
    if {"loss_before", "loss_sq", "accuracy"} & set(wanted):
        found |= mean_over(data, received, many)
    if "loss_before" in wanted:
        found["loss_before"] += model.penalty(weights)
    if "loss_after" in wanted:
        after = jax.tree.map(jnp.add, weights, move)
        found["loss_after"] = mean_over(data, lambda *batch: loss(after, *batch), many)
    if "gradient_norm" in wanted:
        gradient = mean_over(data, lambda *batch: jax.grad(loss)(weights, *batch), many)
        found["gradient_norm"] = norm(gradient)
    return found


def projection(key: PRNGKeyArray, size: int, dimensions: int) -> Float[Array, "size dimensions"]:
    """Return a matrix of independent random signs, scaled so that squared lengths are kept on average.

    Each sign is one bit of a random word.
    """
    words = prng.words(key, size * -(-dimensions // 32)).reshape(size, -1, 1)
    bits = (words >> jnp.arange(32, dtype=jnp.uint32)) & 1
    signs = 2.0 * bits.reshape(size, -1)[:, :dimensions].astype(jnp.result_type(float)) - 1
    return signs / jnp.sqrt(dimensions)


def _flat(leaf: Array) -> Float[Array, "jobs size"]:
    return leaf.reshape(leaf.shape[0], -1)


def _sketches(
    lane: Lane, moves: Weights, keys: Key[Array, " runs"], dimensions: int
) -> Float[Array, "jobs dimensions"]:
    """Return random projections of moves, summed over leaves; all clients of a run share the matrix of a leaf."""
    by_run = jax.tree.map(lambda x: x.reshape(keys.shape[0], -1, *x.shape[1:]), moves)

    def of_run(own: tuple[PRNGKeyArray, Weights]) -> Array:
        key, mine = own
        parts = [
            _flat(leaf) @ projection(jax.random.fold_in(key, i), leaf[0].size, dimensions)
            for i, leaf in enumerate(jax.tree.leaves(mine))
        ]
        return jnp.sum(jnp.stack(parts), 0)

    return lane.each(of_run, (keys, by_run), cost=lane.images).reshape(-1, dimensions)  # a matrix at a time


def _of_returned(returns: Bool[Array, " jobs"], value: Array) -> Array:
    return jnp.where(returns.reshape(-1, *[1] * (value.ndim - 1)), value, jnp.nan)
