"""Settings of the pages that Sphinx builds from this folder: `make docs`. Nothing is fetched while it builds."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

from jfed.core.version import __version__  # noqa: E402  (the checkout is on the path only now)

project, author, release = "jfed", "The jfed authors", __version__
copyright = f"2026, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "docstrings",
    "mathml",
    "members",
    "usage",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # a test executes the notebooks; their outputs are committed
nb_render_markdown_format = "myst"  # which has tables

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Attributes", "params_style"), ("Source", "notes_style")]
highlight_language = "text"
nitpicky = True
nitpick_ignore_regex = [(r"py:class", r"(?!jfed\.).*"), ("py:obj", ".*")]  # links of pages lead somewhere
nitpick_ignore = [("py:exc", "Unfinished"), ("py:exc", "StorageError"), ("py:class", "jfed.core.options.Named")]
default_role = "literal"  # docstrings quote code by single backticks, as Markdown does
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"jfed {release}"
html_static_path = ["_static"]
html_css_files = ["jfed.css"]
html_math_renderer = "mathml"
html_copy_source = False
