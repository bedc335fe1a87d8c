"""`jfed run`: with training and without, from its flags to tables, figures and the file of its flags."""

import numpy as np
import pandas as pd
import pytest

import jfed
from jfed.commands.flags import Settings, changed
from jfed.commands.learning import config, with_defaults
from jfed.config import Config, Training
from jfed.controllers import epochs, fixed
from jfed.core.errors import ConfigError
from jfed.report.figures import savers
from jfed.report.figures.savers import Savers

SMALL = ("--num-clients", 8, "--cohort-size", 5, "--num-rounds", 6, "--seeds", 2)
TRAINED = ("--dataset", "digits", "--samples-per-client", 20, "--batch-size", 8, "--test-set", "official")


def asked(**flags):
    return config(with_defaults(changed(Settings(), **flags)))


def test_flags_are_the_configuration():
    assert asked(num_clients=8, cohort_size=3, num_rounds=6, world="edge") == Config(8, 3, 6, environment="edge")
    found = asked(
        dataset="digits", partition="iid", samples_per_client=20, test_fraction=0.0, test_set="official", model="mlp",
        algorithm="fedprox", learning_rate=0.5, momentum=0.25, batch_size=8, average_over="returned",
        final_model="mean", eval_every=2, epochs=(1, 3), num_rounds=6,
    )  # fmt: skip
    algorithm = jfed.replace(jfed.Training(algorithm="fedprox").algorithm, {"learning_rate": 0.5, "momentum": 0.25})
    training = Training("digits", "iid", (), 20, 0.0, "official", "mlp", algorithm, 8, "returned", "mean")
    assert found == Config(num_rounds=6, eval_every=2, controller=epochs.Options((1, 3)), training=training)
    assert asked(dataset="digits", local_steps=4).controller == fixed.Options(4)


def test_what_is_not_given_has_the_defaults_of_the_package_and_fits_the_data():
    assert asked() == Config()
    found = asked(dataset="digits")
    assert found == Config(num_rounds=200, eval_every=5, training=Training(samples_per_client=1437 // 100))
    assert asked(dataset="digits", num_clients=2).training.samples_per_client == 500
    assert asked(dataset="synthetic-1-1", num_clients=8).training == Training("synthetic-1-1")
    amount = with_defaults(changed(Settings(), dataset="digits", seeds="3:5")).amount
    assert (amount.num_rounds, amount.seeds) == (200, "3:5")
    assert with_defaults(Settings()).amount.seeds == 30
    assert with_defaults(Settings()).results.metric == ("num_succeeded",)
    assert with_defaults(changed(Settings(), dataset="digits")).results.metric == ("test_accuracy",)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"model": "cnn"}, r"--model needs something to learn: name a data set with --dataset\."),
        ({"targets": (0.5,), "epochs": (1,)}, "--epochs and --targets need something to learn"),
        ({"metric": ("test_loss",)}, "--metric test_loss is one of models: name a --dataset to learn"),
        ({"dataset": "digits", "epochs": (1,), "local_steps": 2}, "--epochs and --local-steps say the same thing"),
        ({"dataset": "digits", "targets": (70.0,)}, r"--targets are accuracies in \(0, 1\], found 70"),
        ({"dataset": "digits", "algorithm": "scaffold", "momentum": 0.5}, "The algorithm scaffold has no momentum"),
        ({"dataset": "digit"}, r"unknown data set 'digit' \(did you mean 'digits'"),
    ],
)
def test_flags_that_do_not_fit(flags, sentence):
    with pytest.raises(ConfigError, match=sentence):
        asked(**flags)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--seeds", 0), r"^error: --seeds 0 asks for no seed: give how many \(30\)"),
        (("--seeds", -1), "^error: --seeds -1 asks for no seed"),
        (("--seeds", 0, 0), "^error: --seeds 0 0 names seed 0 twice"),
        (("--num-clients", 0), "^error: There must be at least one client, found K = 0"),
        (("--schemes",), "^error: Name at least one scheme"),
        (("--minutes", -1), r"^error: --minutes must be finite and at least 0, found -1\.0"),
        (("--until-decided", "--metric", "num_succeeded", "round_time_s"), "^error: --until-decided decides by one"),
        ((*TRAINED, "--samples-per-client", 400), "^error: 8 clients ask for 3,200 images"),
    ],
)
def test_a_refused_command_leaves_nothing(told, tmp_path, flags, sentence):
    with pytest.raises(SystemExit, match=sentence):
        told("run", *SMALL, *flags, "--out", tmp_path / "o")
    assert not (tmp_path / "o").exists()


@pytest.mark.check
def test_a_dry_run_tells_and_leaves_nothing(told, tmp_path):
    flags = (*SMALL, "--schemes", "uniform", "fedcs", "--out", tmp_path / "o")
    said = told("run", *flags, "--dry-run").splitlines()
    assert said[0] == "Runs      4 in all, 0 of them done" and said[1] == "Programs  2 to compile"
    assert [line.split()[0] for line in said[2:]] == ["Time", "Memory", "Disk", "Nothing"]
    assert not (tmp_path / "o").exists()
    base = Config(8, 5, 6)
    jfed.run(jfed.methods(base, ["uniform"]), range(2), out=tmp_path / "o", progress=False)
    said = told("run", *flags, "--dry-run").splitlines()
    assert said[0] == "Runs      4 in all, 2 of them done" and said[1] == "Programs  1 to compile"
    said = told("run", *flags, "--schemes", "uniform", "--dry-run").splitlines()
    assert said == [
        "Runs      2 in all, 2 of them done", "Programs  0 to compile", "Nothing is left to compute."
    ]  # fmt: skip


@pytest.mark.check
@pytest.mark.usefixtures("plain_pdf")
def test_swept_rounds_and_an_axis_with_one_value(told, tmp_path):
    flags = ("--schemes", "uniform", "fedcs", "--sweep", "num_rounds=3,6", "cohort_size=4", "--out", tmp_path)
    told("run", *SMALL, *flags)
    runs = pd.read_csv(tmp_path / "tables" / "per_run.csv")
    assert runs.num_rounds.value_counts().to_dict() == {3: 4, 6: 4} and (runs.num_succeeded > 0).all()
    mine = {(r.scheme, r.num_rounds, r.seed): r.num_succeeded for r in runs.itertuples()}
    found = jfed.load(tmp_path)
    for i, name in enumerate(found["method"].values):
        key = (
            "fedcs (oracle)" if name == "fedcs" else name,
            *(int(found[c].values[i]) for c in ("num_rounds", "seed")),
        )
        assert mine[key] == found["num_succeeded"].values[i].astype(float)[: key[1]].sum()
    wide = pd.read_csv(tmp_path / "tables" / "wide_num_succeeded.csv")
    assert set(wide["column"]) == {"num_rounds = 3", "num_rounds = 6"}


@pytest.mark.check
@pytest.mark.usefixtures("plain_pdf")
def test_rounds_to_accuracy_until_decided_are_told_and_not_compared(told, tmp_path):
    small = [word for word in SMALL if word not in ("--seeds", 2)] if "--seeds" in SMALL else SMALL
    flags = ("--until-decided", "--looks", 2, 3, "--targets", 0.01, "--schemes", "uniform", "fedcs")
    told("run", *small, *TRAINED, *flags, "--out", tmp_path)
    written = {path.stem for path in (tmp_path / "tables").glob("*.csv")}
    assert "rounds_to_accuracy" in written and not any(name.startswith("rounds_to_1") for name in written)
    assert (tmp_path / "figures" / "arrivals_1.png").exists()
    assert "seeds = " not in (tmp_path / "study.toml").read_text().replace("max_seeds = ", "").replace("tune_seeds", "")
    with pytest.raises(SystemExit, match="--until-decided adds seeds by itself: leave out --seeds"):
        told("run", *small, "--seeds", 3, "--until-decided", "--out", tmp_path / "x")


@pytest.mark.check
@pytest.mark.usefixtures("plain_pdf")
def test_a_study_with_training_leaves_what_an_experiment_leaves(told, tmp_path):
    out = tmp_path / "o"
    flags = (*SMALL, *TRAINED, "--eval-every", 2, "--targets", 0.01, 0.99, "--metric", "test_accuracy", "num_succeeded")
    said = told("run", *flags, "--schemes", "uniform", "fedcs", "--out", out)
    assert "test_accuracy (digits)" in said and "num_succeeded (digits)" in said and "Rounds to accuracy" in said
    results = jfed.load(out)
    accuracy = results["test_accuracy"].values[:, -1]
    runs = pd.read_csv(out / "tables" / "per_run.csv")
    assert runs.scheme.tolist() == ["uniform"] * 2 + ["fedcs (oracle)"] * 2 and runs.seed.tolist() == [0, 1] * 2
    assert runs.num_succeeded.sum() == results["num_succeeded"].sum()
    measured = {(m, s): x for m, s, x in zip(results["method"].values, results["seed"].values, accuracy, strict=True)}
    own = [measured[scheme.split()[0], seed] for scheme, seed in zip(runs.scheme, runs.seed, strict=True)]
    np.testing.assert_allclose(runs.final_accuracy, own, rtol=1e-5)
    assert (runs["rounds to 1 %"] == 2).all() and np.isinf(runs["rounds to 99 %"]).all()
    tables = {"test_accuracy", "num_succeeded", "rounds_to_accuracy", "rounds_to_1"}
    assert {path.stem for path in (out / "tables").glob("*.tex")} == tables
    figures = {"accuracy", "accuracy_by_models", "accuracy_by_steps", "participation", "selections", "selection_map"}
    figures |= {"arrivals_1", "differences_final_accuracy", "differences_num_succeeded"}
    assert {path.stem for path in (out / "figures").glob("*.png")} == figures
    last = said.partition("Results  ")[2].splitlines()[1:]
    assert last[-1] == f"Study    {out / 'study.toml'}"
    assert {line.split()[-1].removesuffix(".csv") for line in last if line.startswith(9 * " ")} == (
        tables | figures | {"per_run"}
    )
    again = told("run", "--config", out / "study.toml", "--dry-run")
    assert again.startswith("Runs      4 in all, 4 of them done") and "Nothing is left to compute." in again


@pytest.fixture
def drawn(monkeypatch):
    """Return the stems of figures, which are drawn but not saved: that takes most of the time."""
    found = []
    monkeypatch.setattr(Savers, "save", lambda self, figure, folder, stem: found.append(stem) or [])
    monkeypatch.setattr(savers, "MOST", 0)
    return found


@pytest.mark.check
def test_a_sweep_of_data_sets_has_figures_of_each(told, tmp_path, drawn):
    labels = np.arange(240) % 3
    images = np.eye(3)[labels] + np.arange(240)[:, None] % 7
    parts = {"images": images, "labels": labels, "test_images": images[:9], "test_labels": labels[:9]}
    np.savez(tmp_path / "mine.npz", **parts)
    flags = ("--schemes", "uniform", "--eval-every", 2)
    sweep = ("--sweep", f"training.dataset=digits,{tmp_path / 'mine.npz'}")
    told("run", *SMALL, *TRAINED, *flags, *sweep, "--out", tmp_path / "o")
    stems = {stem for stem in drawn if stem.startswith("accuracy_dataset")}
    assert len(drawn) == len(set(drawn)) and len(stems) == 2 and "accuracy_dataset_digits" in stems
    runs = pd.read_csv(tmp_path / "o" / "tables" / "per_run.csv")
    assert runs.groupby("dataset").seed.agg(list).to_dict() == {"digits": [0, 1], str(tmp_path / "mine.npz"): [0, 1]}


@pytest.mark.check
def test_a_study_without_training_is_drawn_too(told, tmp_path, drawn):
    flags = ("--num-clients", 8, "--cohort-size", 3, "--num-rounds", 6, "--schemes", "uniform", "round-robin")
    said = told("run", *flags, "--seeds", 2, 5, "--out", tmp_path, "--tensorboard")
    curves = {f"{name}, 2 seeds from 2" for name in ("uniform", "round-robin")}
    assert {path.name for path in (tmp_path / "tensorboard").iterdir()} == curves
    assert pd.read_csv(tmp_path / "tables" / "per_run.csv").seed.tolist() == [2, 5, 2, 5]
    assert "num_succeeded (no training)" in said
    assert set(drawn) == {"participation", "selections", "selection_map", "differences_num_succeeded"}
