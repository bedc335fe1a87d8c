"""Oort's selection of participants (Lai et al., OSDI 2021), in plain Python, client by client.

Written from the paper and from what its public code is known to do, as `Oort.code`; `Oort.paper` has the paper's
settings. Random draws are given: `tie` (K,) orders equals, and `race` (K,) are Exp(1) variables, of which client i
arrives at race_i / weight_i. Clients of weight 0 arrive last, in the order of their race.

Own readings: a client that was never selected has no duration; a client without images has utility 0; a loss that is
not finite leaves the utility as it was; where nothing else is left, banned clients fill the cohort, by `tie`.
"""

import math
from dataclasses import dataclass, field
from typing import Any


def whole(x: float) -> int:
    """Return the whole part of a number; a rounding error below it does not count."""
    return math.floor(x + 1e-9)


def earliest(weights: dict[int, float], race: Any, many: int) -> list[int]:
    """Return the clients that arrive first."""
    arrivals = {i: (w == 0, race[i] / w if w > 0 else race[i]) for i, w in weights.items()}
    return sorted(arrivals, key=lambda i: arrivals[i])[:many]


@dataclass
class Oort:
    """The state of the selector, and its settings.

    Attributes:
        num_clients, k: numbers of clients, in all and in a round.
        cut_off, clip, alpha, window: factor of the cut-off utility, quantile of clipping, straggler penalty, multiple.
        epsilon, decay, floor: share of exploration, its factor in each round, its lower bound.
        percentile, points, rounds: percentile of the preferred duration, steps of the pacer, its window W.
        banned_after, banned_share: returns before the blacklist (None: never), largest share of clients on it.
        by_paper: the paper's pacer and a scale among explored clients, instead of the code's.
    """

    num_clients: int
    k: int
    cut_off: float = 0.7
    clip: float = 0.95
    alpha: float = 2.0
    window: float = 5.0
    epsilon: float = 0.9
    decay: float = 0.98
    floor: float = 0.2
    percentile: float = 101.0
    points: float = 10.0
    rounds: int = 20
    banned_after: int | None = None
    banned_share: float = 0.3
    by_paper: bool = False
    utility: dict[int, float] = field(default_factory=dict)
    duration: dict[int, float] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    returns: dict[int, int] = field(default_factory=dict)
    history: list[float] = field(default_factory=lambda: [0.0])
    exploited: list[int] = field(default_factory=list)

    def pace(self, t: int) -> None:
        """Move the percentile of the preferred duration at the end of a window."""
        w = self.rounds
        if t < 2 * w or t % w != 0:
            return
        before, now = sum(self.history[-2 * w : -w]), sum(self.history[-w:])
        if self.by_paper:
            if now < before:
                self.percentile = min(100.0, self.percentile + self.points)
        elif abs(now - before) <= 0.1 * before:
            self.percentile = min(100.0, self.percentile + self.points)
        elif abs(now - before) >= 5 * before:
            self.percentile = max(self.points, self.percentile - self.points)

    def preferred(self) -> float:
        """Return T."""
        known = sorted(self.duration.values())
        if self.percentile >= 100 or not known:
            return math.inf
        return known[min(whole(len(known) * self.percentile / 100), len(known) - 1)]

    def slowness(self, i: int, limit: float) -> float:
        """Return (T / t_i)^alpha for a slow client, else 1."""
        if i in self.duration and self.duration[i] > limit:
            return (limit / self.duration[i]) ** self.alpha
        return 1.0

    def blacklist(self, tie: Any) -> set[int]:
        """Return the clients that are left out: those that returned most often, if too often."""
        if self.banned_after is None:
            return set()
        over = [i for i, many in self.returns.items() if many > self.banned_after]
        over.sort(key=lambda i: (-self.returns[i], tie[i]))
        return set(over[: whole(self.banned_share * self.num_clients)])

    def scores(self, t: int, among: list[int], images: Any, limit: float) -> dict[int, float]:
        """Return the utility Util(i) of the explored clients of `among`."""
        played = [i for i in among if i in self.returns]
        ranked = [self.utility[i] for i in played]
        if not self.by_paper:
            ranked += [float(images[i]) for i in among if i not in self.returns]
        ranked = sorted(u for u in ranked if u > 0)
        low = high = clip = 0.0
        if ranked:
            low, high = 0.999 * ranked[0], ranked[-1]
            clip = ranked[min(whole(len(ranked) * self.clip), len(ranked) - 1)]
        found = {}
        for i in played:
            score = (min(self.utility[i], clip) - low) / max(high - low, 1e-4)
            score += math.sqrt(0.1 * math.log(t) / self.last[i])
            found[i] = max(score, 0.0) * self.slowness(i, limit)
        return found

    def select(self, t: int, here: Any, images: Any, tie: Any, races: tuple[Any, Any]) -> set[int]:
        """Return the clients of round t, of those that are `here` (K,); races: of exploitation and of exploration."""
        self.pace(t)
        limit, banned = self.preferred(), self.blacklist(tie)
        everybody = [i for i in range(self.num_clients) if here[i]]
        open_ = [i for i in everybody if i not in banned]
        score = self.scores(t, open_, images, limit)
        self.epsilon = max(self.epsilon * self.decay, self.floor)

        many = min(whole(self.k * (1 - self.epsilon)), len(score))
        falling = sorted(score.values(), reverse=True)
        end = falling[min(many, len(falling) - 1)] if falling else 0.0
        self.exploited = earliest({i: s for i, s in score.items() if s >= self.cut_off * end}, races[0], many)

        prior = {i: images[i] * self.slowness(i, limit) for i in open_ if i not in self.returns}
        left = min(len(prior), self.k - len(self.exploited))
        large = sorted(prior, key=lambda i: (-prior[i], tie[i]))[: whole(self.window * left)]
        chosen = self.exploited + earliest({i: prior[i] for i in large}, races[1], left)
        if len(self.returns) == self.num_clients:
            self.epsilon = self.floor = 0.0

        others = sorted((i for i in everybody if i not in chosen), key=lambda i: (i in banned, tie[i]))
        return {*chosen, *others[: self.k - len(chosen)]}

    def update(self, t: int, chosen: set[int], came: Any, waited: Any, squares: Any, images: Any) -> None:
        """Take in a round: who came (K,), the time waited (K,) and the mean squared losses (K,)."""
        for i in chosen:
            self.duration[i] = float(waited[i])
        for i in (i for i in chosen if came[i]):
            new = images[i] * math.sqrt(squares[i]) if images[i] > 0 else 0.0
            self.utility[i] = new if math.isfinite(new) else self.utility.get(i, float(images[i]))
            self.last[i] = t
            self.returns[i] = self.returns.get(i, 0) + 1
        counted = [self.utility[i] for i in self.exploited if came[i]]
        self.history.append(sum(counted) / (len(counted) + 1e-4))
