"""The flag --seeds, as every command takes it."""

import importlib
from pathlib import Path

import pytest
import tyro

from jfed.commands.flags import Settings, changed
from jfed.commands.seeds import listed, require_tune_seeds
from jfed.core.errors import ConfigError

EXPERIMENTS = Path(__file__).parents[1] / "experiments"


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        (3, [0, 1, 2]),
        ("3", [0, 1, 2]),
        ("2:5", [2, 3, 4]),
        (("5:6",), [5]),
        ((5,), [5]),
        (("0", "1", "5"), [0, 1, 5]),
        ([5, 0, 1], [0, 1, 5]),
        (("10:12", 3), [3, 10, 11]),
    ],
)
def test_a_number_a_list_or_a_range(given, seeds):
    assert listed(given) == seeds


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (0, r"^--seeds 0 asks for no seed: give how many \(30\), which ones \(0 1 5\) or a range \(0:30\)\.$"),
        ("-1", "^--seeds -1 asks for no seed: give how many"),
        ("5:5", "^--seeds 5:5 names no seed: give how many"),
        ((), "^--seeds names no seed: give how many"),
        ((0, "-1"), "^--seeds 0 -1 names a negative seed"),
        (("0", "1", "0"), "^--seeds 0 1 0 names seed 0 twice: name each once"),
        (("0:3", "2"), "^--seeds 0:3 2 names seed 2 twice"),
        ("many", "^--seeds many is no number of seeds"),
        (("0", "1.5"), "^--seeds 0 1.5 is no number of seeds"),
        ("0:", "^--seeds 0: is no number of seeds"),
        ("0:10000000000", "^A study can have 1,000,000 seeds at most, found 10,000,000,000"),
        (("0:1000000", "1000001"), "^A study can have 1,000,000 seeds at most, found 1,000,001"),
        (1_000_001, "^A study can have 1,000,000 seeds at most"),
    ],
)
def test_what_names_no_seeds_is_repeated(given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        listed(given)


NAMES = [path.stem for path in sorted(EXPERIMENTS.glob("*.py")) if path.stem not in ("__init__", "e3cs_tables")]


@pytest.mark.parametrize("name", NAMES)
def test_all_experiments_take_them_alike(name):
    module = importlib.import_module(f"experiments.{name}")
    presets = getattr(module, "PRESETS", {})
    default = next(iter(presets.values()), None)
    given = {} if default is None else {"default": default}
    for words, seeds in ((["4"], [0, 1, 2, 3]), (["0", "7"], [0, 7]), (["2:4"], [2, 3])):
        assert listed(tyro.cli(module.Settings, args=["--seeds", *words], **given).seeds) == seeds
    with pytest.raises(ConfigError, match=r"^--seeds 0 0 names seed 0 twice"):
        listed(tyro.cli(module.Settings, args=["--seeds", "0", "0"], **given).seeds)


def test_jfed_run_takes_them_too():
    assert listed(changed(Settings(), seeds=("0", "5")).amount.seeds) == [0, 5]
    chosen = tyro.cli(Settings, args=["--seeds", "3:5"], config=(tyro.conf.OmitArgPrefixes,))
    assert listed(chosen.amount.seeds) == [3, 4]


@pytest.mark.parametrize(
    ("tune", "seeds", "axes", "sentence"),
    [
        ((0,), range(3), (), "--tune-seeds are for choosing among the schemes' settings: name them with --sweep"),
        ((3,), range(3), ("eta",), r"must be some of the 3 seeds \(0 to 2\), found 3: choose others, or raise --seeds"),
        ((1, 2), (0, 5, 7), ("eta",), r"must be some of the 3 seeds \(0, 5, 7\), found 1, 2"),
        ((0, 1), range(2), ("eta",), "must be some of the 2 seeds, not all of them: name fewer, or raise --seeds"),
    ],
)
def test_tune_seeds_that_are_refused(tune, seeds, axes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        require_tune_seeds(tune, seeds, axes)


def test_tune_seeds_are_some_of_the_seeds():
    require_tune_seeds((), range(1), ())
    require_tune_seeds((5,), (0, 5, 7), ("eta",))
