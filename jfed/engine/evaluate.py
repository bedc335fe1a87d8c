"""Scores of a model: on a run's test images, and on each client's own images."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, Key

from jfed.core import ops
from jfed.core.interfaces import Grades, Model
from jfed.core.types import Probe, Weights
from jfed.engine.lanes import Data, Lane

BATCH = 64  # images evaluated at once: the patches that convolutions unfold stay in a core's cache


class Quality(NamedTuple):
    """Scores of a model.

    Attributes:
        loss: mean loss in the model's own unit (nats for cross-entropy).
        accuracy: share of right answers, in [0, 1].
    """

    loss: Float[Array, "..."]
    accuracy: Float[Array, "..."]


def _score(
    model: Model, weights: Weights, data: Data, positions: Int[Array, " images"], real: Bool[Array, " images"]
) -> Grades:
    """Return sums over the real images, so that the scores of batches add up."""
    size = positions.shape[0]
    batches = -(-size // BATCH)
    width = -(-size // batches)
    pad = batches * width - size
    positions = jnp.pad(positions, (0, pad)).reshape(batches, width)
    real = jnp.pad(real, (0, pad)).reshape(batches, width)

    def one(batch: tuple[Array, Array]) -> Grades:
        chosen, mask = batch
        grades = model.grade(model.logits(weights, data.images[chosen]), data.labels[chosen])
        return jax.tree.map(lambda x: jnp.sum(jnp.where(mask, x, 0)), grades)

    return jax.tree.map(lambda x: x.sum(0), lax.map(one, (positions, real)))


def _quality(model: Model, weights: Weights, total: Grades, count: Int[Array, ""]) -> Quality:
    return Quality(total.loss / count + model.penalty(weights), total.right / count)  # NaN without images


def finite(quality: Quality, sound: Bool[Array, "..."]) -> Quality:
    """Return a quality with NaN where the model is not sound or the loss is not finite."""
    good = sound & jnp.isfinite(quality.loss)
    return jax.tree.map(lambda x: jnp.where(good, x, jnp.nan), quality)


def test_quality(lane: Lane, model: Model, weights: Weights, data: Data, sound: Bool[Array, " runs"]) -> Quality:
    """Return the quality of each run's model on its test images, (runs,); NaN for a broken model."""

    def one(args: tuple[Any, Array, Array]) -> Quality:
        own, positions, count = args
        total = _score(model, own, data, positions, jnp.arange(positions.shape[0]) < count)
        return _quality(model, own, total, count)

    return finite(lane.each(one, (weights, data.test_positions, data.num_test)), sound)


def client_quality(
    lane: Lane, model: Model, weights: Weights, data: Data, probe: Probe, keys: Key[Array, " runs"]
) -> Quality:
    """Return the quality of each run's model on the images of the clients that are asked.

    Args:
        lane: layout of the evaluations.
        model: classifier.
        weights: global models, leading axis runs.
        data: data of the block.
        probe: the clients that are asked and the number of images to answer on, leading axis runs.
        keys: (runs,), to draw the images of a client that answers on a part of them.

    Returns:
        (runs, clients) values; NaN where a client was not asked or has no images. A loss that is not finite is inf.
    """
    runs, clients = data.num_samples.shape

    def one(job: tuple[Array, Array, Array, Array]) -> Quality:
        run, client, asked, key = job
        share = data.client(run, client)
        many = jnp.minimum(probe.num_images[run], share.num_samples)

        def shuffled() -> Array:
            return ops.shuffled(jax.random.fold_in(key, client), share.positions, share.num_samples)

        def answer() -> Quality:
            own = jax.tree.map(lambda x: x[run], weights)
            positions = lax.cond(many < share.num_samples, shuffled, lambda: share.positions)
            total = _score(model, own, data, positions, jnp.arange(positions.shape[0]) < many)
            quality = _quality(model, own, total, many)
            broken = (many > 0) & ~jnp.isfinite(quality.loss)
            return quality._replace(loss=jnp.where(broken, jnp.inf, quality.loss))

        def silence() -> Quality:
            nan = jnp.full((), jnp.nan, jnp.result_type(float))
            return Quality(nan, nan)

        return lax.cond(asked, answer, silence)

    run, client = jnp.divmod(jnp.arange(runs * clients, dtype=jnp.int32), clients)
    flat = lane.each(one, (run, client, probe.asked.reshape(-1), keys[run]))
    return jax.tree.map(lambda x: x.reshape(runs, clients), flat)
