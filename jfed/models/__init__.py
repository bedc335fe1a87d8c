"""Models: one file for each family of networks, found by the catalogue; `classifier` makes a model from options."""

from jfed.core.lazy import submodules

__getattr__ = submodules(__name__)
