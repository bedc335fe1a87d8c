"""Scores of a model: on a run's test images, and on each client's own images."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, Key

from jfed.core import ops
from jfed.core.interfaces import Grades, Model
from jfed.core.rarely import rarely
from jfed.core.types import Probe, Weights
from jfed.engine.jobs import Data
from jfed.engine.lanes import Lane


class Quality(NamedTuple):
    """Scores of a model.

    Attributes:
        loss: mean loss in the model's own unit (nats for cross-entropy).
        accuracy: share of right answers, in [0, 1].
    """

    loss: Float[Array, "..."]
    accuracy: Float[Array, "..."]


def _score(
    model: Model, weights: Weights, data: Data, positions: Int[Array, " images"], count: Int[Array, ""], many: int
) -> Quality:
    """Return the quality on the first `count` images, evaluated at most `many` at a time; NaN without images."""
    size = positions.shape[0]
    real = jnp.arange(size) < count
    batches = -(-size // many)
    width = -(-size // batches)
    pad = batches * width - size
    positions = jnp.pad(positions, (0, pad)).reshape(batches, width)
    real = jnp.pad(real, (0, pad)).reshape(batches, width)

    def one(batch: tuple[Array, Array]) -> Grades:
        """Return sums over the real images, so that the scores of batches add up."""
        chosen, mask = batch
        grades = model.grade(model.logits(weights, data.images[chosen]), data.labels[chosen])
        return jax.tree.map(lambda x: jnp.sum(jnp.where(mask, x, 0)), grades)

    total = jax.tree.map(lambda x: x.sum(0), lax.map(one, (positions, real)))
    return Quality(total.loss / count + model.penalty(weights), total.right / count)


def finite(quality: Quality, sound: Bool[Array, "..."]) -> Quality:
    """Return a quality with NaN where the model is not sound or the loss is not finite."""
    good = sound & jnp.isfinite(quality.loss)
    return jax.tree.map(lambda x: jnp.where(good, x, jnp.nan), quality)


def test_quality(lane: Lane, model: Model, weights: Weights, data: Data, sound: Bool[Array, " runs"]) -> Quality:
    """Return the quality of each run's model on its test images, (runs,); NaN for a broken model."""

    def one(args: tuple[Any, Array, Array]) -> Quality:
        own, positions, count = args
        return _score(model, own, data, positions, count, lane.images)

    runs = (weights, data.test_positions, data.num_test)
    return finite(lane.each(one, runs, cost=data.test_positions.shape[1]), sound)


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

    def one(job: tuple[Array, Array, Array]) -> Quality:
        run, client, key = job
        share = data.client(run, client)
        many = jnp.minimum(probe.num_images[run], share.num_samples)

        own = jax.random.fold_in(key, client)
        positions = rarely(
            many < share.num_samples, ops.shuffled, share.positions, own, share.positions, share.num_samples
        )
        quality = _score(model, jax.tree.map(lambda x: x[run], weights), data, positions, many, lane.images)
        broken = (many > 0) & ~jnp.isfinite(quality.loss)
        return quality._replace(loss=jnp.where(broken, jnp.inf, quality.loss))

    run, client = jnp.divmod(jnp.arange(runs * clients, dtype=jnp.int32), clients)
    jobs, asked = (run, client, keys[run]), probe.asked.reshape(-1)
    flat = lane.each(one, jobs, asked, data.positions.shape[2])
    return jax.tree.map(lambda x: x.reshape(runs, clients), flat)
