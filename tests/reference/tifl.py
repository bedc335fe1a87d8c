"""TiFL's tiers and their selection (Chai et al., HPDC 2020), in plain Python, client by client.

Random draws are given: `tie` (K,) orders equals, `equal` (K,) orders clients of equal latency when tiers are formed,
and `race` (n,) are Exp(1) variables, of which tier t arrives at race_t / chance_t.

Own readings: the first rounds are the profile and select those measured least; only tiers with an available client are
drawn; a tier of fewer than k available clients is filled up with faster tiers, the next first, then with slower ones.
"""

import math
from dataclasses import dataclass, field
from typing import Any


def form_tiers(latency: dict[int, float], num_clients: int, n: int, equal: Any) -> list[int]:
    """Return the tier of each client, by mean latency; clients without one are the slowest."""
    order = sorted(range(num_clients), key=lambda i: (latency.get(i, math.inf), equal[i]))
    tier = [0] * num_clients
    for place, i in enumerate(order):
        tier[i] = place * n // num_clients
    return tier


def change_probabilities(accuracy: list[float], credits_: list[int]) -> list[float]:
    """Return the probabilities of tiers: 2 (m - i) / m (m + 1) for the i-th of m with credits, by rising accuracy."""
    ranking = sorted((t for t in range(len(accuracy)) if credits_[t] > 0), key=lambda t: (accuracy[t], t))
    m, found = len(ranking), [0.0] * len(accuracy)
    for i, t in enumerate(ranking):
        found[t] = (m - i) / (m * (m + 1) / 2)
    return found


@dataclass
class Tifl:
    """The state of the selector, and its settings.

    Attributes:
        num_clients, k, n: clients, clients of a round, tiers.
        interval, credit: I, credits of each tier.
        measurements, profile_rounds: what ends the profile: measurements of each client, or rounds.
        adaptive: whether probabilities change.
    """

    num_clients: int
    k: int
    n: int
    interval: int
    credit: int
    measurements: int
    profile_rounds: int
    adaptive: bool = True
    waits: dict[int, list[float]] = field(default_factory=dict)
    tier: list[int] = field(default_factory=list)
    accuracy: dict[int, float] = field(default_factory=dict)
    before: list[float | None] = field(default_factory=list)
    drawn: int | None = None

    def __post_init__(self) -> None:
        """Set what each tier has before the first round."""
        self.credits, self.chance = [self.credit] * self.n, [1 / self.n] * self.n
        self.before = [None] * self.n

    def profiled(self, t: int) -> bool:
        """Return whether the profile has ended before round t."""
        enough = all(len(self.waits.get(i, [])) >= self.measurements for i in range(self.num_clients))
        return enough or t > self.profile_rounds

    def tier_accuracy(self, images: Any) -> list[float | None]:
        """Return the accuracy on each tier, over the images of those of its clients whose accuracy is known."""
        found: list[float | None] = []
        for t in range(self.n):
            own = [i for i in self.accuracy if self.tier[i] == t and images[i] > 0]
            many = sum(int(images[i]) for i in own)
            found.append(sum(float(images[i]) * self.accuracy[i] for i in own) / many if many else None)
        return found

    def adapt(self, t: int, images: Any) -> None:
        """Change the probabilities in every I-th round if the accuracy on the tier drawn last has not risen."""
        if not self.adaptive or t % self.interval != 0:
            return
        now = self.tier_accuracy(images)
        if self.drawn is not None:
            mine, past = now[self.drawn], self.before[self.drawn]
            if mine is not None and past is not None and mine <= past:
                self.chance = change_probabilities([a or 0.0 for a in now], self.credits)
        self.before = now

    def select(self, t: int, here: Any, images: Any, race: Any, tie: Any, equal: Any, polled: Any = None) -> set[int]:
        """Return the clients of round t; `polled` (K,) are the accuracies that clients told, NaN if they did not."""
        there = [i for i in range(self.num_clients) if here[i]]
        if polled is not None:
            self.accuracy |= {i: float(a) for i, a in enumerate(polled) if not math.isnan(a)}
        if not self.profiled(t):
            return set(sorted(there, key=lambda i: (len(self.waits.get(i, [])), tie[i]))[: self.k])
        if not self.tier:
            mean = {i: sum(x) / len(x) for i, x in self.waits.items()}
            self.tier = form_tiers(mean, self.num_clients, self.n, equal)
        self.adapt(t, images)
        if not there:
            return set()
        met = {self.tier[i] for i in there}
        open_ = {u: self.chance[u] for u in met if self.credits[u] > 0} or dict.fromkeys(met, 1.0)
        self.drawn = one = min(open_, key=lambda u: race[u] / open_[u])
        self.credits[one] = max(self.credits[one] - 1, 0)

        def far(i: int) -> tuple[Any, ...]:
            mine = self.tier[i]
            return (mine > one, abs(one - mine), tie[i])

        return set(sorted(there, key=far)[: self.k])

    def update(self, chosen: set[int], came: Any, waited: Any, told: Any = None) -> None:
        """Take in a round: who came (K,), the time waited (K,), and the accuracies that those told, if they do."""
        for i in chosen:
            self.waits.setdefault(i, []).append(float(waited[i]))
            if told is not None and came[i] and not math.isnan(told[i]):
                self.accuracy[i] = float(told[i])
