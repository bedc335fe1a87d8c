"""The per-run table on which claims are tested, and its scores paired by seed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from jfed.core.errors import ConfigError
from jfed.results.frames import require_alike

TIMES = "rounds to "


class Missing(Exception):
    """An error for runs that a test needs and the table lacks; the message names them."""


class Runs:
    """Rows of one experiment, one per (scheme, mode, setting, seed).

    Args:
        frame: columns scheme and seed, one per metric, and optionally mode, num_rounds and settings. A setting that
            does not apply to a scheme is NaN, and the row counts for each of its values. Likewise a scheme with a
            single mode counts in every mode.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        """Remove the mark of oracles from schemes' names, and the mode of schemes that have one only."""
        rows: Any = frame.assign(scheme=frame["scheme"].astype(str).str.removesuffix(" (oracle)"))
        if "mode" in rows.columns and rows["mode"].nunique() > 1:
            several = rows.groupby("scheme")["mode"].transform("nunique") > 1
            rows["mode"] = rows["mode"].where(several)
        self.frame = rows

    def _kept(self, rows: Any) -> "Runs":
        """Return these rows without processing their modes again."""
        kept = object.__new__(Runs)
        kept.frame = rows
        return kept

    def where(self, settings: Mapping[str, Any]) -> "Runs":
        """Return the rows with these settings.

        Raises:
            Missing: the table has no such setting, or no such rows.
        """
        frame = self.frame
        for name, value in settings.items():
            if name not in frame.columns:
                raise Missing(f"no setting {name!r}")
            column = frame[name]
            frame = frame[column.isna() | (column == value)]
        if frame.empty:
            raise Missing("no runs at " + ", ".join(f"{n} = {v}" for n, v in settings.items()))
        return self._kept(frame)

    def by(self, settings: Sequence[str]) -> Iterator[tuple[dict[str, Any], "Runs"]]:
        """Yield each combination of these settings that has runs, with its rows: numbers by size, texts as they come.

        Raises:
            Missing: the table has no such setting.
        """
        for name in settings:
            if name not in self.frame.columns:
                raise Missing(f"no setting {name!r}")
        if not settings:
            yield {}, self
            return
        known: Any = self.frame[list(settings)].dropna().drop_duplicates()
        known = known.sort_values(list(settings), key=lambda c: c if is_numeric_dtype(c) else pd.factorize(c)[0])
        for values in known.itertuples(index=False, name=None):
            chosen = dict(zip(settings, values, strict=True))
            yield chosen, self.where(chosen)

    def modes(self) -> list[str]:
        """Return the modes that have runs; [""] if modes do not differ."""
        found = self.frame["mode"].dropna().astype(str).unique() if "mode" in self.frame.columns else []
        return sorted(found, reverse=True) or [""]

    def mode(self, mode: str) -> "Runs":
        """Return the rows that count in this mode."""
        if not mode:
            return self
        column = self.frame["mode"]
        return self._kept(self.frame[column.isna() | (column == mode)])

    def schemes(self) -> list[str]:
        """Return the schemes' names, in the table's order."""
        return list(dict.fromkeys(self.frame["scheme"]))

    def scores(self, scheme: str, metric: str, censored: bool = False) -> pd.Series:
        """Return one number per seed, with the sorted seeds as index. A target never reached counts as `num_rounds`.

        Args:
            scheme: name of the scheme.
            metric: a column, or an expression of columns such as "regret / bound". Columns of times to a target begin
                with "rounds to".
            censored: whether targets never reached remain inf.

        Raises:
            Missing: there is no such scheme or metric, a run failed, or a number is otherwise infinite.
            ValueError: a seed has several runs, since a setting that varies has not been chosen.
        """
        rows: Any = self.frame[self.frame["scheme"] == scheme]
        if rows.empty:
            raise Missing(f"no runs of {scheme}")
        values = rows[metric] if metric in rows.columns else self._expression(rows, metric)
        if rows["seed"].duplicated().any():
            raise ValueError(f"{scheme} has several runs of a seed: name the setting that varies in `where` or `by`")
        try:
            scores = np.asarray(values, float)
        except (TypeError, ValueError):
            raise Missing(f"{metric!r} is not numeric") from None
        if np.isposinf(scores).any() and metric.startswith(TIMES):
            if "num_rounds" not in rows.columns:
                raise Missing(f"{metric!r} is censored, and the table has no column num_rounds")
            scores = scores if censored else np.where(np.isinf(scores), rows["num_rounds"].to_numpy(float), scores)
        elif np.isinf(scores).any():
            raise Missing(f"{metric!r} is infinite in {int(np.isinf(scores).sum())} run(s) of {scheme}")
        if np.isnan(scores).any():  # leaving them out would favour the scheme that failed
            raise Missing(f"{int(np.isnan(scores).sum())} failed run(s) of {scheme}")
        return pd.Series(scores, index=pd.Index(rows["seed"].to_numpy(), name="seed")).sort_index()

    def paired(self, schemes: Sequence[str], metric: str, censored: bool = False) -> np.ndarray:
        """Return scores of several schemes on their common seeds, (seeds, schemes).

        Raises:
            Missing: a scheme, the metric, or common seeds are missing; no run of any scheme reaches the target; or the
                schemes ran under different settings.
        """
        try:
            require_alike(self.frame[self.frame["scheme"].isin(list(schemes))])
        except ConfigError as error:
            raise Missing(str(error)) from None
        columns = [self.scores(s, metric, censored=True) for s in schemes]
        if all(np.isinf(c).all() for c in columns):
            raise Missing(f"no run of {', '.join(schemes)} reaches {metric.removeprefix(TIMES)}")
        if not censored:
            columns = [self.scores(s, metric) for s in schemes]
        both = pd.concat(columns, axis=1, join="inner").to_numpy(float)
        if len(both) < 2:
            raise Missing(f"fewer than 2 seeds of {', '.join(schemes)}")
        return both

    @staticmethod
    def _expression(rows: pd.DataFrame, metric: str) -> Any:
        try:
            return rows.eval(metric, engine="python")
        except (pd.errors.UndefinedVariableError, SyntaxError, ValueError):
            raise Missing(f"no metric {metric!r}") from None
        except TypeError:
            raise Missing(f"{metric!r} is not numeric") from None
