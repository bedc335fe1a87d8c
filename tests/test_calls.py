"""Arguments of wrong types, at the door of `jfed.analysis`: one sentence that names the argument."""

import inspect
import pickle
import typing

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.typing import ArrayLike

from jfed import analysis
from jfed.calls import _hints, fits

RNG = np.random.default_rng(0)
X = RNG.normal(size=8)
FRAME = pd.DataFrame({"scheme": ["a"] * 8 + ["b"] * 8, "seed": [*range(8)] * 2, "accuracy": RNG.normal(size=16)})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: analysis.compare(FRAME, "accuracy", alpha="x"), "alpha must be a number, got 'x'"),
        (lambda: analysis.compare(FRAME, "accuracy", margin="1"), "margin must be a number or None, got '1'"),
        (lambda: analysis.compare(FRAME, "accuracy", looks=10), "looks must be a list of whole numbers, got 10"),
        (lambda: analysis.compare(FRAME, "accuracy", paired="no"), "paired must be True or False or None, got 'no'"),
        (lambda: analysis.compare(X, "accuracy"), r"frame must be a pandas DataFrame, got ndarray of shape \(8,\)"),
        (lambda: analysis.compare_levels([FRAME], "accuracy"), "frames must be a dict of pandas DataFrames, got"),
        (lambda: analysis.choose(FRAME, "accuracy", "scheme"), "settings must be a list of text, got 'scheme'"),
        (lambda: analysis.best_group(3), "comparisons must be of type Comparisons, got 3"),
        (lambda: analysis.tost(X, -1, True), "high must be a number, got True"),
        (lambda: analysis.bootstrap_interval(X, resamples=1.5), r"resamples must be a whole number, got 1\.5"),
        (lambda: analysis.anytime("ab"), "differences must be numbers, got 'ab'"),
        (
            lambda: analysis.choose(FRAME, "accuracy", X.reshape(2, 4)),
            "settings must be a list of text, got ndarray of",
        ),
        (
            lambda: analysis.choose(FRAME, "accuracy", X),
            r"settings must be a list of text, got ndarray of shape \(8,\)",
        ),
        (lambda: analysis.score(FRAME, "a"), r"dataset must be a Dataset of jfed\.run or jfed\.load, got DataFrame of"),
        (lambda: analysis.tidy(xr.Dataset(), {"a": 1}), "metrics must be a dict of scores of jfed.analysis.score, got"),
        (lambda: analysis.performance_profiles({"a": ["x"]}, [0]), "scores must be a dict of numbers, got"),
    ],
)
def test_a_wrong_type_is_named(call, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        call()


def test_numpy_numbers_are_numbers():
    assert analysis.power(np.int64(8), np.float32(1.0)) == pytest.approx(analysis.power(8, 1.0))
    made = analysis.compare(FRAME, "accuracy", paired=np.bool_(True), looks=np.array([4, 8]))
    assert made.rows[0].looked == (4, 8)


@pytest.mark.parametrize("name", dir(analysis))
def test_all_annotations_are_resolved_and_defaults_fit(name):
    found = getattr(analysis, name)
    assert pickle.loads(pickle.dumps(found)) is found
    if inspect.isfunction(found):
        hints = _hints(inspect.unwrap(found))
        for argument, p in inspect.signature(found).parameters.items():
            assert p.default is p.empty or fits(p.default, hints[argument])


@pytest.mark.parametrize(
    ("value", "hint", "good"),
    [
        (1, float, True),
        (True, int, False),
        (np.float64(1), int, False),
        ([1, 2], ArrayLike, True),
        ([1, "a"], ArrayLike, False),
        (None, float | None, True),
        ("ab", typing.Sequence[str], False),
        ({"a": 1}, typing.Iterable[str], False),
        (np.array([1, 2]), typing.Sequence[int], True),
        (np.array([1.5]), typing.Sequence[int], False),
        (np.array([[1, 2]]), typing.Sequence[int], False),
        ((1, 2.5), typing.Iterable[int], False),
        ({"a": [1.0]}, typing.Mapping[str, ArrayLike], True),
        ({"a": "b"}, typing.Mapping[str, ArrayLike], False),
        (object(), typing.Any, True),
        (0, typing.Literal["t"], False),
    ],
)
def test_types_by_hand(value, hint, good):
    assert fits(value, hint) == good
