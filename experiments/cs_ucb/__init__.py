"""Shared by the commands for CS-UCB."""
