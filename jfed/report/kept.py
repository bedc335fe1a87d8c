"""The tables that a command has made, kept beside its results for the page about them."""

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jfed.core.errors import StorageError
from jfed.report.tables import Table
from jfed.results import records
from jfed.results.store import writing

NAME = "report.json"
SHOWN = ("title", "columns", "align", "rows", "notes")

log = logging.getLogger("jfed")


def keep(tables: Sequence[Table], home: Path) -> None:
    """Write what tables show into a directory of results, in place of those of earlier commands."""
    kept = [{name: getattr(table, name) for name in SHOWN} | {"bold": sorted(table.bold)} for table in tables]
    try:
        with writing(home / NAME, "What tables show") as part:
            part.write_text(json.dumps({"tables": kept}, indent=0), encoding="utf-8")
    except StorageError as error:
        log.warning(f"{error} A page will lack the tables of this command.")


def kept(home: Path) -> list[Table]:
    """Return the tables of the last command that made some; none if there are none or their file is damaged."""
    try:
        return [_table(one) for one in records.read(home / NAME)["tables"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _table(told: Any) -> Table:
    """Return a table as a file holds it; raise ValueError, KeyError or TypeError if it is none."""
    rows, bold = tuple(map(tuple, told["rows"])), frozenset(map(tuple, told["bold"]))
    columns, notes = tuple(told["columns"]), tuple(told["notes"])
    if not all(isinstance(text, str) for text in (told["title"], *columns, *notes, *(x for row in rows for x in row))):
        raise TypeError("a table is made of texts")
    if any(len(row) != len(columns) for row in rows) or not re.fullmatch(f"[lr]{{{len(columns)}}}", told["align"]):
        raise ValueError("a table has as many cells in each row")
    return Table(told["title"], columns, told["align"], rows, notes, bold)
