"""The flags of `jfed run` in a file: kept beside the results, taken back by --config, overridden by flags."""

import sys
import tomllib
from pathlib import Path

import pytest

from jfed import cli
from jfed.commands import run, studyfile
from jfed.commands.flags import Settings, changed, flags
from jfed.core.errors import ConfigError, StorageError

GIVEN = {
    "schemes": ("uniform", 'a "quoted" name', "ä\\b"),
    "mode": "corrected",
    "on": "processes:2",
    "num_clients": 12,
    "cohort_size": 3,
    "world": "wireless",
    "load": (Path("mine.py"), Path("a folder/other.py")),
    "dataset": "digits",
    "data_dir": "data",
    "partition": "dirichlet",
    "samples_per_client": 20,
    "test_fraction": 0.0,
    "test_set": "official",
    "model": "mlp",
    "algorithm": "scaffold",
    "learning_rate": 1e-05,
    "momentum": 0.5,
    "batch_size": 8,
    "epochs": (1, 2),
    "local_steps": 7,
    "average_over": "returned",
    "final_model": "mean",
    "eval_every": 3,
    "targets": (0.7, 1.0),
    "num_rounds": 30,
    "seeds": (0, "4:6"),
    "minutes": 1.5,
    "block_size": 4,
    "until_decided": True,
    "tensorboard": True,
    "max_seeds": 40,
    "looks": (10, 40),
    "set": ("selector.eta=0.1", "environment.success_rates=(0.2,0.8)"),
    "sweep": ("cohort_size=2,3",),
    "tune_seeds": (0, 1),
    "metric": ("test_loss", "num_succeeded"),
}


def named(settings):
    return {name: value for _, name, value in flags(settings)}


def read(folder, text):
    path = folder / "mine.toml"
    path.write_text(text)
    return studyfile.read(path)


def test_every_flag_comes_back_from_the_file_beside_the_results(tmp_path):
    settings = changed(Settings(), **GIVEN, out=tmp_path)
    path = studyfile.write(settings)
    assert path == tmp_path / "study.toml" and set(tomllib.loads(path.read_text())) == set(GIVEN)
    (tmp_path / "results").mkdir()
    whole = {"load": tuple(path.resolve() for path in GIVEN["load"]), "data_dir": str(Path("data").resolve())}
    assert studyfile.read(path) == changed(settings, **whole)  # so that the file is right in any folder
    mine = changed(settings, dataset="mine.npz")
    assert studyfile.read(studyfile.write(mine)).training.dataset == str(Path("mine.npz").resolve())
    assert GIVEN.keys() | {"out"} == named(settings).keys()
    assert all(named(Settings())[name] != value for name, value in GIVEN.items())


def test_a_folder_that_was_moved_is_where_its_results_are(tmp_path):
    studyfile.write(changed(Settings(), out=tmp_path / "first"))
    (tmp_path / "first" / "results").mkdir()
    moved = (tmp_path / "first").rename(tmp_path / "then")
    assert studyfile.read(moved / "study.toml").results.out == moved
    alone = (moved / "study.toml").rename(tmp_path / "study.toml")
    assert studyfile.read(alone).results.out == Settings().results.out
    assert read(moved, 'out = "elsewhere"').results.out == Path("elsewhere")


def test_what_a_file_leaves_out_has_its_default(tmp_path):
    assert read(tmp_path, "") == Settings()
    found = named(read(tmp_path, 'schemes = "uniform"\nlearning_rate = 1\nseeds = [0, 1]'))
    assert found["schemes"] == ("uniform",) and found["seeds"] == (0, 1)
    assert type(found["learning_rate"]) is float


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "num_round = 3",
            r"unknown setting in .*toml: 'num_round' \(did you mean 'num_rounds' or 'num_clients'\?",
        ),
        ("[what]\nschemes = []", r"unknown setting in .*mine\.toml: 'what'"),
        ('num_rounds = "x"', r"mine\.toml: num_rounds must be a whole number, found 'x'\.$"),
        ("schemes = [1]", r"mine\.toml: schemes must be a list, each a text, found \(1,\)"),
        ('test_set = "x"', 'test_set must be "reserved" or "official", found \'x\''),
        ("load = 3", "load must be a list, each a path, found"),
        ("until_decided = 1", "until_decided must be true or false, found 1"),
        ("learning_rate = true", "learning_rate must be a number, found True"),
        ("seeds = 2.5", "seeds must be a whole number or a text or a list"),
        ("a = = 3", r"mine\.toml is not TOML: Invalid value \(at line 1, column 5\)"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(ConfigError, match=sentence) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(ConfigError, match=r"The file of --config cannot be read: .*none\.toml: No such file"):
        studyfile.read(tmp_path / "none.toml")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"The study's flags cannot be written to .*file/study\.toml: "):
        studyfile.write(changed(Settings(), out=tmp_path / "file"))


def test_flags_override_the_file(tmp_path, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text('schemes = ["uniform", "fedcs"]\nnum_rounds = 30\nseeds = 4\nuntil_decided = true\n')
    asked = []
    monkeypatch.setattr(run, "main", lambda settings, console: asked.append(settings))
    for words in (["--config", str(path)], [f"--config={path}", "--seeds", "0", "7", "--no-until-decided"]):
        monkeypatch.setattr(sys, "argv", ["jfed", "run", *words, "--num-rounds", "5"])
        cli.main()
    first, second = map(named, asked)
    assert first["schemes"] == second["schemes"] == ("uniform", "fedcs") and first["num_rounds"] == 5
    assert (first["seeds"], first["until_decided"]) == (4, True)
    assert (second["seeds"], second["until_decided"]) == (("0", "7"), False)
    monkeypatch.setattr(sys, "argv", ["jfed", "run", "--config", str(tmp_path / "none.toml")])
    with pytest.raises(SystemExit, match=r"^error: The file of --config cannot be read: "):
        cli.main()
