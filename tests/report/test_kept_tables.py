"""Tables that are kept for the page about results."""

import pytest
from rich.console import Console

from jfed.analysis import Table, write_report
from jfed.commands.output import Output
from jfed.report.kept import NAME, keep, kept
from tests.report.paged import results

TABLE = Table(
    "Gap & <regret>", ("scheme", "gap"), "lr", (("uniform", "1.5"), ("cs-ucb", "0.2")), ("Mean.",), frozenset({(1, 1)})
)


def test_what_a_table_shows_is_kept_as_it_is(tmp_path):
    keep([TABLE, TABLE], tmp_path)
    assert kept(tmp_path) == [TABLE, TABLE]
    keep([], tmp_path)
    assert kept(tmp_path) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tables": 3}', '{"tables": [{"title": "x"}]}'])
def test_a_damaged_file_has_no_tables(tmp_path, text):
    assert kept(tmp_path) == []
    (tmp_path / NAME).write_text(text)
    assert kept(tmp_path) == []


def test_the_page_has_the_tables_of_the_command(tmp_path, caplog):
    output = Output(tmp_path)
    output.table(TABLE, "gap")
    (tmp_path / "results").mkdir()
    output.tell(Console(quiet=True))  # no runs, and so no page yet
    page = write_report(tmp_path, results=results({"uniform": 0.5, "fedcs": 0.9})).read_text()
    assert "Tables of the command" in page and "Gap &amp; &lt;regret&gt;" in page and "<strong>0.2</strong>" in page
    (tmp_path / "file").touch()
    keep([], tmp_path / "file")
    assert "A page will lack the tables of this command" in caplog.text
    assert "Tables of the command" not in write_report(tmp_path / "b", results=results({"a": 0.5})).read_text()
