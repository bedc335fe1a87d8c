"""Federated algorithms: local training and aggregation. One file each, found by the catalogue."""
