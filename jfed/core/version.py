"""The version of the package, which all other places read from here."""

__version__ = "0.2.0"
