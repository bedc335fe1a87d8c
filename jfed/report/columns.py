"""The columns that a table of comparisons can have: each with its heading, its text and its numbers."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.report.digits import format_p, without_noise
from jfed.stats.bayes import bayesian_signed_rank
from jfed.stats.effects import a12_interval, d_z_interval
from jfed.stats.numerals import format_interval, format_number
from jfed.stats.profiles import iqm_intervals
from jfed.stats.shape import shape_note

Name = Literal[
    "scheme", "against", "mean", "sd", "n", "difference", "interval", "pointwise", "se", "t", "df", "p", "p-t",
    "p-wilcoxon", "p-sign-flip", "p-equal", "p-not-worse", "won", "d_z", "a12", "iqm", "bayes", "shape", "verdict",
]  # fmt: skip
SHORT = {"no difference shown": "not shown"}  # in the column of verdicts


@dataclass(frozen=True)
class Shown:
    """Facts of a table that the text of a cell depends on, beside its row.

    Attributes:
        comparisons: the table's comparisons.
        decimals: decimals of the metric.
    """

    comparisons: Comparisons
    decimals: int

    @property
    def level(self) -> str:
        """Return the level of the intervals in words."""
        return f"{100 * (1 - self.comparisons.alpha):g} %"


@dataclass(frozen=True)
class Column:
    """One column of a table of comparisons.

    Attributes:
        head: heading.
        text: text of a cell; "" is shown as "-".
        align: "l" or "r".
        numbers: further numbers for files, beyond the fields of the row.
        own: text of the baseline's own row, from a row that it is the reference of.
    """

    head: Callable[[Shown], str]
    text: Callable[[Comparison, Shown], str]
    align: Literal["l", "r"] = "r"
    numbers: Callable[[Comparison, Shown], dict[str, Any]] = lambda row, shown: {}
    own: Callable[[Comparison, Shown], str] = lambda row, shown: ""


def default(comparisons: Comparisons) -> tuple[Name, ...]:
    """Return the columns that a table has if none are chosen."""
    flips = comparisons.test == "sign-flip"
    equal_n = comparisons.paired and len({row.n for row in comparisons.rows}) == 1  # then n is in the notes
    leading: Sequence[Name] = ("scheme", "mean", "sd") if comparisons.baseline else ("scheme", "against")
    counted: Sequence[Name] = () if equal_n else ("n",)
    no_ranks = comparisons.design in ("crossed", "clustered") or comparisons.anytime
    ranks: Sequence[Name] = () if no_ranks else ("p-sign-flip" if flips else "p-wilcoxon",)
    equal: Sequence[Name] = ("p-equal",) if comparisons.margin is not None else ()
    won: Sequence[Name] = ("won",) if comparisons.paired else ("a12",)
    return (*leading, *counted, "difference", "interval", "p-t", *ranks, *equal, *won, "verdict")


def _plain(text: str) -> Callable[[Shown], str]:
    return lambda shown: text


def _difference(row: Comparison, shown: Shown) -> str:
    return format_number(_clean(row, row.difference, shown), shown.decimals)


def _interval(row: Comparison, shown: Shown, low: float, high: float) -> str:
    return format_interval(_clean(row, low, shown), _clean(row, high, shown), shown.decimals)


def _clean(row: Comparison, value: float, shown: Shown) -> float:
    """Return 0 for what rounding may have left; a sign that the verdict needs stays visible."""
    known = () if row.verdict in ("better", "worse") else (row.mean_scheme, row.mean_reference)
    return without_noise(value, shown.decimals, *known)


def _p(value: Callable[[Comparison], float], why: Callable[[Comparison], str] = lambda row: "") -> Any:
    return lambda row, shown: format_p(value(row), shown.comparisons.alpha) or short(why(row))


@functools.lru_cache
def _a12(row: Comparison, shown: Shown) -> tuple[float, float]:
    return a12_interval(
        row.scores_scheme, row.scores_reference, 1 - shown.comparisons.alpha,
        higher_is_better=shown.comparisons.higher_is_better, paired=row.design != "independent",
    )  # fmt: skip


@functools.lru_cache
def _d_z(row: Comparison, shown: Shown) -> tuple[float, float]:
    return d_z_interval(row.d_z, row.n, 1 - shown.comparisons.alpha)


def _beside(value: float, ends: tuple[float, float]) -> str:
    return f"{value:.2f} {format_interval(*ends, 2)}".rstrip() if not math.isnan(value) else ""


def _sd(sd: float, mean: float, shown: Shown) -> str:
    return format_number(without_noise(sd, shown.decimals, mean), shown.decimals)


def _iqm(scores: np.ndarray, shown: Shown) -> tuple[str, tuple[float, float, float]]:
    """Return the interquartile mean of a scheme's scores with its bootstrap interval, as text and as numbers."""
    if not len(scores):
        return "", (math.nan, math.nan, math.nan)
    found = iqm_intervals({"": scores}, level=1 - shown.comparisons.alpha)[""]
    text = f"{format_number(found.value, shown.decimals)} {format_interval(found.low, found.high, shown.decimals)}"
    return text.rstrip(), (found.value, found.low, found.high)


@functools.lru_cache
def _bayes(row: Comparison, shown: Shown) -> tuple[float, float, float]:
    if row.design != "paired" or row.n < 2:
        return math.nan, math.nan, math.nan
    found = bayesian_signed_rank(
        row.scores_scheme - row.scores_reference, shown.comparisons.margin or 0.0,
        higher_is_better=shown.comparisons.higher_is_better,
    )  # fmt: skip
    return found.worse, found.equivalent, found.better


def _shape(row: Comparison) -> str:
    return shape_note(row.scores_scheme - row.scores_reference, row.seeds) if row.design == "paired" else ""


COLUMNS: dict[Name, Column] = {
    "scheme": Column(_plain("scheme"), lambda r, s: r.scheme, "l", own=lambda r, s: r.reference),
    "against": Column(_plain("against"), lambda r, s: r.reference, "l"),
    "mean": Column(
        _plain("mean"), lambda r, s: format_number(r.mean_scheme, s.decimals),
        own=lambda r, s: format_number(r.mean_reference, s.decimals),
    ),
    "sd": Column(
        _plain("sd"), lambda r, s: _sd(r.sd_scheme, r.mean_scheme, s),
        own=lambda r, s: _sd(r.sd_reference, r.mean_reference, s),
    ),
    "n": Column(
        _plain("n"), lambda r, s: str(r.n) if s.comparisons.paired else f"{r.n}, {r.n_reference}",
        own=lambda r, s: str(r.n_reference),
    ),
    "difference": Column(_plain("difference"), _difference),
    "interval": Column(lambda s: f"{s.level} interval", lambda r, s: _interval(r, s, r.low, r.high)),
    "pointwise": Column(
        lambda s: f"{s.level} pointwise interval", lambda r, s: _interval(r, s, r.pointwise_low, r.pointwise_high)
    ),
    "se": Column(_plain("se"), lambda r, s: format_number(r.se, s.decimals + 1)),
    "t": Column(_plain("t"), lambda r, s: "" if math.isnan(r.t) else f"{r.t:.3g}"),
    "df": Column(_plain("df"), lambda r, s: "" if math.isnan(r.df) else f"{r.df:.3g}"),
    "p": Column(_plain("p"), _p(lambda r: r.p_adjusted)),
    "p-t": Column(_plain("p (t)"), _p(lambda r: r.p_t_adjusted)),
    "p-wilcoxon": Column(_plain("p (W)"), _p(lambda r: r.p_wilcoxon_adjusted, lambda r: r.rank_note)),
    "p-sign-flip": Column(_plain("p (S)"), _p(lambda r: r.p_sign_flip_adjusted, lambda r: r.rank_note)),
    "p-equal": Column(_plain("p (equal)"), _p(lambda r: r.p_equal_adjusted)),
    "p-not-worse": Column(_plain("p (not worse)"), _p(lambda r: r.p_not_worse_adjusted)),
    "won": Column(_plain("won"), lambda r, s: "" if math.isnan(r.share_won) else f"{100 * r.share_won:.0f} %"),
    "d_z": Column(
        lambda s: f"d_z, {s.level} pointwise", lambda r, s: _beside(r.d_z, _d_z(r, s)),
        numbers=lambda r, s: dict(zip(("d_z_low", "d_z_high"), _d_z(r, s), strict=True)),
    ),
    "a12": Column(
        lambda s: f"A12, {s.level} pointwise", lambda r, s: _beside(r.a12, _a12(r, s)),
        numbers=lambda r, s: dict(zip(("a12_low", "a12_high"), _a12(r, s), strict=True)),
    ),
    "iqm": Column(
        lambda s: f"IQM, {s.level} pointwise", lambda r, s: _iqm(r.scores_scheme, s)[0],
        numbers=lambda r, s: dict(zip(("iqm", "iqm_low", "iqm_high"), _iqm(r.scores_scheme, s)[1], strict=True)),
        own=lambda row, s: _iqm(row.scores_reference, s)[0],
    ),
    "bayes": Column(
        _plain("P (worse, equal, better)"),
        lambda r, s: "" if math.isnan(_bayes(r, s)[0]) else ", ".join(f"{p:.2f}" for p in _bayes(r, s)),
        numbers=lambda r, s: dict(zip(("p_worse", "p_equivalent", "p_better"), _bayes(r, s), strict=True)),
    ),
    "shape": Column(
        _plain("shape of differences"), lambda r, s: _shape(r), "l", numbers=lambda r, s: {"shape": _shape(r)}
    ),
    "verdict": Column(
        _plain("verdict"), lambda r, s: SHORT.get(r.verdict, r.verdict), "l", own=lambda *_: "baseline"
    ),
}  # fmt: skip


def short(note: str) -> str:
    """Return a note such as "needs >= 8 seeds" as "n >= 8", which fits a column of p-values."""
    return note.replace("needs ", "n ").replace(" seeds", "").replace(" runs of each", "")
