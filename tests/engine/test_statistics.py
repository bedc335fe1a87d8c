"""Long runs against numbers worked out elsewhere, and against each other; `make proof`."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import SELECTION, points

import jfed
from jfed.runner.units import Layout
from jfed.selectors import e3cs, fedcs, uniform

pytestmark = pytest.mark.proof

SEEDS = 30
# From simulations made before the engine, means of 6 to 10 runs: cumulative effective participation after 625 and 2500
# rounds at K = 100, k = 20, eta = 0.5, and its standard deviation over runs where it is given (None: not).
PRINTED = {
    ("fedcs", None): (11246, 44975, 48),
    ("uniform", None): (5937, 23736, 103),
    ("0", "sequential"): (9987, 42515, 658),
    ("0", "exact"): (10576, 44094, 375),
    ("0 clipped", "sequential"): (10511, 43636, None),
    ("0 clipped", "exact"): (10822, 44240, None),
    ("0.5", "sequential"): (7869, 32388, 79),
    ("0.5", "exact"): (8290, 34039, 95),
    ("inc", "sequential"): (9987, 27814, 224),
    ("inc", "exact"): (10576, 28341, 157),
    ("0.8", "sequential"): (6607, 27113, 97),
    ("0.8", "exact"): (6721, 27678, 104),
}
BY_CLASS = {  # selections per client and class with the sequential sampler
    "uniform": (499, 499, 499, 499),
    "fedcs": (0, 0, 0, 2000),
    "0": (7, 54, 203, 1735),
    "0 clipped": (4, 7, 157, 1831),
    "0.5": (290, 294, 318, 1098),
    "inc": (382, 405, 464, 749),
    "0.8": (417, 420, 431, 733),
}


def options(name, sampler):
    if sampler is None:
        return {"fedcs": fedcs.Options(), "uniform": uniform.Options()}[name]
    quota = name.removesuffix(" clipped")
    return e3cs.Options(
        quota="inc" if quota == "inc" else float(quota), sampler=sampler, clip_exponent=name.endswith("clipped")
    )


@pytest.fixture(scope="module")
def long_runs():
    def one(name, sampler):
        point = jfed.Point(jfed.Config(selector=options(name, sampler)), {"method": name, "mode": sampler or ""})
        return jfed.run([point], range(SEEDS), layout=Layout(block_size=15), progress=False)

    return {key: one(*key) for key in PRINTED}


@pytest.mark.parametrize("key", PRINTED)
def test_participation_is_that_of_independent_simulations(key, long_runs):
    cep = long_runs[key].num_succeeded.cumsum("round")
    early, late, spread = PRINTED[key]
    for t, printed in ((625, early), (2500, late)):
        mine = cep.sel(round=t).values
        sd = mine.std(ddof=1)
        theirs = max(sd, spread or 0.0) if t == 2500 else sd
        error = np.sqrt(sd**2 / SEEDS + theirs**2 / 6 + 0.5**2)
        assert abs(mine.mean() - printed) < 4 * error, f"{mine.mean():.0f} instead of {printed}, error {error:.0f}"


@pytest.mark.parametrize("name", BY_CLASS)
def test_selections_by_class(name, long_runs):
    runs = long_runs.get((name, "sequential"), long_runs.get((name, None)))
    for c, printed in enumerate(BY_CLASS[name]):
        mine = runs.times_selected.where(runs.client_class == c).mean("client").values
        error = np.sqrt(mine.var(ddof=1) * (1 / SEEDS + 1 / 6) + 0.5**2)
        assert abs(mine.mean() - printed) < 4 * error + 0.5, f"class {c}: {mine.mean():.1f} instead of {printed}"


def test_e3cs_stays_within_the_bound_of_theorem_1(long_runs):
    # Regret against the best fixed allocation on the same draws; the proof assumes the clipped exponent.
    runs = long_runs["0 clipped", "exact"]
    regret = 2500 * 20 * 0.9 - runs.expected_succeeded.sum("round").values.mean()
    bound = 0.5 * 2500 * 20 + 100 / 0.5 * np.log(100)  # Eq. (28)
    assert 0 < regret < bound


def test_the_lanes_agree_in_distribution_of_the_selection():
    where = points(SELECTION, "e3cs-0.5")
    a, b = (
        jfed.run(where, range(40), layout=Layout(block_size=20, lane=lane), progress=False)
        for lane in ("sequential", "vmapped")
    )
    np.testing.assert_array_equal(a.times_selected, b.times_selected)


def test_the_quick_engine_tests_hold_under_full_optimisation():
    """The quick suite compiles without optimisation; its promises about bits must hold with all of it."""
    here = Path(__file__).parent
    env = os.environ | {"XLA_FLAGS": "--xla_backend_optimization_level=3"}
    store = here.parent / "runner" / "test_store.py"
    references = (here / "test_e3cs_reference.py", here / "test_training_reference.py")
    files = [here / "test_engine_properties.py", here / "test_engine_edges.py", *references, store]
    command = [sys.executable, "-m", "pytest", "-m", "not proof", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=here.parent.parent)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
