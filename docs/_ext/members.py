"""The directives `members`, which describes all members of a room, and `public`, which describes names of a module."""

import importlib
import itertools
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jfed import catalog

FENCE = "```{eval-rst}"


def lines_of(room: str) -> list[str]:
    """Return text that describes each module of a room that defines members, in the order of its files."""
    found = []
    for module, kinds in itertools.groupby(catalog.members(room), key=lambda kind: kind.__module__):
        own = list(kinds)
        names = [f"`{key}`" for key, entry in catalog.shipped(room).items() if type(entry.options) in own]
        stem = module.rpartition(".")[2]
        found += [f"({room}-{stem})=", "", f"## {stem}", "", f"Names: {', '.join(names)}." * bool(names)]
        found += ["", FENCE, f".. automodule:: {module}", ""]
        found += [line for kind in own for line in (f".. autoclass:: {module}.{kind.__name__}", "")] + ["```", ""]
    return found


class Members(SphinxDirective):
    """Describe all members of a room, named by its field of `Config` or `Training`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed descriptions."""
        return self.parse_text_to_nodes("\n".join(lines_of(self.arguments[0])), allow_section_headings=True)


class Public(SphinxDirective):
    """Describe names of a module or of modules in a package, one a word; with `bare` without methods."""

    required_arguments = 1
    has_content = True
    option_spec = {"bare": directives.flag}  # noqa: RUF012 (as in docutils)

    def run(self) -> list[nodes.Node]:
        """Return the parsed descriptions."""
        text = []
        for word in " ".join(self.content).split():
            full = f"{self.arguments[0]}.{word}"
            module, _, name = full.rpartition(".")
            found = getattr(importlib.import_module(module), name)
            kind = "autoclass" if isinstance(found, type) else "autofunction"
            members = kind == "autoclass" and "bare" not in self.options
            text += [FENCE, f".. {kind}:: {full}", "   :members:" if members else "", "```", ""]
        return self.parse_text_to_nodes("\n".join(text))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("members", Members)
    app.add_directive("public", Public)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
