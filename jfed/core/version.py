"""The version of the package, in the one place from which all others take it."""

__version__ = "0.2.0"
