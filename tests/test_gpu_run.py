"""The stages that run on a borrowed machine: one that fails must not hurt the others, and all leave what they found."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support import names_in

from tools.gpu import agreement, stages, supervise, tars
from tools.gpu.stages import Place, Stage

ROOT = Path(__file__).parents[1]
LACKING = ("tyro", "bokeh", "h5netcdf", "pooch", "tensorflow_datasets", "beartype", "hypothesis")


# -------------------------------------------------------------------------------------------------- the stages


def test_the_tables_get_the_time_that_others_leave():
    stage = {stage.name: stage for stage in stages.STAGES}
    assert stages.seconds_of(stage["facts"], 500) == stage["facts"].most
    assert stages.seconds_of(stage["tables"], 300) == 300
    assert stages.seconds_of(stage["tables"], 30) == 0


@pytest.fixture
def short(tmp_path, monkeypatch):
    """Give `gpu_run` stages of one line of Python each."""

    def use(**codes):
        made = []
        for name, code in codes.items():
            (tmp_path / "modules").mkdir(exist_ok=True)
            (tmp_path / "modules" / f"short_{name}.py").write_text(code)
            made.append(Stage(name, f"short_{name}", 5 if name == "slow" else 60, 0.1))
        monkeypatch.setattr(supervise, "STAGES", (Stage("data", "short_data", 60, 0.1), *made))
        (tmp_path / "modules" / "short_data.py").write_text("")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
        code = supervise.main("", ["--out", str(tmp_path / "out"), "--small", "--minutes", "1"])
        return code, tmp_path / "out"

    return use


LEAVE = "import sys; open(sys.argv[2] + '/found.csv', 'w').write('a'); "


def test_a_stage_that_fails_does_not_end_the_others(short, capsys):
    code, out = short(
        broken=LEAVE + "raise ValueError('too bad')",
        killed=LEAVE + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        fine=LEAVE + "print('all is well')",
    )
    assert code == 1
    assert sorted(path.name for path in out.iterdir()) == [
        "broken.tar.gz", "fine.tar.gz", "killed.tar.gz", "log.txt",
    ]  # fmt: skip
    for name in ("broken", "killed", "fine"):
        assert names_in(out / f"{name}.tar.gz") == [f"{name}/found.csv", f"{name}/log.txt"]
    said = capsys.readouterr().out
    assert said == (out / "log.txt").read_text()
    for words in ("ValueError: too bad", "broken failed (exit 1)", "killed killed by signal 9", "fine finished"):
        assert words in said
    assert "all is well" in said


@pytest.mark.check
def test_a_stage_is_stopped_at_its_limit_and_what_it_left_is_kept(short, capsys, monkeypatch):
    monkeypatch.setattr(stages, "GRACE", 0.5)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    code, out = short(slow=LEAVE + deaf, fine=LEAVE)
    assert code == 1 and "slow stopped at its limit; fine finished" in capsys.readouterr().out
    assert names_in(out / "slow.tar.gz") == ["slow/found.csv", "slow/log.txt"]


def test_archives_are_renewed_while_a_stage_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "RENEWED", 0.05)
    (tmp_path / "wait.py").write_text(
        "import pathlib, time\nwhile not pathlib.Path('renewed').exists():\n    time.sleep(0.05)\n"
    )
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    place = Place(tmp_path, None, dict(os.environ), small=True)
    how = stages.run(Stage("wait", "wait", 60, 1), place, 60, (tmp_path / "renewed").touch)
    assert how == "finished"


@pytest.mark.check
def test_a_signal_ends_the_stage_and_keeps_what_there_is(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "gpu_run.py"), "--out", str(tmp_path / "out"), "--small"]
    with subprocess.Popen([*command, "--stages", "facts"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        begun = Path(process.stdout.readline().rpartition("work in ")[2].strip(), "facts", "log.txt")
        while not begun.exists():
            time.sleep(0.05)
        process.terminate()
        said = process.stdout.read()
    assert process.returncode == 130 and "Stopped by a signal; the archives hold what there was." in said
    assert names_in(tmp_path / "out" / "facts.tar.gz") == ["facts/log.txt"]


def test_what_a_large_stage_leaves_out_is_said(short, capsys, monkeypatch):
    monkeypatch.setattr(tars, "pack", lambda folder, target: ["fine/huge.npz"])
    short(fine=LEAVE)
    assert "fine: left out of fine.tar.gz for its size: fine/huge.npz" in capsys.readouterr().out


def test_at_most_six_files_and_no_more():
    assert len(stages.STAGES[1:]) + 1 <= 6  # an archive per stage, and the log
    assert tars.LIMIT <= 15 << 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "x"], "--pack is needed (make one with `python -m tools.gpu_pack`)"),
        (["--out", "x", "--pack", "nowhere"], "there is no pack nowhere: make one"),
        (["--out", "x", "--small", "--minutes", "0"], "--minutes must be above 0.17, found 0"),
    ],
)
def test_a_users_mistake_is_one_sentence(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        supervise.main("", arguments)
    assert sentence in capsys.readouterr().err and list(tmp_path.iterdir()) == []


def test_the_command_of_a_stage_carries_all_that_it_needs(tmp_path):
    place = Place(tmp_path, tmp_path / "pack", {}, small=True)
    command = " ".join(place.command(Stage("facts", "tools.gpu.facts", 60, 5), 12.3))
    assert "-m tools.gpu.facts" in command and "--seconds 12.3" in command and command.endswith("--small")


# ----------------------------------------------------------------------------------------------- the comparison


def test_answers_are_the_same_close_or_different():
    a = np.arange(12.0).reshape(3, 4)
    b = a.copy()
    assert agreement.beside(a, b)["verdict"] == "same"
    b[1, 2] += 1e-4
    close = agreement.beside(a, b)
    assert (close["verdict"], close["rows"], close["from"]) == ("close", "2 of 3 the same", "2")
    assert close["apart"] == pytest.approx(1e-4)
    assert agreement.beside(a.astype(int), b.astype(int))["verdict"] == "same"
    assert agreement.beside(a.astype(int), (b + 1).astype(int))["verdict"] == "differs"  # whole numbers are never close
    assert agreement.beside(a, a[:2])["verdict"] == "other shape"
    b[1, 2] = np.nan
    assert agreement.beside(b, b)["verdict"] == "same"


def test_answers_in_other_company_are_compared(tmp_path):
    np.savez(tmp_path / "blocks.npz", **{"x @ blocks of 4": [1, 2], "x @ blocks of 3": [1, 3], "y @ blocks of 4": [0]})
    (row,) = agreement.within(tmp_path)
    assert row["answer"] == "x @ blocks of 3 and blocks of 4" and row["verdict"] == "differs"
    (other := tmp_path / "other").mkdir()
    np.savez(other / "blocks.npz", **{"x @ blocks of 4": [1, 2], "x @ blocks of 3": [1, 2], "y @ blocks of 4": [0]})
    found = {row["answer"]: row["verdict"] for row in agreement.compared(tmp_path, other)}
    assert found == {"x @ blocks of 4": "same", "x @ blocks of 3": "differs", "y @ blocks of 4": "same"}


# ------------------------------------------------------------------------------------------------ from end to end


@pytest.mark.check
def test_experiments_are_imported_without_what_a_bare_machine_lacks(tmp_path):
    for name in LACKING:
        (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError(f'there is no {__name__}', name=__name__)")
    code = "import experiments.shared.training, experiments.e3cs_tables, jfed.commands.page; print('all')"
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all\n"), done.stderr


@pytest.mark.proof
def test_everything_at_a_tiny_size_on_a_bare_machine(tmp_path):
    """A copy of the tree, a plain start from another folder, and none of the packages that such a machine lacks."""
    copy, lacking = tmp_path / "copy", tmp_path / "lacking"
    for name in ("jfed", "experiments", "benchmarks", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    lacking.mkdir()
    for name in LACKING:
        (lacking / f"{name}.py").write_text("raise ModuleNotFoundError(f'there is no {__name__}', name=__name__)")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JFED", "XLA", "JAX"))}
    command = [sys.executable, str(copy / "tools" / "gpu_run.py"), "--out", str(tmp_path / "out"), "--small"]
    done = subprocess.run(
        command, cwd=tmp_path, env=env | {"PYTHONPATH": str(lacking)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "facts.tar.gz", "lanes.tar.gz", "log.txt", "memory.tar.gz", "selection.tar.gz", "tables.tar.gz",
    ]  # fmt: skip
    assert all(path.stat().st_size <= tars.LIMIT for path in out.iterdir())
    assert {"facts/facts.csv", "facts/agreement.csv", "facts/blocks.csv"} <= set(names_in(out / "facts.tar.gz"))
    assert {"tables/cifar/tables/per_run.csv", "tables/cifar_runs.csv"} <= set(names_in(out / "tables.tar.gz"))
    for name in ("lanes", "memory", "selection"):
        assert f"{name}/{name}.csv" in names_in(out / f"{name}.tar.gz")
    assert "differs" not in (out / "log.txt").read_text() and "Traceback" not in done.stdout
