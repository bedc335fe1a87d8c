"""The parts that a page is made of; `page.html` shows each by its `kind`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jfed.report.tables import Table

if TYPE_CHECKING:
    from bokeh.model import Model


@dataclass(frozen=True)
class Prose:
    """Sentences.

    Attributes:
        sentences: what is said.
        summary: what the reader opens a list of them by; "" for paragraphs.
    """

    kind: ClassVar[str] = "prose"
    sentences: tuple[str, ...]
    summary: str = ""


@dataclass(frozen=True)
class Verdicts:
    """The statement of the comparisons of a score.

    Attributes:
        title: the score.
        groups: verdict, such as "better than uniform", its look (better, worse or neutral), and the schemes.
    """

    kind: ClassVar[str] = "verdicts"
    title: str
    groups: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Facts:
    """Names with values.

    Attributes:
        rows: name and value of each.
    """

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Grid:
    """A table whose columns sort.

    Attributes:
        table: the table.
    """

    kind: ClassVar[str] = "grid"
    table: Table


@dataclass(frozen=True)
class Code:
    """Text to copy.

    Attributes:
        title: what it is.
        text: the text.
        file: name of the file in which it is saved.
    """

    kind: ClassVar[str] = "code"
    title: str
    text: str
    file: str


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        title: what it shows.
        caption: how it is made.
        model: the figure, a Bokeh model. Its sources of data that have a name are the data to download.
        file: name of the file of its data, without an ending.
        series: schemes that can be hidden in it, in the order of their marks.
    """

    kind: ClassVar[str] = "picture"
    title: str
    caption: str
    model: Model
    file: str
    series: tuple[str, ...] = ()


Block = Prose | Verdicts | Facts | Grid | Code | Picture


@dataclass(frozen=True)
class Part:
    """Blocks under a title; the reader may have to open it.

    Attributes:
        title: title; "" for blocks that directly follow the section's.
        blocks: its content.
        folded: whether it is closed at first.
    """

    title: str
    blocks: tuple[Block, ...]
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes:
        name: its name in links.
        title: title.
        parts: its content; without any, the section is left out.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
