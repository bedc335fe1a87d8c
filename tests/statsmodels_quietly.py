"""Functions of statsmodels without a garbage collection in each call, which is longer the more tests ran before."""

from unittest import mock

from statsmodels.stats import multitest


def multipletests(p, method):
    """Return what statsmodels' function of this name returns: corrected p-values are second."""
    with mock.patch("gc.collect"):
        return multitest.multipletests(p, method=method)
