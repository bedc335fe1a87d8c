"""Made-up feedback of a federation for `schemes`: tables that both sides read, so that only the selector is measured.

Clients return with the probabilities of four classes. Losses, norms of updates and latencies are log-normal; clients
that return more often have smaller losses and norms, and latencies have five levels. Sketches lie around ten centres.
Needs NumPy alone.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RATES = (0.1, 0.3, 0.6, 0.9)
SIZES = (2.0, 1.5, 1.0, 0.7)  # medians of losses and norms, by class
SPEEDS = (1.0, 2.0, 4.0, 8.0, 16.0)  # medians of latencies
CENTRES = 10
FIGURES = ("selected", "returned", "images", "latency", "loss", "weight")


class Events(NamedTuple):
    """The events of all rounds of one run; None where they are not wanted.

    Attributes:
        num_samples: images of each client, (K,).
        available: the clients that may be selected, (T, K).
        succeeded: those that return if selected.
        latency_s: time that the server waits for a client.
        loss: loss of the received model.
        accuracy: its accuracy.
        norm: norm of the client's update.
        sketch: sketch of the update, (T, K, dimensions).
    """

    num_samples: NDArray[np.int32]
    available: NDArray[np.bool_]
    succeeded: NDArray[np.bool_]
    latency_s: NDArray[np.float32]
    loss: NDArray[np.float32]
    accuracy: NDArray[np.float32] | None
    norm: NDArray[np.float32] | None
    sketch: NDArray[np.float32] | None


def draw(seed: int, rounds: int, num_clients: int, wants: Collection[str], availability: float = 1.0) -> Events:
    """Return the events of one seed.

    Args:
        seed: any whole number; the clients' numbers of images are the same for all.
        rounds: T.
        num_clients: K.
        wants: those of accuracy, norm and sketch that are wanted, the last with its dimensions, as in sketch-32.
        availability: probability that a client is available.
    """
    rng, index, shape = np.random.default_rng(seed), np.arange(num_clients), (rounds, num_clients)
    kind, real = index % len(RATES), np.float32
    sizes = np.random.default_rng(0).lognormal(5.0, 0.5, num_clients)

    def around(medians: Sequence[float], of: NDArray[np.int_], sigma: float) -> NDArray[np.float32]:
        return np.asarray(medians, real)[of] * np.exp(real(sigma) * rng.standard_normal(shape, real))

    dimensions = [int(name.partition("-")[2]) for name in wants if name.startswith("sketch")]
    return Events(
        num_samples=np.maximum(sizes, 8).astype(np.int32),
        available=rng.random(shape) < availability if availability < 1 else np.ones(shape, bool),
        succeeded=rng.random(shape) < np.asarray(RATES)[kind],
        latency_s=around(SPEEDS, index // len(RATES) % len(SPEEDS), 0.3),
        loss=around(SIZES, kind, 0.5),
        accuracy=(0.3 + 0.15 * kind + 0.1 * rng.random(shape)).astype(real) if "accuracy" in wants else None,
        norm=around(SIZES, kind, 0.5) if "norm" in wants else None,
        sketch=_sketches(rng, shape, dimensions[0]) if dimensions else None,
    )


def _sketches(rng: np.random.Generator, shape: tuple[int, int], dimensions: int) -> NDArray[np.float32]:
    centres = rng.standard_normal((CENTRES, dimensions), np.float32)
    noise = np.float32(0.7) * rng.standard_normal((*shape, dimensions), np.float32)
    return (centres[np.arange(shape[1]) % CENTRES] + noise).astype(np.float32)


def figures(selected: NDArray[np.bool_], weight: Any, events: Events) -> dict[str, float]:
    """Return means over the rounds of what both sides must agree on.

    Args:
        selected: cohorts, (T, ..., K), as the events' other arrays.
        weight: sum over each cohort of p_i times importance; 0 for schemes without importance.
        events: of the same rounds.
    """
    parts = {
        "selected": selected,
        "returned": selected & events.succeeded,
        "images": selected * events.num_samples,
        "latency": selected * events.latency_s,
        "loss": selected * events.loss,
    }
    return {name: float(part.sum(-1).mean()) for name, part in parts.items()} | {"weight": float(np.mean(weight))}
