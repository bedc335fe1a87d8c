"""Shared by the commands for E3CS."""
