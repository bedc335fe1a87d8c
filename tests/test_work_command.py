"""`jfed work` and `jfed submit`: a study by several processes."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import assert_same_bits

import jfed

STUDY = 'schemes = ["uniform", "fedcs"]\nnum_clients = 8\ncohort_size = 3\nnum_rounds = 6\nseeds = 4\nblock_size = 1\n'


@pytest.fixture
def study(tmp_path):
    """Return a folder of results in which nothing is computed yet."""
    (tmp_path / "out" / "results").mkdir(parents=True)
    (tmp_path / "out" / "study.toml").write_text(STUDY)
    return tmp_path / "out"


@pytest.fixture(scope="module")
def whole():
    base = jfed.Config(num_clients=8, cohort_size=3, num_rounds=6)
    return jfed.run(jfed.methods(base, ["uniform", "fedcs"]), range(4), progress=False)


@pytest.mark.check
def test_a_study_is_computed_once_and_jfed_run_makes_its_tables(study, whole, told):
    assert told("work", study, "--shard", "2/2").splitlines()[-1] == "8 runs computed here: all are finished."
    assert told("work", study / "study.toml").splitlines()[-1] == "0 runs computed here: all are finished."
    before = {path: path.stat().st_mtime_ns for path in study.glob("results/*")}
    said = told("run", "--config", study / "study.toml", "--num-rounds", 6)
    assert "Primary metric: num_succeeded" in said
    assert {path: path.stat().st_mtime_ns for path in study.glob("results/*")} == before
    assert_same_bits(jfed.load(study), whole)


@pytest.mark.parametrize(
    ("change", "arguments", "sentence"),
    [
        ("", ["--shard", "3"], "--shard is a number of how many, such as 3/100, or pod, found 3."),
        ("", ["--shard", "3/2"], "A shard is a number of how many, such as 3/100, found 3/2."),
        ("until_decided = true\n", [], "--until-decided looks at results as it goes: use `jfed run --on` for it."),
    ],
)
def test_what_cannot_be_worked_at(study, told, change, arguments, sentence):
    text = STUDY.replace("seeds = 4\n", "") + change if change else STUDY
    (study / "study.toml").write_text(text)
    with pytest.raises(SystemExit, match=f"^error: {re.escape(sentence)}$"):
        told("work", study, *arguments)


def test_a_folder_without_a_study(tmp_path, told):
    with pytest.raises(SystemExit, match=r"There is no .*study\.toml: `jfed run` and `jfed submit` write it"):
        told("work", tmp_path)


def test_a_file_that_names_no_folder(tmp_path, told):
    (tmp_path / "mine.toml").write_text(STUDY)
    with pytest.raises(SystemExit, match=r"mine\.toml does not say where results are to be written: add a line"):
        told("work", tmp_path / "mine.toml")


@pytest.mark.check
def test_the_folder_that_a_file_names_is_used_even_if_it_is_the_usual_one(tmp_path, told, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.toml").write_text(STUDY + 'out = "out/run"\n')
    assert told("work", tmp_path / "deep" / "mine.toml").splitlines()[-1] == "8 runs computed here: all are finished."
    assert len(jfed.load(tmp_path / "out" / "run")["run"]) == 8 and not (tmp_path / "deep" / "results").exists()


def environment():
    return os.environ | {"PYTHONPATH": str(Path(jfed.__file__).parents[1])}


def jfed_in(folder, text):
    """Return what a command ends with, run in a process of its own, since submitit writes to its first stderr."""
    command = [sys.executable, "-m", "jfed", *text.split()]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.check
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--array 0", "--array must be at least 1, found 0"),
        ("--slurm partition", "--slurm takes NAME=VALUE, such as slurm_partition=gpu, found partition"),
        ("--cluster local --slurm memory=3", "The jobs cannot be submitted: .*memory"),
        ("--cluster slurm", "There is no Slurm here: sbatch is not found"),
    ],
)
def test_what_cannot_be_submitted(tmp_path, arguments, sentence):
    pytest.importorskip("submitit", reason="submitit is not installed")
    (tmp_path / "study.toml").write_text(STUDY)
    done = jfed_in(tmp_path, f"submit study.toml --out out {arguments}")
    assert done.returncode == 1 and re.search(f"^error: {sentence}", done.stderr, re.M), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.check
def test_jobs_on_this_machine(tmp_path, whole):
    pytest.importorskip("submitit", reason="submitit is not installed")
    (tmp_path / "mine.toml").write_text(STUDY)
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "jfed",
        "submit",
        "mine.toml",
        "--array",
        "2",
        "--cluster",
        "local",
        "--out",
        "out",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Tables, later: jfed run --config {out / 'study.toml'}"
    jobs = [folder for folder in (out / "jobs").iterdir() if folder.name.isdecimal()]
    assert len(jobs) == 2
    while not all(list(job.glob("*_result.pkl")) for job in jobs):
        time.sleep(0.1)
    said = [path.read_text() for job in jobs for path in job.glob("*.out")]
    assert sum(int(text.partition(" runs computed here")[0].split()[-1]) for text in said if "computed" in text) == 8
    assert_same_bits(jfed.load(out), whole)


@pytest.mark.check
def test_two_processes_of_jax_distributed(study, whole):
    given = {"OMPI_MCA_orte_hnp_uri": "1234567890.0;tcp://127.0.0.1:34911", "OMPI_COMM_WORLD_SIZE": "2"}
    names = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "jfed", "work", str(study), "--shard", "pod"],
            env=environment() | given | dict.fromkeys(names, str(rank)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    told = [one.communicate(timeout=200) for one in both]
    assert [one.returncode for one in both] == [0, 0], told
    assert sum(int(out.split()[0]) for out, _ in told) == 8
    assert_same_bits(jfed.load(study), whole)
