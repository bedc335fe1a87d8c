"""Runs on smaller images, which stand for runs on a claim's own data sets in verdicts that are called reduced."""

import re
from typing import Any

import pandas as pd

from jfed.claims.claim import Claim

SIZE = re.compile(r"_\d+x\d+$")  # that ends the name of a data set with smaller images


def data_sets(rows: Any) -> Any:
    """Return the data set of each row, as claims write it; "nan" where there is none."""
    return rows["dataset"].astype(str).str.replace("-", "_")


def apart(frame: pd.DataFrame, claim: Claim) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return the rows without those on smaller images, and the rows of a reduced verdict; None if there are none.

    In the latter smaller images have the name of the claim's data set, and their model that of its network. Rows on
    those data sets of the claim that were not reduced are among them.

    Args:
        frame: per-run table.
        claim: the claim that it is for.
    """
    if not claim.data_sets or "dataset" not in frame.columns:
        return frame, None
    names = data_sets(frame)
    whole = names.str.replace(SIZE, "", regex=True)
    small: Any = (names != whole) & whole.isin(claim.data_sets)
    full: Any = frame[names == whole]
    if not small.any():
        return full, None
    others: Any = names.isin(set(claim.data_sets) - set(whole[small]))
    reduced: Any = frame.assign(dataset=whole)
    if claim.networks and "model" in frame.columns:
        reduced["model"] = whole.map(claim.networks).where(small, frame["model"])
    return full, reduced[small | others]
