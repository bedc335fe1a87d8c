"""Federated algorithms: local training and aggregation. One file each, found by the catalogue."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
