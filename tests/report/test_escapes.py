"""Names from anybody's files in tables: no markup, no links, nothing that steers a terminal."""

import io
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from jfed.analysis import Table, to_csv, to_html, to_latex, to_markdown, to_terminal
from jfed.report.escapes import latex, markdown
from jfed.results.names import plain

ODD = "\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \x9b1mx\u202eabc\u200b\r\n\tend"


def table(name: str) -> Table:
    return Table(name, ("scheme", name), "lr", ((name, "1"),), (name,), data=pd.DataFrame({"scheme": [name]}))


def test_control_characters_are_in_no_format():
    assert plain(ODD) == "red bell xabc end"
    made, text = table(ODD), io.StringIO()
    to_terminal(made, Console(file=text, width=80))
    for page in (text.getvalue(), to_csv(made), to_markdown(made), to_latex(made), to_html(made)):
        assert "red bell xabc" in page
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", page)


@given(st.text())
def test_a_plain_text_has_no_control_characters_and_stays_as_it_is(text):
    cleaned = plain(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", cleaned) and plain(cleaned) == cleaned


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("e3cs-0.5 (corrected)", "e3cs-0.5 (corrected)"),
        ("[-0.01, 0.02]", "[-0.01, 0.02]"),
        ("[a](http://x.org)", r"[a]\(http\://x.org)"),
        ("![a][b]", r"![a]\[b]"),
        ("[a]: b", r"[a]\: b"),
        ("see www.x.org or me@x.org", r"see www\.x.org or me\@x.org"),
        ("<b>&amp;</b>", r"\<b\>\&amp;\</b\>"),
        ("a|b_c*d`e~f$g#h\\i", r"a\|b\_c\*d\`e\~f\$g\#h\\i"),
    ],
)
def test_markdown(name, escaped):
    assert markdown(name) == escaped


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("a--b ''c''", "a-{}-b '{}'c'{}'"),
        ("*a", "{*}a"),
        ("<|>", r"\textless{}\textbar{}\textgreater{}"),
        ("71.3 ± 0.4⁺", r"71.3 $\pm$ 0.4$^{+}$"),
        ("é ß ñ Ω λ ο", r"\'{e} \ss{} \~{n} $\Omega$ $\lambda$ \texttt{U+03BF}"),
        ("测🙂", r"\texttt{U+6D4B}\texttt{U+1F642}"),
    ],
)
def test_latex(name, escaped):
    assert latex(name) == escaped


def test_a_label_has_no_odd_signs():
    assert r"\label{tab:a-b_1.5-c}" in to_latex(table("x"), label="a b_1.5}%c")


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], {}

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.setdefault(tag, dict(attrs))


def test_html_is_a_whole_page():
    page, seen = to_html(table("<script>x</script> é")), Page()
    seen.feed(page)
    assert page.startswith("<!doctype html>\n") and page.isascii()
    assert seen.attributes["html"] == {"lang": "en"} and seen.attributes["meta"] == {"charset": "utf-8"}
    assert seen.tags.count("title") == seen.tags.count("table") == 1 and "script" not in seen.tags
    assert "<title>&lt;script&gt;x&lt;/script&gt; &#233;</title>" in page
    assert "prefers-color-scheme: dark" in page
