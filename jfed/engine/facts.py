"""Facts that a selector wants of the clients who return (`Selector.wants`): computed after training, and only these.

Losses and gradients are evaluated on all the images of a client, a slice at a time; norms and sketches are of what the
lane brings back. Nothing here changes what is trained.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Key, PRNGKeyArray

from jfed.algorithms.vectors import norm
from jfed.algorithms.whole import mean_over
from jfed.core import prng
from jfed.core.errors import require, unknown
from jfed.core.interfaces import Loss, Model, Selector
from jfed.core.learning import ClientData
from jfed.core.types import Facts, Weights
from jfed.engine.evaluate import BATCH
from jfed.engine.lanes import Data, Jobs, Lane

ON_IMAGES = ("loss_before", "loss_after", "loss_sq", "accuracy", "gradient_norm")  # means over a client's images


def check(selector: Selector, name: str, trains: bool) -> None:
    """Refuse a selector that wants what there is not, in one sentence.

    Raises:
        ConfigError: an unknown fact, one that only training has, or a sketch without dimensions.
    """
    for wanted in selector.wants:
        if wanted not in Facts._fields:
            raise unknown("fact in `wants`:", wanted, Facts._fields)
    require(
        trains or not selector.wants,
        f"{name} wants {', '.join(selector.wants)} of the clients' training, which a selection-only run does not have:"
        " add training, or leave the scheme out.",
    )
    require(
        "sketch" not in selector.wants or selector.sketch_size >= 1,
        f"A sketch has at least one dimension, found sketch_size = {selector.sketch_size}.",
    )


def facts(
    lane: Lane, model: Model, loss: Loss, selector: Selector, weights: Weights, data: Data, jobs: Jobs, moves: Weights,
    keys: Key[Array, " runs"],
) -> Facts:  # fmt: skip
    """Return what the selector wants, (jobs,) each; NaN where a client does not return or a mean has no images.

    Args:
        lane: layout.
        model, loss: what is trained.
        selector: for what it wants.
        weights: received models, leading axis runs.
        data: of the block.
        jobs: the training that was done, run by run, as many for each.
        moves: what it changed, leading axis jobs.
        keys: of the projections, (runs,).
    """
    found: dict[str, Array] = {}
    wanted = tuple(name for name in selector.wants if name in ON_IMAGES)
    if wanted:

        def one(job: tuple[Any, Any, Any, Any]) -> dict[str, Array]:
            run, client, returns, move = job
            own, share = jax.tree.map(lambda x: x[run], weights), data.client(run, client)
            nothing = {name: jnp.full((), jnp.nan, jnp.result_type(float)) for name in wanted}
            answers = returns & (share.num_samples > 0)
            return lax.cond(answers, lambda: on_images(model, loss, wanted, own, move, share), lambda: nothing)

        found |= lane.each(one, (jobs.run, jobs.client, jobs.returns, moves))
    if "update_norm" in selector.wants:
        found["update_norm"] = jax.vmap(norm)(moves)
    if "sketch" in selector.wants:
        found["sketch"] = _sketches(lane, moves, keys, selector.sketch_size)
    return Facts(**{name: _of_returned(jobs.returns, value) for name, value in found.items()})


def on_images(
    model: Model, loss: Loss, wanted: tuple[str, ...], weights: Weights, move: Weights, data: ClientData
) -> dict[str, Float[Array, ""]]:
    """Return those of `ON_IMAGES` that are wanted, of one client that has images."""

    def received(images: Array, labels: Array, real: Bool[Array, " batch"]) -> dict[str, Array]:
        grades = model.grade(model.logits(weights, images), labels)
        each = {"loss_before": grades.loss, "loss_sq": grades.loss**2, "accuracy": grades.right}
        count = jnp.maximum(jnp.sum(real), 1)
        return {name: jnp.sum(jnp.where(real, x, 0.0)) / count for name, x in each.items() if name in wanted}

    found = {}
    if {"loss_before", "loss_sq", "accuracy"} & set(wanted):
        found |= mean_over(data, received, BATCH)
    if "loss_before" in wanted:
        found["loss_before"] += model.penalty(weights)
    if "loss_after" in wanted:
        after = jax.tree.map(jnp.add, weights, move)
        found["loss_after"] = mean_over(data, lambda *batch: loss(after, *batch), BATCH)
    if "gradient_norm" in wanted:
        gradient = mean_over(data, lambda *batch: jax.grad(loss)(weights, *batch), BATCH)
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
    """Return the projections of moves: leaf by leaf, with a matrix for each leaf that all clients of a run share."""
    by_run = jax.tree.map(lambda x: x.reshape(keys.shape[0], -1, *x.shape[1:]), moves)

    def of_run(own: tuple[PRNGKeyArray, Weights]) -> Array:
        key, mine = own
        parts = [
            _flat(leaf) @ projection(jax.random.fold_in(key, i), leaf[0].size, dimensions)
            for i, leaf in enumerate(jax.tree.leaves(mine))
        ]
        return jnp.sum(jnp.stack(parts), 0)

    return lane.each(of_run, (keys, by_run)).reshape(-1, dimensions)


def _of_returned(returns: Bool[Array, " jobs"], value: Array) -> Array:
    return jnp.where(returns.reshape(-1, *[1] * (value.ndim - 1)), value, jnp.nan)
