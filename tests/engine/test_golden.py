"""Golden runs: if these numbers change, so must `ENGINE_VERSION`, so that no result of another engine is reused."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import SELECTION, TRAINING, points, run

from jfed.engine.version import ENGINE_VERSION

pytestmark = pytest.mark.check

FILE = Path(__file__).with_name("golden.json")
EXACT = ("num_selected", "num_succeeded", "num_steps", "times_selected", "times_succeeded")
CASES = {
    "alone": (SELECTION, "e3cs-0.5", {"environment": "exchange"}),
    "trained": (TRAINING, "pow-d", {"eval_every": 3}),
    "estimating": (
        TRAINING,
        "uniform",
        {"environment": "edge", "controller": "fixed", "training.algorithm": "adaptive"},
    ),
}


def numbers(name):
    base, scheme, delta = CASES[name]
    found = run(points(base, scheme, **{path.replace(".", "__"): value for path, value in delta.items()}), [0, 7])
    return {
        str(key): np.nan_to_num(value.values.astype(float), nan=-1.0).sum(0).round(6).tolist()
        for key, value in found.data_vars.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_the_engine_gives_the_numbers_of_its_version(name):
    golden = json.loads(FILE.read_text())
    assert golden["version"] == ENGINE_VERSION
    found, expected = numbers(name), golden[name]
    assert set(found) >= set(expected)
    for key, values in expected.items():
        if key in EXACT:
            assert found[key] == values, key
        else:
            one = 0.05 if "accuracy" in key else 1e-5  # an image or two that are nearly a tie
            np.testing.assert_allclose(found[key], values, rtol=2e-3, atol=one, err_msg=key)
