"""Renderings of a table: in a terminal, as CSV, Markdown, LaTeX and HTML."""

import hashlib
import itertools
import re
from html import escape
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from jfed.report.escapes import latex, markdown
from jfed.report.tables import Table
from jfed.results.names import plain
from jfed.results.store import writing

LONGEST = 150  # characters of a file's name, of which most systems allow 255
_STYLE = """\
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --line: #888888; --faint: #555555; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --line: #777777; --faint: #aaaaaa; } }
body { margin: 1.5rem; color: var(--ink); background: var(--paper); font: 1rem/1.45 system-ui, sans-serif; }
figure { margin: 0; max-width: 75rem; overflow-x: auto; }
figcaption { font-weight: bold; margin-bottom: 0.5rem; }
table { border-collapse: collapse; border-block: 2px solid var(--line); font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.6rem; text-align: left; white-space: nowrap; }
thead th { border-bottom: 1px solid var(--line); }
.r { text-align: right; }
p { margin: 0.4rem 0; max-width: 60rem; color: var(--faint); font-size: 0.875rem; }
"""


def to_terminal(table: Table, console: Console | None = None) -> None:
    """Print a table with its notes.

    In a narrow terminal, text columns and intervals wrap; columns that still do not fit follow below, beside the
    leading text columns again. A last column of text, such as the verdict, stays in the upper part.
    """
    console = console or Console()
    # Text objects, since rich would read "[0.1, 0.2]" in a string as markup.
    console.print(Text(table.title, "bold"))
    for widths in _layout(table, console.width):
        grid = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for j, width in widths.items():
            side = "left" if table.align[j] == "l" else "right"
            grid.add_column(Text(table.columns[j]), justify=side, width=width, overflow="fold")
        for i, row in enumerate(table.rows):
            grid.add_row(*(Text(row[j], "bold" if (i, j) in table.bold else "") for j in widths))
        console.print(grid)
    for note in table.notes:
        console.print(Text(note, "dim"))


def _layout(table: Table, width: int) -> list[dict[int, int]]:
    """Return the columns of each grid to print, with their widths."""
    widest, least = {}, {}
    for j, column in enumerate(table.columns):
        cells = [column, *(row[j] for row in table.rows)]
        wraps = table.align[j] == "l" or column.endswith("interval")
        widest[j] = max(map(cell_len, cells))
        least[j] = max((cell_len(word) for cell in cells for word in cell.split()), default=1) if wraps else widest[j]
    leading = list(itertools.takewhile(lambda j: table.align[j] == "l", widest))
    repeated = leading if len(leading) < len(widest) else leading[:1]
    others = list(widest)[len(repeated) :]
    last = [others.pop()] if len(others) > 1 and table.align[others[-1]] == "l" else []
    grids = [[*repeated, *last]]
    for j in others:
        columns = [*grids[-1], j]
        if grids[-1] == repeated or sum(least[c] for c in columns) <= _room(width, len(columns)):
            grids[-1] = columns
        else:
            grids.append([*repeated, j])
    grids[0] = [j for j in grids[0] if j not in last] + last
    return [_narrowed({j: widest[j] for j in columns}, least, _room(width, len(columns))) for columns in grids]


def _room(width: int, num_columns: int) -> int:
    """Return the width that is left for cells: rich sets a blank on both sides of each, and one more in each line."""
    return width - 2 * num_columns - 1


def _narrowed(widths: dict[int, int], least: dict[int, int], room: int) -> dict[int, int]:
    """Return widths that fit, the widest reduced first, and below their least only if nothing else helps."""
    while sum(widths.values()) > room and max(widths.values()) > 1:
        j = max(widths, key=lambda j: (widths[j] > least[j], widths[j]))
        widths[j] -= 1
    return widths


def to_csv(table: Table) -> str:
    """Return all fields at full precision; the first column is the table's title."""
    shown = table.data.map(lambda value: plain(value) if isinstance(value, str) else value)
    return shown.to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """Return the title, a pipe table, and the notes as a list."""
    rule = ["---:" if align == "r" else ":---" for align in table.align]
    lines = [[markdown(column) for column in table.columns], rule]
    for i, row in enumerate(table.rows):
        marked = [markdown(cell) for cell in row]
        lines.append([f"**{c}**" if (i, j) in table.bold else c for j, c in enumerate(marked)])
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"- {markdown(note)}" for note in table.notes)
    return f"**{markdown(table.title)}**\n\n{body}\n\n{notes}\n"


def to_latex(table: Table, label: str | None = None) -> str:
    r"""Return a `table` float for the booktabs package; `label` becomes `\label{tab:label}`, cleaned of odd signs."""
    rows = [
        [rf"\textbf{{{latex(cell)}}}" if (i, j) in table.bold else latex(cell) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.title)}}}",
        *([rf"\label{{tab:{re.sub(r'[^A-Za-z0-9_.+-]+', '-', label)}}}"] if label else []),
        # Small type and close columns, so that a table of comparisons fits a paper's text width.
        r"\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{@{{}}{table.align}@{{}}}}",
        r"\toprule",
        " & ".join(map(latex, table.columns)) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}",
        "\n".join(latex(note) for note in table.notes),
        r"\end{minipage}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def to_html(table: Table) -> str:
    """Return a page with the title, the table and the notes, for light and dark screens; its text is ASCII."""
    rows = []
    for i, row in enumerate(table.rows):
        cells = [
            _cell("td", f"<strong>{escape(cell)}</strong>" if (i, j) in table.bold else escape(cell), table.align[j])
            for j, cell in enumerate(row)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = [_cell("th", escape(column), align) for column, align in zip(table.columns, table.align, strict=True)]
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in table.notes)
    body, title = "\n".join(rows), escape(table.title)
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n<style>\n{_STYLE}</style>\n'
        f"</head>\n<body>\n<figure>\n<figcaption>{title}</figcaption>\n<table>\n"
        f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{notes}</figure>\n"
        "</body>\n</html>\n"
    )
    return page.encode("ascii", "xmlcharrefreplace").decode()


def _cell(tag: str, content: str, align: str) -> str:
    return f'<{tag} class="{align}">{content}</{tag}>'


def file_stem(words: str, longest: int = LONGEST, digest: bool = False) -> str:
    """Return a name for a file, with dashes for blanks, brackets, slashes and the like.

    Args:
        words: what the name tells.
        longest: most characters; a longer name is cut and ends in a digest of the words.
        digest: whether it ends in one in any case.
    """
    clean = re.sub(r"[^\w.+-]+", " ", words)
    stem = re.sub(" ?_ ?", "_", clean).strip().replace(" ", "-")
    if len(stem) <= longest and not digest:
        return stem
    end = hashlib.sha256(words.encode()).hexdigest()[:8]
    return f"{stem[: longest - len(end) - 1]}_{end}"


def write(table: Table, directory: str | Path, stem: str) -> dict[str, Path]:
    """Write `<stem>.csv`, `.md`, `.tex` and `.html` into `directory`, which is created if missing.

    Returns:
        The paths under "csv", "md", "tex" and "html".

    Raises:
        StorageError: a file cannot be written.
    """
    directory = Path(directory)
    texts = {"csv": to_csv(table), "md": to_markdown(table), "tex": to_latex(table, label=stem), "html": to_html(table)}
    paths = {kind: directory / f"{stem}.{kind}" for kind in texts}
    for kind, text in texts.items():
        with writing(paths[kind], "The table") as part:
            part.write_text(text, encoding="utf-8")
    return paths
