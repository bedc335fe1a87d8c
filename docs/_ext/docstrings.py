"""Docstrings as they are written here, made into reStructuredText: lists, tables and bars that it reads otherwise."""

import re
from typing import Any, NamedTuple

from sphinx.application import Sphinx

BULLET = re.compile(r"( *)- ")
# What jaxtyping takes for a key, and the long name of an array.
KEYS = re.compile(r"~?(?:jaxtyping\.)?Key\[[^]]*\](?: \| ~?(?:jaxtyping\.)?UInt32\[[^]]*\])+")
ARRAY = re.compile(r"~?jaxlib\._jax\.Array")
INITIAL = re.compile(r"^( *)([A-Z]\. )")  # of an author's name, which would be a numbered list
ENDING = re.compile(r"(?<![`\w.])(\w+)_(?=[\s,;.)]|$)")  # which would be a link
FIELD = type(vars(NamedTuple("Pair", [("first", int)]))["first"])
SECTION = re.compile(r" *(Args|Returns|Raises|Attributes|Yields|Note|Examples?):$")


def indent(line: str) -> int:
    """Return the number of spaces before a line's text."""
    return len(line) - len(line.lstrip())


def lists_apart(lines: list[str]) -> list[str]:
    """Return the lines with an empty one before each list that follows a text, and after each list."""
    found: list[str] = []
    inside: int | None = None  # indentation of the list
    for line in lines:
        bullet = BULLET.match(line)
        before = found[-1].strip() if found else ""
        begins = bullet and inside is None and before
        ends = inside is not None and line and indent(line) <= inside and not bullet
        if begins or ends:
            found.append("")
        if line:
            inside = len(bullet[1]) if bullet else inside if inside is not None and indent(line) > inside else None
        found.append(line)
    return found


def blocks_kept(lines: list[str]) -> list[str]:
    """Return the lines with a mark before each indented block after an empty line: equations and tables of numbers."""
    found: list[str] = []
    text, inside = "", False
    for number, line in enumerate(lines):
        if line.strip():
            inside = inside and indent(line) > 0
            starts = indent(line) >= 4 and number and not lines[number - 1].strip()
            if starts and not inside and indent(text) == 0 and not SECTION.match(text) and not BULLET.match(text):
                found += ["::", ""]
                inside = True
            if not inside:
                text = line
        found.append(line)
    return found


def plain(line: str) -> str:
    """Return a line whose bars, initials and last underscores are what they are, and no markup."""
    return ENDING.sub(r"\1\_", INITIAL.sub(r"\1\\\2", line.replace("|", r"\|")))


def prepare(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place, before its sections are read."""
    first = next((i for i, line in enumerate(lines) if SECTION.match(line)), len(lines))
    lines[:] = [plain(line) for line in lists_apart(blocks_kept(lines[:first]) + lines[first:])]


def plainer(
    app: Sphinx, what: str, name: str, found: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return a signature with the short names of jax's types."""

    def short(text: str | None) -> str | None:
        return text and ARRAY.sub("Array", KEYS.sub("PRNGKeyArray", text))

    return short(signature), short(returned)


def without_fields(app: Sphinx, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of a NamedTuple, which its docstring describes."""
    return True if isinstance(found, FIELD) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the change."""
    app.connect("autodoc-process-docstring", prepare, priority=100)
    app.connect("autodoc-process-signature", plainer)
    app.connect("autodoc-skip-member", without_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
