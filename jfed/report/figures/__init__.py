"""Figures of finished runs, each a matplotlib `Figure`."""
