"""Selection by losses in plain Python: active federated learning (Goetz et al. 2019), and chances by losses.

Random draws are given: `tie` (K,) orders equals, `race` (K,) are Exp(1) variables, of which client i arrives at
race_i / weight_i, and `points` are uniform numbers, one for each draw.

Own readings where clients are away (`here`, K): active federated learning ranks those that are there, and its shares
are of their number. A valuation that is not known (None) is above all others in rank, and equal to the largest in
chance. A loss that is not finite counts as the largest finite one.
"""

import math
from collections.abc import Sequence
from typing import Any


def whole(x: float) -> int:
    """Return the whole part of a number; a rounding error below it does not count."""
    return math.floor(x + 1e-9)


def valuation(loss: float, images: int, before: float | None) -> float | None:
    """Return the valuation after a return: sqrt(n) times the mean loss; the one before if the loss is not finite."""
    if images == 0:
        return 0.0
    return math.sqrt(images) * loss if math.isfinite(loss) else before


def active(
    v: Sequence[float | None], here: Any, k: int, shares: tuple[float, float, float], tie: Any, races: tuple[Any, Any]
) -> tuple[set[int], set[int]]:
    """Return the clients of the first draw, by valuation, and those of the second, uniform one.

    Args:
        v: valuations.
        here: the available clients.
        k: cohort size.
        shares: alpha_1 (disqualified), alpha_2 (temperature), alpha_3 (uniform).
        tie, races: random numbers; one race for each draw.
    """
    alpha_1, alpha_2, alpha_3 = shares
    there = [i for i in range(len(v)) if here[i]]
    values = {i: math.inf if v[i] is None else float(v[i]) for i in there}  # type: ignore[arg-type]
    ranking = sorted(there, key=lambda i: (values[i], tie[i]))
    qualified = ranking[whole(alpha_1 * len(there)) :]
    largest = max([x for x in values.values() if math.isfinite(x)], default=0.0)
    weight = {i: math.exp(alpha_2 * (min(values[i], largest) - largest)) for i in qualified}
    first = sorted(qualified, key=lambda i: races[0][i] / weight[i])[: whole((1 - alpha_3) * k)]
    rest = sorted((i for i in there if i not in first), key=lambda i: races[1][i])[: max(k - len(first), 0)]
    return set(first), set(rest)


def loss_chances(losses: Sequence[float], images: Any, here: Any, uniform: float) -> list[float]:
    """Return q_i ~ n_i F_i among available clients with images, mixed with equal chances; all 0 if there are none."""
    among = [i for i in range(len(losses)) if here[i] and images[i] > 0]
    largest = max((losses[i] for i in among if math.isfinite(losses[i])), default=1.0)
    part = {i: float(images[i]) * (losses[i] if math.isfinite(losses[i]) else largest) for i in among}
    total, q = sum(part.values()), [0.0] * len(losses)
    for i in among:
        even = 1 / len(among)
        q[i] = even if total == 0 else (1 - uniform) * part[i] / total + uniform * even
    return q


def draw_one_by_one(q: Sequence[float], here: Any, k: int, race: Any) -> set[int]:
    """Return k different available clients, drawn with chances q among those left; clients of chance 0 come last."""
    there = [i for i in range(len(q)) if here[i]]
    arrival = {i: (q[i] == 0, race[i] / q[i] if q[i] > 0 else race[i]) for i in there}
    return set(sorted(there, key=lambda i: arrival[i])[:k])


def draw_with_replacement(q: Sequence[float], points: Any, k: int) -> list[int]:
    """Return how often each client is drawn: draw j takes the client on whose part of [0, sum q) its point lies."""
    times, total = [0] * len(q), sum(q)
    for j in range(k if total > 0 else 0):
        end = 0.0
        for i, chance in enumerate(q):
            end += chance
            if points[j] * total < end:
                times[i] += 1
                break
    return times
