"""Definitions that all rooms share: messages, interfaces, options, random keys, array operations, errors."""
