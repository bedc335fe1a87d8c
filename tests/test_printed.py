"""What commands print around their tables: unbroken paths, a name that can be called, titles that say a thing once."""

import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import jfed
from experiments.shared.common import Output, _preset
from jfed import cli
from jfed.commands import table
from jfed.report.formats import file_stem
from jfed.results.load import said_once

ROOT = Path(__file__).parent.parent
COMMANDS = [
    f"{folder}.{path.stem}"
    for folder in ("experiments", "tools")
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.stem not in ("__init__", "gpu_run")  # which any Python starts, without tyro
]


def test_places_of_results_are_never_broken():
    out = Path("/a folder [of mine]") / ("long" * 30)
    stems = [f"{kind}_primary_fedavg_{k}_success_rates_0.2-0.8" for kind in ("accuracy", "tests") for k in (8, 9)]
    output = Output(out)
    output.files.extend(out / "figures" / f"{stem}{ending}" for stem in stems for ending in (".png", ".pdf"))
    output.files.append(out / "tables" / "cep.csv")
    text = io.StringIO()
    output.tell(Console(file=text, width=60), [out / "ideal"])
    lines = text.getvalue().splitlines()
    assert lines[1].startswith(f"Results  {out}/ideal/results  ")
    assert lines[2:5] == [f"Tables   {out}/tables  (.csv)", "         cep", f"Figures  {out}/figures  (.pdf, .png)"]
    assert lines[5:] == [9 * " " + stem for stem in sorted(stems)]


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("cep_success_rates_(0.2, 0.8)_x_-1", "cep_success_rates_0.2-0.8_x_-1"),
        ("loss_dataset_/my files/a.npz", "loss_dataset_my-files-a.npz"),
        ("accuracy_primary_e3cs-0.5_1e-05", "accuracy_primary_e3cs-0.5_1e-05"),
    ],
)
def test_names_of_files_have_no_blanks_and_brackets(text, stem):
    assert file_stem(text) == stem


@pytest.mark.parametrize("words", [["list"], ["--help"], ["table", "runs.csv", "--metric", "accuracy"]], ids=" ".join)
def test_a_reader_that_has_gone_ends_a_command_without_a_word(tmp_path, words):
    (tmp_path / "runs.csv").write_text("scheme,seed,accuracy\n" + "".join(f"a,{i},{i}\nb,{i},1\n" for i in range(6)))
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "jfed", *words]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("name", COMMANDS)
def test_advice_on_a_wrong_flag_is_a_command_that_works(monkeypatch, capsys, name):
    monkeypatch.setattr(sys, "argv", [str(ROOT / f"{name.replace('.', '/')}.py"), "--no-such-flag"])
    with pytest.raises(SystemExit):
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    said = " ".join("".join(capsys.readouterr()).replace("│", " ").split())
    assert re.search(f"run:? python -m {name} --help", said) and ".py" not in said


def test_a_preset_without_a_name_is_left_to_the_command_line():
    assert _preset(["--preset"], ["quick", "paper"]) == "quick"


@pytest.mark.check
def test_a_swept_world_is_named_once(monkeypatch, capsys, tmp_path):
    out = tmp_path / ("long" * 20)
    small = {"--num-clients": "6", "--cohort-size": "2", "--num-rounds": "3", "--seeds": "2", "--out": str(out)}
    asked = ["--schemes", "uniform", "fedcs", "--sweep", "environment=exchange,wireless"]
    monkeypatch.setattr(sys, "argv", ["jfed", "run", *(text for flag in small.items() for text in flag), *asked])
    cli.main()
    said = capsys.readouterr().out.splitlines()
    assert "num_succeeded (no training, environment = exchange)" in said
    assert f"{out}/tables/num_succeeded_environment_wireless.csv" in said
    assert len(list((out / "tables").glob("num_succeeded_environment*"))) == 2 * 4
    assert len(list((out / "tables").glob("num_succeeded_problems.*"))) == 2


@pytest.mark.check
def test_the_data_set_of_a_table_is_its_own(tmp_path, capsys):
    training = jfed.Training(partition="iid", model="linear", samples_per_client=20, batch_size=8)
    base = jfed.Config(num_clients=6, cohort_size=2, num_rounds=2, training=training)
    points = jfed.product(jfed.methods(base, ["uniform", "fedcs"]), {"training.dataset": ["digits", "synthetic-iid"]})
    jfed.run(points, range(2), out=tmp_path, progress=False)
    table.main(table.Settings(tmp_path), Console())
    said = capsys.readouterr().out
    assert "num_succeeded (digits)" in said and "num_succeeded (synthetic-iid)" in said


def test_levels_say_the_world_once():
    assert said_once({"world": "exchange", "k": 3}) == {"world": "exchange", "k": 3}
    assert said_once({"world": "edge", "environment": "edge"}) == {"environment": "edge"}
    assert said_once({"world": "edge", "environment": "mine"}) == {"world": "edge", "environment": "mine"}
