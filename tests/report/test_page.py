"""The page as a file: complete in itself, harmless whatever schemes are called, legible, with the tables' numbers."""

import itertools
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import compare, comparisons_table, tidy, write_report
from jfed.core.errors import ConfigError
from jfed.report.page import differences
from jfed.report.page.document import write_csv_report
from jfed.results.load import score
from tests.report.paged import results

ROOT = Path(__file__).parents[2]
SCHEMES = {"uniform": 0.5, "fedcs": 0.9, "e3cs-0.5": 0.7}
LINKS = {"src", "href", "action", "poster", "data", "srcset"}


class Page(HTMLParser):
    """The elements of a page, the text of its cells by row, and the places that it links to."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.links, self.ids, self.rows, self.shown, self._inside = [], [], set(), [], "", []
        self.feed(text)
        assert self._inside == ["html"] or not self._inside, self._inside

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.elements.append((tag, values))
        self.links += [values[name] for name in LINKS & set(values)]
        self.ids |= {values["id"]} if "id" in values else set()
        self.rows += [[]] if tag == "tr" else []
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("meta", "line", "link", "br", "img", "input"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        assert self._inside.pop() == tag or tag == "line", f"</{tag}> closes no element of that kind"

    def handle_data(self, data):
        if "script" not in self._inside and "style" not in self._inside:
            self.shown += data
        if {"td", "th"} & set(self._inside):
            self.rows[-1][-1] += data.strip()

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    path = write_report(out, results=results(SCHEMES, training=True))
    assert path == out / "report.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_loads_nothing(text, page):
    assert page.links and all(link.startswith(("#", "data:")) for link in page.links)
    (policy,) = [a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'") and "http" not in policy and "*" not in policy
    css = resources.files("jfed.report.page").joinpath("page.css").read_text()
    assert not re.search(r"@import|url\(|@font-face", css)
    assert "Redistribution and use in source and binary forms" in page.shown
    assert len(text.encode()) < 2_000_000


def test_every_section_is_there_and_linked(page):
    sections = [a["id"] for t, a in page.elements if t == "section"]
    assert sections == ["verdicts", "settings", "tables", "curves", "differences", "clients", "again"]
    assert {link[1:] for link in page.links if link.startswith("#")} == set(sections)
    described = {a["aria-labelledby"] for t, a in page.elements if t == "section"}
    assert described <= page.ids
    plots = [a for t, a in page.elements if a.get("class") == "plot"]
    assert len(plots) == 8 and all(a["aria-label"] for a in plots)


def test_tables_have_the_numbers_of_the_written_ones(page):
    data = results(SCHEMES, training=True)
    frame = tidy(data, {"test_accuracy": score(data, "test_accuracy")})
    made = comparisons_table(compare(frame, "test_accuracy", baseline="uniform"), "")
    start = page.rows.index(list(made.columns))
    assert [tuple(row) for row in page.rows[start + 1 : start + 1 + len(made.rows)]] == list(made.rows)
    assert made.notes[0].removeprefix("Metric").strip() in page.shown


def test_names_of_schemes_are_text_wherever_they_are(tmp_path):
    evil = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "a&amp;b", '"><b>']
    data = results({"uniform": 0.5} | dict.fromkeys(evil, 0.6), seeds=3)
    text = write_report(tmp_path, tmp_path / "x.html", results=data).read_text()
    page = Page(text)
    assert not any(t == "img" or "onerror" in a for t, a in page.elements)
    assert [t for t, _ in page.elements].count("script") == 3
    assert all(name in page.shown for name in evil)
    items = re.search(r'<script id="items" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert items is not None and evil[0] in json.dumps(json.loads(items[1]))


def colors(mode):
    css = resources.files("jfed.report.page").joinpath("page.css").read_text()
    light, dark = re.findall(r":root\S* \{(.*?)\}", css, re.DOTALL)
    return dict(re.findall(r"--([\w-]+): (#\w{6})", light if mode == "light" else dark))


def linear(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts])


def contrast(a, b):
    low, high = sorted(np.array([0.2126, 0.7152, 0.0722]) @ linear(one) for one in (a, b))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_black_on_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_can_be_read(mode):
    """WCAG 2.2, AA: 4.5 for text, 3 for marks."""
    known = colors(mode)
    for name in ("ink", "muted", "link", "better", "worse", "neutral"):
        assert contrast(known[name], known["paper"]) >= 4.5, name
    for name in ("ink", "muted"):
        assert contrast(known[name], known["raised"]) >= 4.5, name
    for name in [*(f"series-{i}" for i in range(8)), "bokeh-icon-color", "focus"]:
        assert contrast(known[name], known["paper"]) >= 3, name


# Severe deuteranopia and protanopia, of linear RGB: Machado, Oliveira and Fernandes (2009), A physiologically-based
# model for simulation of color vision deficiency.
BLIND = {
    "none": np.eye(3),
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, eyes):
    """Return a colour's CIE L*a*b* as these eyes see it."""
    xyz = TO_XYZ @ np.clip(np.array(eyes) @ linear(color), 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("eyes", BLIND)
def test_the_colours_of_schemes_differ_for_the_colour_blind(mode, eyes):
    seen = [lab(colors(mode)[f"series-{i}"], BLIND[eyes]) for i in range(8)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 12


def test_a_csv_file_has_a_page(tmp_path):
    frame = tidy(data := results(SCHEMES), {"returned": score(data, "num_succeeded")})
    path = write_csv_report(frame, tmp_path / "new" / "a.html", title="mine", metrics=["returned"], baseline="uniform")
    page = Page(path.read_text())
    assert [a["id"] for t, a in page.elements if t == "section"] == ["verdicts", "tables", "differences"]
    assert "3 schemes, 6 seeds" in page.shown and "better than uniform" in page.shown


def test_long_names_leave_room_for_the_differences():
    names = ["uniform", "power of choice, with candidates by the last loss that each has told", "a"]
    runs = [(name, seed, i + 0.1 * (seed * i % 4)) for i, name in enumerate(names) for seed in range(6)]
    found = compare(pd.DataFrame(runs, columns=["scheme", "seed", "accuracy"]), "accuracy", baseline="uniform")
    made = differences.picture(found, "", "a").model
    assert made.yaxis[0].major_label_overrides == {
        1: "power of choice, with\ncandidates by the last\nloss that each has told", 2: "a",
    }  # fmt: skip
    data = made.select_one({"name": "comparisons"}).data  # which the reader can save
    assert data["scheme"] == names[1:] and data["row"].tolist() == [1, 2]
    assert (made.y_range.start, made.y_range.end) == (2.5, 0.5)  # the first row is on top


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="The report cannot be written to"):
        write_report(tmp_path, tmp_path / "file" / "x.html", results=results(SCHEMES, seeds=2))
    with pytest.raises(FileNotFoundError, match="There are no results in"):
        write_report(tmp_path)


def test_without_bokeh_there_is_one_sentence():
    code = (
        "import sys; sys.modules['bokeh'] = None\nimport jfed.analysis\nfrom jfed.core.errors import ConfigError\n"
        "try:\n    jfed.analysis.write_report\nexcept ConfigError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "This needs bokeh, which is not installed: pip install 'jfed[all]'.\n", done.stderr


def test_jfed_is_imported_without_bokeh():
    code = "import sys, jfed, jfed.analysis, jfed.cli; print([m for m in ('bokeh', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.check
def test_the_page_of_a_whole_study_is_small(tmp_path):
    """Seven schemes on 100 seeds of 2500 rounds, each tested."""
    data = results({"uniform": 0.5} | {f"s{i}": 0.3 + 0.1 * i for i in range(6)}, 100, 2500, 100, training=True)
    assert write_report(tmp_path, results=data).stat().st_size < 5_000_000
