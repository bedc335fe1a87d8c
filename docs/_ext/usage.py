"""The directive `usage`, which shows what a command says of itself, so that no page repeats a list of flags."""

import contextlib
import io
import os
import sys
from typing import Any
from unittest import mock

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jfed import cli

WIDTH = "96"  # characters


def usage(command: str) -> str:
    """Return what `jfed COMMAND --help` prints."""
    said = io.StringIO()
    words = ["jfed", *command.split(), "--help"]
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.dict(os.environ, {"COLUMNS": WIDTH, "NO_COLOR": "1"}),
        contextlib.redirect_stdout(said),
        contextlib.suppress(SystemExit),
    ):
        cli.main()
    return said.getvalue()


class Usage(SphinxDirective):
    """Show the help of a command of `jfed`."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the text as it is printed."""
        text = usage(self.arguments[0])
        return [nodes.literal_block(text, text, language="text", classes=["usage"])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("usage", Usage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
