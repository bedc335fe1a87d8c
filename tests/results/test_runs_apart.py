"""Tests of what tells runs apart: the order of seeds, and rows that repeat a (scheme, seed)."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import across, compare
from jfed.results.frames import require_scheme, scores_by_scheme


def runs(seeds, **columns):
    """Return runs of three schemes on the given seeds, in a random order."""
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame({"scheme": s, "seed": list(seeds), "accuracy": 0.01 * rng.normal(size=len(seeds)) + 0.1 * i})
        for i, s in enumerate(("base", "new", "same"))
    ]
    return pd.concat(parts, ignore_index=True).assign(**columns).sample(frac=1, random_state=1)


TEXTS = [
    [f"s{i}" for i in range(20)],
    [f"{a} {b}" for a, b in itertools.product(range(12), (2, 10))],
    ["9", "10", "100"],
    ["a", "b2-1", "b2-10", "b10-1"],
    ["0.5", "1.5", "10.5"],
]


@pytest.mark.parametrize("seeds", TEXTS)
def test_numbers_in_the_names_of_seeds_sort_by_value(seeds):
    found = scores_by_scheme(runs(seeds), "accuracy")
    assert all(scores.index.tolist() == seeds for scores in found.values())
    assert found["new"].index[:2].union(found["new"].index[2:]).tolist() == seeds


def test_numbers_stay_numbers():
    scores = scores_by_scheme(runs(range(12)), "accuracy")["base"]
    assert scores.index.tolist() == list(range(12)) and scores.index.dtype == np.int64


def test_seeds_of_factors_sort_by_their_numbers():
    frame = runs(range(12)).rename(columns={"seed": "data_seed"})
    assert scores_by_scheme(frame, "accuracy")["base"].index.tolist() == list(map(str, range(12)))


@pytest.mark.parametrize("stopped", [20, 10])
def test_planned_looks_take_the_first_seeds(stopped):
    """The verdicts on text seeds are those on numbers, also if one scheme stopped at the first look."""
    numbers = runs(range(20))
    numbers = numbers[(numbers.scheme != "new") | (numbers.seed < stopped)]
    texts = numbers.assign(seed="s" + numbers.seed.astype(str))
    by_number, by_text = (compare(f, "accuracy", baseline="base", looks=(10, 20)) for f in (numbers, texts))
    for one, other in zip(by_number.rows, by_text.rows, strict=True):
        assert (one.verdict, one.n, one.p_t, one.difference) == (other.verdict, other.n, other.p_t, other.difference)
        assert tuple(f"s{seed}" for seed in one.seeds) == other.seeds


def test_failed_and_missing_runs_of_text_seeds():
    numbers = runs(range(12)).query("scheme != 'new' or seed < 9")
    numbers = numbers.assign(accuracy=numbers.accuracy.where((numbers.seed != 3) & (numbers.seed != 10)))
    texts = numbers.assign(seed="s" + numbers.seed.astype(str))
    rows = {row.scheme: row for row in compare(texts, "accuracy", baseline="base").rows}
    assert rows["new"].failed_reference == ("s3", "s10") and rows["new"].missing_scheme == ("s9", "s10", "s11")
    by_number = {row.scheme: row for row in compare(numbers, "accuracy", baseline="base").rows}
    assert {s: (row.verdict, row.p_t) for s, row in rows.items()} == {
        s: (row.verdict, row.p_t) for s, row in by_number.items()
    }


def test_data_sets_may_have_other_seeds():
    def both(name):
        parts = [runs(seeds).assign(data=data) for data, seeds in (("a", range(8)), ("b", range(3, 12)))]
        frame = pd.concat(parts)
        return across(frame.assign(seed=frame.seed.map(name)), "accuracy", by="data", baseline="base").rows

    for one, other in zip(both(int), both("s{}".format), strict=True):
        assert one.random == other.random and one.fixed == other.fixed


ONE = (
    "24 rows repeat a (scheme, seed), the first is ('base', 0): the column data tells them apart; compare over its"
    " values (--over data), choose each scheme's best (--tune-over data), or give one value's rows"
)
TWO = (
    "72 rows repeat a (scheme, seed), the first is ('base', 0): the columns data and eta tell them apart; give the rows"
    " of one value of one of them, and compare over the other (--over) or choose each scheme's best (--tune-over)"
)
PLAIN = (
    "24 rows repeat a (scheme, seed), the first is ('base', 0): give one row per run, and runs that differ in no column"
    " seeds of their own"
)


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ([{"data": "mnist", "final_loss": 1}, {"data": "cifar", "final_loss": 2}], ONE),
        ([{"data": 1.5}, {"data": np.nan}], ONE),
        ([{"data": d, "eta": eta} for d in "ab" for eta in (0.1, 0.2)], TWO),
        ([{"data": "mnist", "final_loss": 1}, {"data": "mnist", "final_loss": 2}], PLAIN),
        ([{"versions": "1"}, {"versions": "2"}], PLAIN),
    ],
)
def test_the_columns_that_tell_rows_apart(levels, sentence):
    one = runs(range(8)).sort_values(["scheme", "seed"])
    frame = pd.concat([one.assign(**level) for level in levels], ignore_index=True)
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        compare(frame, "accuracy")


def test_text_seeds_that_repeat_are_quoted():
    frame = runs(["s1"]).sort_values("scheme")
    with pytest.raises(ValueError, match=re.escape("the first is ('base', 's1'): give one row per run")):
        compare(pd.concat([frame, frame]), "accuracy")


def test_names_of_schemes_are_text():
    frame = runs(range(4)).assign(scheme=lambda f: f.scheme.map({"base": 0, "new": 1, "same": 2}))
    assert len(compare(frame, "accuracy", baseline="0").rows) == 2
    with pytest.raises(ValueError, match=r"^baseline must be text or None, got 0: give '0'$"):
        compare(frame, "accuracy", baseline=0)
    with pytest.raises(ValueError, match="no scheme '3'"):
        require_scheme("3", ["0", "1"])
