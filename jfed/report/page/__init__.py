"""A page about finished results: one HTML file, complete in itself, that can be sent to a co-author."""

from jfed.core.errors import extra

with extra("all"):
    import bokeh  # noqa: F401  # before any figure's own import, for a readable error where it is missing
