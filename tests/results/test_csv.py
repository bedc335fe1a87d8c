"""Anybody's CSV file: other dialects give the same numbers, and a file that cannot be read gives one sentence."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jfed.results.frames import read_csv, scores_by_scheme

PLAIN = "scheme,seed,x\na,0,0.5\nb,0,1\na,1,2\nb,1,inf\n"
EMPTY = " is empty: a table has names in its first line and a row per run"
DOUBT = "not a number, since its comma may mark decimals or thousands"


def read(tmp_path, content, metric="x", **options):
    path = tmp_path / "FILE"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_csv(path, metric, **options)


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(",", ";").replace(".", ","),
        PLAIN.replace(",", "\t").replace(".", ","),
        PLAIN.replace(",", "|"),
        PLAIN.replace(",", " , ").replace("\n", " \n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\n\n" + PLAIN.replace("\n", "\n\n"),
        PLAIN.rstrip("\n"),
        PLAIN + ",,\n",
        "# made today, by me\n  # twice\n" + PLAIN,
        "sep=;\r\n" + PLAIN.replace(",", ";"),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.replace("scheme,seed", "Scheme, SEED"),
        re.sub(r"[\w.]+", r'"\g<0>"', PLAIN),
        re.sub(r"[\w.]+", r' "\g<0>" ', PLAIN),
        PLAIN.replace("0.5", "5e-1").replace("1,2", "1,+2.").replace("inf", "Infinity"),
        re.sub(r",(\d),", r",\1.0,", PLAIN),
        PLAIN.replace("scheme", "Method").replace("seed", "Run ID"),
        "seed,note,x,scheme\n0,p,.5,a\n0,,1,b\n1,,2,a\n1,7,inf,b\n",
        ",scheme,seed,x\n0,a,0,0.5\n1,b,0,1\n2,a,1,2\n3,b,1,inf\n",
        PLAIN.replace("x", "x\u200b").replace("a,0", "\u200ba\u00a0,\u200e0").replace("b,", "\x1b[31mb\x1b[0m,"),
    ],
)
def test_dialects_of_one_table(tmp_path, content):
    frame = read(tmp_path, content)
    assert frame["seed"].dtype == np.int64 and frame["x"].dtype == float
    assert list(frame[["scheme", "seed", "x"]].itertuples(index=False, name=None)) == [
        ("a", 0, 0.5), ("b", 0, 1.0), ("a", 1, 2.0), ("b", 1, np.inf),
    ]  # fmt: skip


def test_a_name_is_what_is_seen_of_it(tmp_path):
    text = 'scheme,seed,"test\nx"\npower\u00a0of choice,0,1\npower of\u200b choice,1,2\n"a\nb",0,3\n'
    frame = read(tmp_path, text, metric="test x")
    assert frame["scheme"].tolist() == ["power of choice", "power of choice", "a b"]
    twins = read(tmp_path, text.replace("choice,1", "choice,0"), metric="test x")
    with pytest.raises(
        ValueError, match=re.escape("1 row repeats a (scheme, seed), the first is ('power of choice', 0)")
    ):
        scores_by_scheme(twins, "test x")


def test_what_is_missing_and_what_is_a_name(tmp_path):
    missing = ["", "NA", "N/A", "NaN", "nan", "null", "None", "<NA>", " "]
    rows = [f"None,{i},{cell},t{i}" for i, cell in enumerate(missing)]
    frame = read(tmp_path, "\n".join(["scheme,seed,x,note", *rows, "01,0,3,NA", "1,0,-inf,", '"a, b",0,4,"say ""x"""']))
    assert frame["x"].isna().tolist() == [True] * 9 + [False] * 3
    assert list(dict.fromkeys(frame["scheme"])) == ["None", "01", "1", "a, b"]
    assert frame["note"].isna().tolist() == [False] * 9 + [True, True, False] and frame["note"].iloc[-1] == 'say "x"'


def test_types_of_columns(tmp_path):
    text = "scheme,seed,x,whole,truth,huge,date,mixed\n"
    text += "a,s1,1,-3,True,9223372036854775808,2024-01-02,1\nb,02,2,4,false,1,,u\n"
    frame = read(tmp_path, text)
    assert [frame[name].dtype.kind for name in ("x", "whole", "truth", "huge")] == ["i", "i", "b", "f"]
    assert frame["seed"].tolist() == ["s1", "02"] and frame["mixed"].tolist() == ["1", "u"]
    assert frame["date"].tolist()[0] == "2024-01-02" and pd.isna(frame["date"].tolist()[1])
    assert scores_by_scheme(frame, "truth")["a"].tolist() == [1.0]
    assert read(tmp_path, text, metric=None)["seed"].tolist() == ["s1", "02"]


@pytest.mark.parametrize(
    ("seeds", "read_as"),
    [(("0", "1"), [0, 1]), (("0.0", "1.0"), [0, 1]), (("0.5", "1"), ["0.5", "1"]), (("x", "01"), ["x", "01"]),
     ((str(10**30), "1"), [str(10**30), "1"]), ((str(2**62 + 1), "1"), [2**62 + 1, 1])],
)  # fmt: skip
def test_seeds_are_whole_numbers_or_text(tmp_path, seeds, read_as):
    assert read(tmp_path, f"scheme,seed,x\na,{seeds[0]},1\na,{seeds[1]},2\n")["seed"].tolist() == read_as


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", EMPTY),
        ("\n \n", EMPTY),
        ("# only\n# comments\n", EMPTY),
        ("sep=;\n", EMPTY),
        ("scheme,seed,x\n", " has a header, but no rows"),
        ("scheme,seed,x\n,,\n", " has a header, but no rows"),
        (b"PK\x03\x04\x00\x00\xff\x00", " is not text in UTF-8: write the table as CSV in UTF-8"),
        (b"a\x00b\n", " is not text in UTF-8: write the table as CSV in UTF-8"),
        (PLAIN.encode("utf-16-le"), " is not text in UTF-8: write the table as CSV in UTF-8"),
        (b"scheme,seed,x\na,0,1\n\xe4,0,2\n", ": line 3 is not text in UTF-8: write the table as CSV in UTF-8"),
        ("scheme,seed,x\na,0,1\nb,0,1,2\n", ": line 3 has 4 fields, the header has 3"),
        ("# c\nscheme,seed,x\n\na,0\n", ": line 4 has 2 fields, the header has 3"),
        ("scheme,seed,x\na,0,1\nb\n", ": line 3 has 1 field, the header has 3"),
        ("scheme,seed,x\na,0,0,5\nb,0,0,6\n", ": line 2 has 4 fields, the header has 3"),
        ('scheme,seed,x\n"a\nb",0,1\nc,0\n', ": line 4 has 2 fields, the header has 3"),
        ('scheme,seed,x\na,0,1\n"b,0,1\nc,0,1\n', ": a quotation mark in line 3 is never closed"),
        (
            'scheme,seed,x\n"' + 14000 * "a,0,123456\n",
            ": a field in line 2 has more than 131,072 characters: is a quotation mark open?",
        ),
        ("scheme,seed,x,x\na,0,1,2\n", ": the column 'x' is 2 times in the header (line 1)"),
        ("scheme,seed,x\na,0,1\nb,0,45.2%\n", ": line 3: x is '45.2%', not a number"),
        ("scheme,seed,x\na,0,n.a.\n", ": line 2: x is 'n.a.', not a number"),
        ("scheme,seed,x\na,0,2024-01-02\n", ": line 2: x is '2024-01-02', not a number"),
        ("scheme,seed,x\na,0,1_000\n", ": line 2: x is '1_000', not a number"),
        ("scheme,seed,x\na,0,1 000\n", ": line 2: x is '1 000', not a number"),
        ("scheme,seed,x\na,0,1e400\n", ": line 2: x is '1e400', which is too large"),
        ('scheme,seed,x\na,0,"0,5"\n', f": line 2: x is '0,5', {DOUBT}"),
        ("scheme;seed;x\na;0;1,234\nb;0;999\n", f": line 2: x is '1,234', {DOUBT}"),
        ("scheme;seed;x;y\na;0;1,23;0.5\nb;0;9;1\n", f": line 2: x is '1,23', {DOUBT}"),
        ("scheme;seed;x\na;0;0,5\nb;0;n.a.\n", ": line 3: x is 'n.a.', not a number"),
        ("scheme;seed;x\na;0;0,5\nb;0;1.234,5\n", ": line 3: x is '1.234,5', not a number"),
        ("scheme,seed,x\na,0,1\n,0,2\n", ": line 3 has no scheme"),
        ("scheme,seed,x\na,0,1\na,NA,2\n", ": line 3 has no seed"),
        (
            "a,b\n1,2\n",
            " has no column 'scheme': name it with --scheme-column; there are 'a', 'b'",
        ),
        (
            "scheme seed x\na 0 1\n",
            " has no column 'scheme': name it with --scheme-column; did you mean 'scheme seed x'?",
        ),
        (
            "scheme,sead,x\na,0,1\n",
            " has no column 'seed': name it with --seed-column; did you mean 'sead'?",
        ),
        (
            "name,group,seed,x\na,g,0,1\n",
            " has no column 'scheme', which may be 'name' or 'group': choose with --scheme-column",
        ),
        (
            "scheme,Seed,SEED,x\na,0,0,1\n",
            " has no column 'seed', which may be 'Seed' or 'SEED': choose with --seed-column",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path, content, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(f'{tmp_path}/FILE{sentence}')}$"):
        read(tmp_path, content)


def test_a_folder_and_no_file_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be read: Is a directory"):
        read_csv(tmp_path, "x")
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nothing\.csv\."):
        read_csv(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match=r"^no metric 'y'; there are 'x'$"):
        read(tmp_path, PLAIN, "y")
    with pytest.raises(ValueError, match=r"^no metric 'seed'; there are 'x'$"):
        read(tmp_path, PLAIN, "seed")


def test_text_where_no_number_is_needed_is_no_mistake(tmp_path):
    frame = read(tmp_path, "scheme,seed,x,y\na,0,1,45.2%\nb,0,2,3\n")
    assert frame["y"].tolist() == ["45.2%", "3"]
    assert read(tmp_path, "a,b\n1,n.a.\n", None).to_dict("list") == {"a": [1], "b": ["n.a."]}


def test_guesses_are_told(tmp_path):
    assert read(tmp_path, PLAIN).attrs["notes"] == ()
    assert read(tmp_path, PLAIN.replace("scheme,seed", "SCHEME,Seed")).attrs["notes"] == ()
    frame = read(tmp_path, "Strategy;Trial;;x\na;0;;0,5\n")
    assert frame.attrs["notes"] == (
        "A column without a name is left out: 3.",
        "The scheme is the column 'Strategy'.",
        "The seed is the column 'Trial'.",
        "Decimal commas: 0,5 is read as 0.5.",
    )
    assert list(frame.columns) == ["scheme", "seed", "x"]


def test_columns_can_be_given(tmp_path):
    text = "name,group,scheme,trial,run,x\na,g,s,0,9,1\n"
    frame = read(tmp_path, text, scheme="group", seed="Run")
    assert frame.to_dict("list") == {"name": ["a"], "scheme": ["g"], "trial": [0], "seed": [9], "x": [1]}
    assert frame.attrs["notes"] == ()
    with pytest.raises(ValueError, match=r"FILE has no column 'grup'; did you mean 'group'\?$"):
        read(tmp_path, text, scheme="grup")


def test_seeds_of_factors_stay_as_they_are(tmp_path):
    frame = read(tmp_path, "method,Data Seed,model_seed,x\na,0,1.0,2\n")
    assert frame.to_dict("list") == {"scheme": ["a"], "data_seed": [0], "model_seed": [1], "x": [2]}


KEYS = ("scheme", "seed")
NAMES = st.text("abc01.-_ é\"'#|;,", min_size=1, max_size=6).map(str.strip).filter(bool)
VALUES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**6), 10**6).map(float),
    st.floats(0, 1).map(lambda x: round(x, 4)),
)


@st.composite
def tables(draw):
    schemes = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    rows = [(s, seed, draw(VALUES), draw(VALUES)) for s in schemes for seed in range(draw(st.integers(1, 3)))]
    return pd.DataFrame(rows, columns=["scheme", "seed", "x", "other score"])


@given(
    frame=tables(),
    separator=st.sampled_from(",;\t|"),
    comma=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    blanks=st.booleans(),
    quoted=st.booleans(),
    capitals=st.sampled_from([str, str.upper, str.title]),
    order=st.permutations(["scheme", "seed", "x", "other score"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=60)
def test_every_dialect_gives_the_same_numbers(
    tmp_path_factory, frame, separator, comma, encoding, blanks, quoted, capitals, order, end
):
    frame.loc[len(frame)] = ["last", 0, 0.5, 0.5]  # a comma that cannot separate thousands
    text = io.StringIO()
    written = frame.assign(seed=frame["seed"].astype(int))[order].rename(columns={n: capitals(n) for n in KEYS})
    decimal = "," if comma and separator != "," else "."
    written.to_csv(text, sep=separator, decimal=decimal, index=False, quoting=1 if quoted else 0, lineterminator=end)
    content = text.getvalue()
    if blanks and not any(set(name) & set("\"'#|;,") for name in frame["scheme"]):
        content = content.replace(separator, f" {separator} ")
    back = read(tmp_path_factory.mktemp("csv"), content.encode(encoding))
    pd.testing.assert_frame_equal(back[frame.columns.tolist()], frame, check_dtype=False)


def test_truths_with_gaps_stay_truths(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("scheme,seed,tuned,word\na,0,,\na,1,False,False\na,2,true,maybe\n")
    frame = read_csv(path)
    assert (frame["tuned"] == False).tolist() == [False, True, False]  # noqa: E712
    assert frame["tuned"].isna().tolist() == [True, False, False] and frame["word"].tolist()[1:] == ["False", "maybe"]
