"""Choices that a significance table is made by, all of which are to be fixed before results are looked at."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from jfed.core.errors import require

METRIC = "num_succeeded"  # of results, if none is named
LEAST_ALPHA = 1e-12  # p-values are no more precise than that


@dataclass(frozen=True)
class Choices:
    """Choices of a comparison of schemes.

    Attributes:
        metric: for results, a score summed over rounds or taken after the last one (test_accuracy, test_loss), by
            default num_succeeded; for a CSV, a column. The first of several is the primary metric, the others are
            secondary.
        baseline: scheme that all others are compared with; all compares all pairs. By default that of a plan
            of looks, or uniform where there is such a scheme, otherwise all pairs.
        better: whether a higher or a lower score is better, for metrics whose names do not say.
        test: test that decides, by default the t-test.
        correction: holm for headlines, bh (false discovery rate) for exploration.
        alpha: level of the tests.
        family: table: each table's comparisons are corrected by themselves; sweep: those of all tables together.
        paired: False treats all runs as independent; by default so only if no two schemes share a seed.
        failed: what becomes of comparisons with failed or missing runs. worst: the verdict must also hold with failed
            runs as the worst of all; drop: the other seeds decide; refuse: there is no verdict.
        margin: smallest difference that matters, in the metric's unit: splits "not shown" into equal within the margin,
            not worse, and open.
        looks: planned numbers of seeds, such as 10 20 30 50, at which schemes are compared; the last ends the study.
        spending: how the level is spread over the looks: nearly all at the end, or evenly (pocock).
        anytime: p-values and intervals that hold at any number of seeds, at the price of power.
    """

    metric: tuple[str, ...] = ()
    baseline: str = ""
    better: Literal["higher", "lower"] | None = None
    test: Literal["t", "wilcoxon", "sign-flip"] | None = None
    correction: Literal["holm", "bh"] = "holm"
    alpha: float = 0.05
    family: Literal["table", "sweep"] = "table"
    paired: bool | None = None
    failed: Literal["worst", "drop", "refuse"] = "worst"
    margin: float | None = None
    looks: tuple[int, ...] = ()
    spending: Literal["obrien-fleming", "pocock"] = "obrien-fleming"
    anytime: bool = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `compare_levels` that do not depend on the results."""
        names = ("alpha", "correction", "paired", "failed", "margin", "looks", "spending", "anytime")
        chosen = {name: getattr(self, name) for name in names}
        return chosen | {"test": self.test or "t", "higher_is_better": self.higher_is_better}

    @property
    def higher_is_better(self) -> bool | None:
        """Return the direction that was told."""
        return None if self.better is None else self.better == "higher"

    def of(self, metric: str) -> "Choices":
        """Return the choices for one of the metrics: `better` is for those whose names do not say it."""
        from jfed.results.direction import direction

        said = direction(metric)
        return self if said is None else replace(self, better="higher" if said else "lower")

    def check(self) -> None:
        """Refuse choices that cannot be made together, before any results are read."""
        require(len(set(self.metric)) == len(self.metric), "Each --metric is given once.")
        require(
            not 0 < self.alpha < LEAST_ALPHA,
            f"--alpha must be at least {LEAST_ALPHA:g}, found {self.alpha:g}: p-values are not that precise.",
        )
        if self.better is not None and len(self.metric) == 1:
            said = self.of(self.metric[0]).better
            require(
                said == self.better,
                f"--better {self.better} contradicts the name {self.metric[0]!r}, which says that {said} is better:"
                " leave it out, or rename the metric.",
            )
        require(
            not (self.looks and self.anytime),
            "--looks and --anytime exclude each other: looks are planned beforehand, and --anytime needs no plan.",
        )
        require(
            bool(self.looks) or self.spending == "obrien-fleming",
            "--spending spreads the level over planned looks: give them with --looks.",
        )
