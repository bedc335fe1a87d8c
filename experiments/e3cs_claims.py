"""What came out of E3CS's claims about selection: reads reproduction/*.csv, writes experiments/README.md.

Tests are paired by seed at level 0.05 within each claim. A chain of strict steps is an intersection-union test (all
adjacent one-sided paired t-tests; p is the largest), beside Page's test for the trend; an equality is two one-sided
tests against a margin stated here. Claims that need training are listed as not run.
"""

import itertools
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from experiments.common import command
from experiments.e3cs_numerical import ETA, regret_bound, theorem_eta
from experiments.e3cs_published import PUBLISHED, sections
from jfed.config import Config

HERE = Path(__file__).parent
LEVEL = 0.05
QUOTAS = ("0", "0.5", "0.8", "inc")
STRICT = ("fedcs", "e3cs-0", "e3cs-0.5", "e3cs-0.8", "uniform")
LIMITS = {  # success ratio with constant quota: exact inclusion by formula, sequential sampler by its mean field
    "corrected": {"fedcs": 0.9, "e3cs-0": 0.9, "e3cs-0.5": 0.6875, "e3cs-0.8": 0.56, "uniform": 0.475},
    "faithful": {"fedcs": 0.9, "e3cs-0": 0.9, "e3cs-0.5": 0.656, "e3cs-0.8": 0.548, "uniform": 0.475},
}


@dataclass(frozen=True)
class Finding:
    """What came out of one claim in one mode: a verdict, and the numbers behind it."""

    verdict: str
    numbers: str


class Runs:
    """The per-run table in one mode, at Table I's eta, with rivals that have no mode."""

    def __init__(self, frame: pd.DataFrame, mode: str) -> None:
        """Keep what belongs to the mode."""
        at_table_i = frame.eta.isna() | np.isclose(frame.eta, ETA)
        e3cs = frame.method.str.startswith("e3cs-")
        self.mode = mode
        self.frame: Any = frame[at_table_i & (~e3cs | (frame["mode"] == mode))]

    def values(self, scheme: str, metric: str) -> np.ndarray:
        """One number per seed, seeds in order, (seeds,)."""
        rows = self.frame[self.frame.method == scheme].sort_values("seed")
        return rows[metric].to_numpy(float)


def chain(runs: Runs, metric: str, steps: Sequence[tuple[str, str]]) -> Finding:
    """Larger > smaller for every step, by an intersection-union of one-sided paired t-tests."""
    worst, p_worst, against = "", 0.0, False
    for larger, smaller in steps:
        difference = runs.values(larger, metric) - runs.values(smaller, metric)
        p = _greater(difference)
        if p > p_worst:
            worst, p_worst = f"{larger} > {smaller}: {difference.mean():.4g}", p
            against = _greater(-difference) < LEVEL
    verdict = "supported" if p_worst < LEVEL else "contradicted" if against else "not supported"
    return Finding(verdict, f"weakest step {worst}, p = {_p(p_worst)}")


def _greater(difference: np.ndarray) -> float:
    if np.ptp(difference) == 0:
        return 0.0 if difference[0] > 0 else 1.0
    result: Any = stats.ttest_1samp(difference, 0, alternative="greater")
    return float(result.pvalue)


def equal(difference: np.ndarray, margin: float) -> Finding:
    """Mean difference within the margin, by two one-sided t-tests."""
    if np.ptp(difference) == 0:
        inside = abs(difference[0]) < margin
        return Finding("supported" if inside else "contradicted", f"difference {difference[0]:.4g} on every seed")
    p = max(_greater(difference + margin), _greater(margin - difference))
    beyond = min(_greater(difference - margin), _greater(-difference - margin))
    verdict = "supported" if p < LEVEL else "contradicted" if beyond < LEVEL else "not supported"
    size = f"difference {difference.mean():.4g} ± {_half(difference):.2g}"
    return Finding(verdict, f"{size}, margin {margin:.3g}, p = {_p(p)}")


def page(runs: Runs, metric: str, order: Sequence[str]) -> str:
    """Page's trend test over schemes from largest to smallest."""
    data = np.stack([runs.values(s, metric) for s in reversed(order)], 1)
    return f"Page p = {_p(float(stats.page_trend_test(data, method='asymptotic').pvalue))}"


def _half(x: np.ndarray) -> float:
    return float(stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)))


def _p(p: float) -> str:
    return "<1e-4" if p < 1e-4 else f"{p:.2g}"


def _all(*findings: Finding) -> Finding:
    order = ("contradicted", "not supported", "supported")
    return Finding(min((f.verdict for f in findings), key=order.index), "; ".join(f.numbers for f in findings))


def pairs(order: Sequence[str]) -> list[tuple[str, str]]:
    """Adjacent steps of an order from largest to smallest."""
    return list(itertools.pairwise(order))


# --------------------------------------------------------------------------------------------- the claims


def e1(runs: Runs) -> Finding:
    """FedCS > E3CS-0 > E3CS-0.5 > E3CS-inc = E3CS-0.8 > Random after T rounds."""
    strict = chain(runs, "cep", [*pairs(STRICT), ("e3cs-0.5", "e3cs-inc"), ("e3cs-inc", "uniform")])
    fair = runs.values("e3cs-0.8", "cep")
    same = equal(runs.values("e3cs-inc", "cep") - fair, 0.03 * fair.mean())
    both = _all(strict, Finding(same.verdict, f"inc minus 0.8: {same.numbers}"))
    return Finding(both.verdict, f"{both.numbers}; {page(runs, 'cep', STRICT)}")


def e2(runs: Runs) -> Finding:
    """The order after T/4 rounds; E3CS-inc is E3CS-0 until then, on common random numbers."""
    same = np.array_equal(runs.values("e3cs-inc", "cep_quarter"), runs.values("e3cs-0", "cep_quarter"))
    strict = chain(runs, "cep_quarter", pairs(STRICT))
    if not same:
        return Finding("contradicted", "E3CS-inc and E3CS-0 differ before T/4")
    note = "E3CS-inc is E3CS-0 until T/4, identical on every seed: that step is untestable as printed"
    return Finding(strict.verdict, f"{strict.numbers}; {note}")


def e3(runs: Runs) -> Finding:
    """The last 500 rounds are at the limit, to 0.01, and the limits fall with the quota."""
    near = [equal(runs.values(s, "ratio_last") - limit, 0.01) for s, limit in LIMITS[runs.mode].items()]
    off = [s for s, f in zip(LIMITS[runs.mode], near, strict=True) if f.verdict != "supported"]
    falls = chain(runs, "ratio_last", pairs(STRICT[1:]))
    at = ", ".join(
        f"{s} {runs.values(s, 'ratio_last').mean():.4f} ({limit:g})" for s, limit in LIMITS[runs.mode].items()
    )
    verdict = _all(falls, *near).verdict
    note = f"; not yet within 0.01 of the limit: {', '.join(off)}" if off else ""
    return Finding(verdict, f"last 500 rounds (limit): {at}{note}; falling: {falls.numbers}")


def e4(runs: Runs) -> Finding:
    """After the turn E3CS-inc succeeds as often as Random."""
    after = equal(runs.values("e3cs-inc", "ratio_after_turn") - runs.values("uniform", "ratio_after_turn"), 0.01)
    drawn_alike = runs.mode == "faithful"
    note = " (by construction: at quota k/K the race is Random's own, on the same draws)" if drawn_alike else ""
    return Finding(after.verdict, after.numbers + note)


def e5(runs: Runs) -> Finding:
    """Fairness: Random > E3CS-0.8 > E3CS-0.5 > E3CS-0 > FedCS."""
    order = tuple(reversed(STRICT))
    found = chain(runs, "jain", pairs(order))
    return Finding(found.verdict, f"{found.numbers}; {page(runs, 'jain', order)}")


def e6(runs: Runs) -> Finding:
    """All but Random favour the class of success rate 0.9."""
    found, shares = [], []
    for scheme in (*STRICT[:-1], "e3cs-inc"):
        others = np.max([runs.values(scheme, f"count_class_{j}") for j in range(3)], axis=0)
        more = runs.values(scheme, "count_class_3") > others
        p = stats.binomtest(int(more.sum()), len(more), alternative="greater").pvalue
        found.append(p < LEVEL)
        shares.append(f"{scheme} {100 * more.mean():.0f} %")
    even = runs.values("uniform", "count_class_3") / runs.values("uniform", "count_class_0") - 1
    random = equal(even, 0.05)
    verdict = _all(Finding("supported" if all(found) else "not supported", ""), random).verdict
    numbers = f"seeds on which it does: {', '.join(shares)}; Random, class 0.9 over 0.1 minus 1: {random.numbers}"
    return Finding(verdict, numbers)


def e7(runs: Runs) -> Finding:
    """E3CS-0 selects a client of a wrong class only dozens of times (tested: fewer than 100 on average, each class)."""
    found = []
    for j, rate in enumerate((0.1, 0.3, 0.6)):
        count = runs.values("e3cs-0", f"count_class_{j}")
        few, many = _greater(100 - count) < LEVEL, _greater(count - 100) < LEVEL
        verdict = "supported" if few else "contradicted" if many else "not supported"
        found.append(Finding(verdict, f"class {rate}: {count.mean():.0f} ± {_half(count):.0f}"))
    median, largest = runs.values("e3cs-0", "lower_median"), runs.values("e3cs-0", "lower_max")
    worst = _all(*found)
    return Finding(
        worst.verdict,
        f"times per client, {worst.numbers}; median client {np.median(median):.0f}, largest {largest.max():.0f}",
    )


def e8(runs: Runs) -> Finding:
    """FedCS uses only 20 clients of the best class, E3CS-0 all 25 (at least 1 % of its selections each)."""
    fedcs, e3cs = runs.values("fedcs", "top_class_used"), runs.values("e3cs-0", "top_class_used")
    verdict = "supported" if (fedcs == 20).all() and (e3cs == 25).all() else "not supported"
    numbers = f"FedCS 20 on {100 * (fedcs == 20).mean():.0f} % of seeds; E3CS-0 25 on {100 * (e3cs == 25).mean():.0f} %"
    return Finding(verdict, f"{numbers} (mean {e3cs.mean():.1f}, fewest {e3cs.min():.0f})")


def e19(frame: pd.DataFrame) -> Finding:
    """Regret at Theorem 1's eta stays below 2 sqrt(sum_t K R_t ln K)."""
    base, parts, inside = Config(), [], True
    for quota in QUOTAS:
        tuned = frame[(frame.method == f"e3cs-{quota}") & np.isclose(frame.eta, theorem_eta(base, quota), atol=1e-5)]
        best = frame[frame.method == f"best-{quota}"].set_index("seed").expected_cep
        regret = best.reindex(tuned.seed).to_numpy() - tuned.expected_cep.to_numpy()
        bound = regret_bound(base, quota)
        inside &= bool((regret <= bound).all())
        parts.append(f"sigma {quota}: {regret.mean():.0f}, largest {regret.max():.0f}, bound {bound:.0f}")
    return Finding("supported" if inside else "contradicted", "; ".join(parts))


CLAIMS = (
    ("E-1", "participation after T: FedCS > E3CS-0 > E3CS-0.5 > E3CS-inc = E3CS-0.8 > Random (> pow-d: not run)", e1),
    ("E-2", "participation after T/4: FedCS > E3CS-0 > E3CS-inc > E3CS-0.5 > E3CS-0.8 > Random (> pow-d: not run)", e2),
    ("E-3", "the success ratio has converged in the last 500 rounds; the limit falls with the quota", e3),
    ("E-4", "E3CS-inc turns at T/4 and tends to Random", e4),
    ("E-5", "fairness: Random > E3CS-0.8 (> pow-d: not run) > E3CS-0.5 > E3CS-0 > FedCS", e5),
    ("E-6", "all but Random (and pow-d: not run) favour the class with success rate 0.9", e6),
    ("E-7", "E3CS-0 selects wrong classes only dozens of times", e7),
    ("E-8", "FedCS selects 20 fixed clients, E3CS-0 all 25 of the best class", e8),
)


def document(frame: pd.DataFrame) -> str:
    """The reproduction table as Markdown."""
    faithful, corrected = Runs(frame, "faithful"), Runs(frame, "corrected")
    seeds = frame.seed.nunique()
    text = [
        "# Reproduction",
        "",
        "Generated by `python -m experiments.e3cs_claims` from `reproduction/*.csv`; do not edit by hand.",
        "",
        "## E3CS without training (Figs. 3 and 4, Theorem 1)",
        "",
        f"`python -m experiments.e3cs_numerical --seeds {seeds}`: K = 100, k = 20, T = 2500, {seeds} seeds, schemes"
        " paired on common random numbers. *Faithful* is the published algorithm (sequential sampler), *corrected* has"
        " exact inclusion probabilities and the exponent that the proof assumes. Tests at level 0.05 within each claim;"
        " equalities against the margin given. *Supported*: the test rejects its opposite; *contradicted*: the data"
        " show the opposite; *not supported*: neither.",
        "",
        "| claim | what the paper says | faithful | corrected |",
        "|---|---|---|---|",
    ]
    for name, words, check in CLAIMS:
        cells = [f"**{f.verdict}**: {f.numbers}" for f in (check(faithful), check(corrected))]
        text.append(f"| {name} | {words} | {cells[0]} | {cells[1]} |")
    bound = e19(frame)
    text.append(
        "| E-19 | regret at most 2 sqrt(sum K (k - K sigma) ln K), at Theorem 1's eta | not run |"
        f" **{bound.verdict}**: {bound.numbers} |"
    )
    text += sections(PUBLISHED, HERE / "reproduction")
    text += ["", "Claims E-9 to E-18 are about these two tables: no verdicts yet.", ""]
    return "\n".join(text)


@dataclass(frozen=True)
class Settings:
    """Command line."""

    runs: Path | None = None
    """The --out of `experiments.e3cs_numerical`, whose per-run table is taken over first."""


def main(settings: Settings) -> None:
    """Write experiments/README.md."""
    table = HERE / "reproduction" / "e3cs_numerical.csv"
    if settings.runs is not None:
        shutil.copy(settings.runs / "tables" / "per_run.csv", table)
    frame = pd.read_csv(table)
    (HERE / "README.md").write_text(document(frame))
    print(f"wrote {HERE / 'README.md'}")


if __name__ == "__main__":
    command(main, Settings)
