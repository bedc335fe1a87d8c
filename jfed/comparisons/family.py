"""The correction of a family of comparisons: at one number of seeds, at planned looks, or at any time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from jfed.comparisons.comparison import Correction, Test
from jfed.comparisons.pairs import Pair
from jfed.stats.equivalence import within
from jfed.stats.intervals import CORRECTIONS
from jfed.stats.looks import decide
from jfed.stats.paired import NAN
from jfed.stats.spending import Spending, levels


@dataclass(frozen=True)
class Rule:
    """Rule by which the p-values of a family are corrected, all of it fixed before the scores are seen.

    Attributes:
        correction: correction for multiple comparisons.
        alpha: familywise error rate, or false discovery rate.
        looks: planned numbers of seeds, the last being the end of the study; none for a comparison that is made once.
        spending: how alpha is spread over the looks.
        anytime: whether p-values hold at any number of seeds.
        margin: smallest difference that matters, in the metric's unit; None if none was stated.
        higher_is_better: whether a larger score is better.
    """

    correction: Correction
    alpha: float
    looks: tuple[int, ...]
    spending: Spending
    anytime: bool
    margin: float | None
    higher_is_better: bool

    def factor(self, num_comparisons: int) -> int:
        """Return the least factor by which the smallest of the p-values is multiplied.

        If all p-values are equal, Benjamini and Hochberg's procedure leaves them; Holm's multiplies them by m.
        """
        return num_comparisons if self.correction == "holm" else 1

    def adjust(self, p_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Correct p-values of each comparison at each look so far, (m, K).

        Returns:
            corrected p-values, (m,), and the number of the look that rejected, from 0, or -1, (m,).
        """
        if not self.looks:
            return CORRECTIONS[self.correction](p_values[:, 0]), np.full(len(p_values), -1)
        reached = self.looks[: p_values.shape[1]]
        found = decide(p_values, reached, self.looks[-1], self.alpha, self.spending)
        at = [-1 if one.rejected_at is None else reached.index(one.rejected_at) for one in found]
        return np.array([one.p for one in found]), np.array(at)

    def level(self, num_comparisons: int, num_shown: int, num_looks: int) -> float:
        """Return the confidence level of an interval of the family after so many looks (`jfed.stats.intervals`)."""
        if self.looks:
            seeds, alpha = self.looks[: max(num_looks, 1)], self.alpha / num_comparisons
            return 1 - levels(seeds, self.looks[-1], alpha, self.spending)[-1]
        shown = max(1, num_shown) if self.correction == "bh" else 1
        return 1 - self.alpha * shown / num_comparisons

    def next_level(self, num_comparisons: int, num_others: int) -> float:
        """Return the level at which one more comparison is tested if `num_others` of the others are rejected.

        Holm tests the smallest p-value that is left at alpha over the number left; Benjamini and Hochberg's procedure
        tests it at the share of alpha that all rejections together have.
        """
        if self.correction == "bh":
            return self.alpha * (num_others + 1) / num_comparisons
        return self.alpha / (num_comparisons - num_others)


@dataclass(frozen=True)
class Corrected:
    """All p-values of a family of m comparisons, each array of shape (m,).

    Attributes:
        raw: by test, uncorrected, NaN where a test cannot reach the level with so few runs.
        adjusted: by test, corrected.
        decides: corrected p-value of the deciding test.
        at: number of the look that rejected, from 0; -1 if none did, or there are no looks.
        worst: the same with failed and missing runs as the worst, by ranks.
        best: the same with missing runs as the best.
        equal: corrected p-value of "they differ by the margin or more".
        not_worse: corrected p-value of "the scheme is worse by the margin or more".
    """

    raw: dict[Test, np.ndarray]
    adjusted: dict[Test, np.ndarray]
    decides: np.ndarray
    at: np.ndarray
    worst: np.ndarray
    best: np.ndarray
    equal: np.ndarray
    not_worse: np.ndarray


def corrected(comparisons: Sequence[Sequence[Pair]], rule: Rule) -> Corrected:
    """Correct all p-values of a family.

    Args:
        comparisons: each comparison at the looks that it has reached, or once.
        rule: the correction.
    """
    most, last = max(map(len, comparisons)), [pairs[-1] for pairs in comparisons]
    m, factor = len(comparisons), rule.factor(len(comparisons))
    by_look = {name: np.full((m, most), NAN) for name in (*get_args(Test), "decides", "worst", "best")}
    for i, pairs in enumerate(comparisons):
        for k, pair in enumerate(pairs):
            able = _able(pair, factor, rule.alpha)
            for name, p in able.items():
                by_look[name][i, k] = p
            own = able[pair.decided_by]
            by_look["decides"][i, k] = own
            for side, bound in (("worst", pair.worst), ("best", pair.best)):
                by_look[side][i, k] = own if bound is None else bound.p
    found = {name: rule.adjust(p) for name, p in by_look.items()}
    adjusted, at = {name: p for name, (p, _) in found.items()}, found["decides"][1]
    ends = [len(pairs) - 1 for pairs in comparisons]
    raw = {name: by_look[name][np.arange(m), ends] for name in get_args(Test)}
    return Corrected(
        raw, {name: adjusted[name] for name in get_args(Test)}, adjusted["decides"], at, adjusted["worst"],
        adjusted["best"], *_margins(last, rule, not rule.looks or most == len(rule.looks)),
    )  # fmt: skip


def _able(pair: Pair, factor: int, alpha: float) -> dict[Test, float]:
    """Return raw p-values, NaN for a rank or sign test that cannot reach the level with so few runs."""
    numbers = pair.numbers
    able = numbers.identical or factor * pair.least_p < alpha
    ranks, flips = (numbers.p_wilcoxon, numbers.p_sign_flip) if able else (NAN, NAN)
    return {"t": numbers.p_t, "wilcoxon": ranks, "sign-flip": flips}


def _margins(pairs: list[Pair], rule: Rule, is_last: bool) -> tuple[np.ndarray, np.ndarray]:
    if rule.margin is None or not is_last:
        return np.full(len(pairs), NAN), np.full(len(pairs), NAN)
    found = [within(pair.numbers.difference, pair.se, pair.numbers.df, rule.margin) for pair in pairs]
    below, above = np.array(found).T  # p-values of a difference of -margin or less, and of margin or more
    adjust = CORRECTIONS[rule.correction]
    return adjust(np.maximum(below, above)), adjust(below if rule.higher_is_better else above)
