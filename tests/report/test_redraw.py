"""Figures drawn again from the numbers that they show."""

import numpy as np
import pytest

from jfed.analysis import box_by_class, for_paper, lines, redraw, save, selection_heat, stacked_lines
from jfed.core.errors import ConfigError
from jfed.report.figures.numbers import Numbers, read, shown

ROUNDS = np.arange(1, 9)


def panels(seeds):
    """Return curves of whole numbers whose means are exact in decimals, some on each other, one with a gap."""
    rng = np.random.default_rng(seeds)
    first = rng.integers(0, 50, (seeds, 8)) * float(seeds)
    gone = np.where(ROUNDS > 5, np.nan, first + 400)
    return {"returned, models": {"uniform": first, "nan": first + np.eye(seeds, 8) * seeds, "0.1": gone}}


FIGURES = {
    "few seeds": lambda: stacked_lines(ROUNDS, panels(4), xlabel="round", title="A world", schemes=["other"]),
    "one seed": lambda: lines(ROUNDS, panels(1)["returned, models"], xlabel="round", ylabel="y", title="A world"),
    "a range": lambda: stacked_lines(ROUNDS, panels(8), xlabel="round", title="A world", band="range"),
    "boxes": lambda: box_by_class(
        {"e3cs": {"0.1": np.arange(9), "": [1, 2, 90]}, "uniform": {"0.1": [3], "": np.arange(5)}}, "times", "A world"
    ),
    "a map": lambda: selection_heat(
        {"uniform": np.full((2, 4), 0.25), "fedcs": [[1, 0, 0, 0], [1, 0, 0, 0]]}, [0.5, 0.1, 0.9, 0.1],
        xlabel="success rate", title="A world",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_drawn_again_is_the_same(name, tmp_path):
    png, pdf, csv = save(FIGURES[name](), tmp_path / "first", "a")
    assert (png.suffix, pdf.suffix, csv.suffix) == (".png", ".pdf", ".csv")
    again = save(redraw(csv), tmp_path / "second", "a")
    assert again[0].read_bytes() == png.read_bytes()
    assert again[2].read_text() == csv.read_text()


def test_the_numbers_are_means_and_intervals_of_seeds():
    values = np.arange(7.0)[:, None] * np.ones(3)
    rows = read_shown(lines([1, 2, 3], {"uniform": values}, xlabel="round", ylabel="utility", title="t"))
    assert rows.columns.tolist() == ["panel", "curve", "x", "mean", "low", "high"]
    half = 2.446912 * np.std(np.arange(7.0), ddof=1) / np.sqrt(7)  # t, 6 degrees of freedom, 97.5 %
    np.testing.assert_allclose(rows[["mean", "low", "high"]].to_numpy(), [[3, 3 - half, 3 + half]] * 3, rtol=1e-6)
    few = read_shown(lines([1, 2], {"a": [[1, 2], [3, 2]], "b": [[1, 1]]}, xlabel="x", ylabel="y", title="t"))
    assert few["run_2"].tolist()[:2] == [3, 2] and few["run_2"].isna().tolist()[2:] == [True, True]


def test_boxes_have_their_five_numbers_and_what_lies_beyond():
    rows = read_shown(box_by_class({"s": {"c": [*range(1, 10), 40]}}, "y", "t"))
    found = dict(zip(rows["what"], rows["value"], strict=True))
    assert found == {"n": 10, "whislo": 1, "q1": 3.25, "med": 5.5, "q3": 7.75, "whishi": 9, "flier": 40}


def test_large_numbers_stay_apart_and_names_are_utf_8(tmp_path):
    *_, csv = save(lines([1, 2], {"−": 1e9 + np.eye(2)}, xlabel="x", ylabel="y", title="t"), tmp_path, "a")
    assert "−".encode() in csv.read_bytes() and read(csv).frame["run_1"].tolist() == [1e9 + 1, 1e9]
    many = box_by_class({"s": {"a": np.zeros(1_234_567), "b": [1]}}, "y", "t")
    assert [label.get_text() for label in many.axes[0].get_xticklabels()] == ["a\nn = 1234567", "b\nn = 1"]


def test_a_map_holds_the_mean_share_of_each_client_in_the_order_drawn():
    rows = read_shown(FIGURES["a map"]())
    assert rows[rows["scheme"] == "fedcs"]["share"].tolist() == [0, 0, 1, 0]  # the first client's rate is second


def read_shown(figure):
    """Return the numbers of a figure that has some."""
    numbers = shown(figure)
    assert numbers is not None
    return numbers.frame


def test_a_figure_is_drawn_again_in_the_width_of_a_paper(tmp_path):
    *_, csv = save(FIGURES["a map"](), tmp_path, "a")
    with for_paper("one", title=False):
        figure = redraw(csv)
    assert figure.get_size_inches()[0] == pytest.approx(3.3)
    assert figure.get_suptitle() == ""


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(ConfigError, match=r"a\.csv does not begin with the words of a figure, or"):
        redraw(path)
    words = b'# {"kind": "curves"}\n'
    for content in (b"# 7\nx,y\n1,2\n", b"\x89PNG\xff", b"", words):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"a\.csv does not begin with the words of a figure, or holds no numbers"):
            redraw(path)
    path.write_bytes(words + b"panel,x\na,1\n")
    with pytest.raises(ConfigError, match=r"a\.csv lacks something of a figure of kind 'curves': 'curves'\."):
        redraw(path)
    Numbers(["a"], {}, read_shown(FIGURES["a map"]())).write(path)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"A figure of kind \['a'\] cannot be drawn"):
        redraw(path)
    with pytest.raises(ConfigError, match=r"There is no file .*none\.csv\."):
        redraw(tmp_path / "none.csv")
    Numbers("pie", {}, read_shown(FIGURES["a map"]())).write(path)
    with pytest.raises(ConfigError, match=r"A figure of kind 'pie' cannot be drawn; known are curves, boxes, shares\."):
        redraw(path)


def test_words_of_the_file_are_read_back(tmp_path):
    *_, csv = save(FIGURES["few seeds"](), tmp_path, "a")
    numbers = read(csv)
    assert numbers.words["schemes"] == ["other"] and numbers.words["curves"] == ["uniform", "nan", "0.1"]
    assert [panel["label"] for panel in numbers.words["panels"]] == ["returned, models", "minus uniform"]
