"""Figures of finished runs, each a matplotlib `Figure`."""

from jfed.core.errors import extra

with extra("figures"):
    import matplotlib  # noqa: F401  # before any figure's own import, for a readable error where it is missing
