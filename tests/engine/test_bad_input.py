"""Settings that cannot be run are refused in one sentence, before anything compiles."""

import dataclasses

import numpy as np
import pytest
from refusals import attempt, refused
from support import LAYOUT, SELECTION, TRAINING, points

import jfed
from jfed.algorithms import local_sgd
from jfed.controllers import epochs
from jfed.core.errors import DataError
from jfed.envs import volatility
from jfed.models import dense
from jfed.selectors import best_allocation, cs_ucb_q, e3cs, pow_d, rbcs_f

pytestmark = pytest.mark.usefixtures("types_unchecked")

QUOTA = "The quota is given as a share of k/K and must lie in [0, 1], found "
CHOICES = "controller.choices must be tuple[int, ...], found "
SETTINGS = {
    "k above K": ({"cohort_size": 9}, "Cannot select k = 9 of K = 8 clients."),
    "k = 0": ({"cohort_size": 0}, "At least one client must be selected each round, found k = 0."),
    "no clients": ({"num_clients": 0}, "There must be at least one client, found K = 0."),
    "T = 0": ({"num_rounds": 0}, "There must be at least one round, found T = 0."),
    "eval_every = 0": ({"eval_every": 0}, "eval_every must be at least 1, found 0."),
    "quota above 1": ({"selector.quota": 1.5}, QUOTA + "1.5 ("),
    "quota below 0": ({"selector.quota": -0.1}, QUOTA + "-0.1 ("),
    "quota NaN": ({"selector.quota": float("nan")}, QUOTA + "nan ("),
    "unknown quota schedule": ({"selector.quota": "dec"}, "The quota schedule 'dec' is unknown: give"),
    "quota schedule of another length": ({"selector.quota": (0.5, 0.5)}, "quota schedule has 2 values for 6 rounds."),
    "empty quota schedule": ({"selector.quota": ()}, "The quota schedule has 0 values for 6 rounds."),
    "quota schedule of two axes": (
        {"selector.quota": ((0.5,) * 6,) * 6},
        "must be float | str | tuple[float, ...], found ((0.5,",
    ),
    "quota of the optimum": ({"selector": best_allocation.Options(quota=2.0)}, QUOTA + "2 ("),
    "eta = 0": ({"selector.eta": 0.0}, "E3CS's learning rate eta must be positive, found 0."),
    "eta infinite": ({"selector.eta": float("inf")}, "E3CS's learning rate eta must be positive, found inf."),
    "eta NaN": ({"selector.eta": float("nan")}, "E3CS's learning rate eta must be positive, found nan."),
    "unknown sampler": ({"selector.sampler": "poisson"}, "Literal['sequential', 'exact'], found 'poisson'."),
    "rate above 1": ({"environment.success_rates": (0.5, 1.1)}, "Success rates must lie in [0, 1], found 1.1."),
    "rate below 0": ({"environment.success_rates": (-0.5,)}, "Success rates must lie in [0, 1], found -0.5."),
    "rate NaN": ({"environment.success_rates": (float("nan"),)}, "Success rates must lie in [0, 1], found nan."),
    "no rates": ({"environment.success_rates": ()}, "At least one success rate is needed."),
    "more classes than clients": (
        {"environment.success_rates": (0.5,) * 9},
        "9 classes of success rates for only 8 clients.",
    ),
    "options of another room": (
        {"selector": volatility.Options()},
        "The scheme must be a name or options on jfed.SelectorOptions, found jfed.envs.volatility.Options.",
    ),
    "no options at all": (
        {"environment": None},
        "The world must be a name or options on jfed.EnvironmentOptions, found None.",
    ),
    "no epochs": ({"controller.choices": ()}, "Local epochs must be non-negative integers, found ()."),
    "negative epochs": (
        {"controller": epochs.Options(choices=(1, -1))},
        "must be non-negative integers, found (1, -1).",
    ),
    "fractional epochs": ({"controller.choices": (1.5, 2.0)}, CHOICES + "(1.5, 2.0)."),
    "asks for losses": (
        {"selector": pow_d.Options()},
        "x asks clients for their loss, which a selection-only run does not have: set training=jfed.Training(...) in"
        " Python, or name a data set with --dataset, or leave the scheme out.",
    ),
    "an array of rates": (
        {"environment.success_rates": np.array([0.1, 0.9])},
        "environment.success_rates must be tuple[float, ...], found ndarray of shape (2,): put it into tuple(...).",
    ),
    "an array of sizes": ({"num_clients": np.arange(8)}, "num_clients must be int, found ndarray of shape (8,)."),
    "training as a mapping": (
        {"training": {"dataset": np.eye(3)}},
        "training must be jfed.config.Training | None, found {'dataset': ndarray of shape (3, 3)}.",
    ),
    "RBCS-F's promise": (
        {"selector": rbcs_f.Options(beta=0.5)},
        "of 8 clients: that is 4 a round, and k = 3; set beta to at most k / K, or raise k.",
    ),
    "RBCS-F's promise to the absent": (
        {"selector": rbcs_f.Options(beta=0.3), "environment.availability": 0.2},
        "to clients available in 0.2 of them: set beta to at most that share.",
    ),
    "CS-UCB-Q's promise": (
        {"selector": cs_ucb_q.Options(quota=0.5)},
        "quotas of 4 clients a round in all with k = 3: lower quota, or raise k.",
    ),
    "CS-UCB-Q's promise to the absent": (
        {"selector": cs_ucb_q.Options(quota=0.3), "environment.availability": 0.2},
        "to a client that is available in 0.2 of them: set quota below that share.",
    ),
    "fractional k": ({"cohort_size": 2.5}, "cohort_size must be int, found 2.5."),
    "fractional T": ({"num_rounds": 6.5}, "num_rounds must be int, found 6.5."),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings(case):
    delta, words = SETTINGS[case]
    refused(attempt(SELECTION, delta), words)


RATE = "The learning rate must be positive and finite, found "
PROX = "FedProx's coefficient must be finite and not negative, found "
FORM = "selector.form must be Literal['pow-d', 'cpow-d', 'rpow-d'], found 'qpow-d'."
TRAINING_SETTINGS = {
    "d below k": ({"selector": pow_d.Options(d=4)}, "as many candidates as it selects: d = 4 is less than k = 5."),
    "d above K": ({"selector": pow_d.Options(d=9)}, "pow-d cannot have d = 9 candidates among K = 8 clients."),
    "b = 0": ({"selector": pow_d.Options(b=0, form="cpow-d")}, "cpow-d must evaluate at least one image, found b = 0."),
    "unknown form": ({"selector": pow_d.Options(), "selector.form": "qpow-d"}, FORM),
    "learning rate below 0": ({"training.algorithm.learning_rate": -0.1}, RATE + "-0.1."),
    "learning rate 0": ({"training.algorithm.learning_rate": 0.0}, RATE + "0."),
    "learning rate NaN": ({"training.algorithm.learning_rate": float("nan")}, RATE + "nan."),
    "learning rate infinite": ({"training.algorithm.learning_rate": float("inf")}, RATE + "inf."),
    "momentum 1": ({"training.algorithm.momentum": 1.0}, "Momentum must lie in [0, 1), found 1."),
    "prox below 0": ({"training.algorithm": local_sgd.Options(prox=-1.0)}, PROX + "-1."),
    "prox infinite": ({"training.algorithm": local_sgd.Options(prox=float("inf"))}, PROX + "inf."),
    "batch size 0": ({"training.batch_size": 0}, "The batch size must be at least 1, found 0."),
    "fractional batch size": ({"training.batch_size": 2.5}, "training.batch_size must be int, found 2.5."),
    "empty layer": ({"training.model": dense.Options(hidden=(0,))}, "layers need at least one unit, found (0,)."),
    "unknown reading": (
        {"training.average_over": "everybody"},
        "training.average_over must be Literal['all', 'selected', 'returned', 'unscaled'], found 'everybody'.",
    ),
    "unknown test set": (
        {"training.test_set": "validation"},
        "training.test_set must be Literal['reserved', 'official'], found 'validation'.",
    ),
}
DATA_SETTINGS = {
    "unknown data set": ({"training.dataset": "digit"}, "unknown data set 'digit' (did you mean 'digits'?)"),
    "unknown file": (
        {"training.dataset": "f_a.npy"},
        "synthetic-iid, or the path of an .npz file or jfed.arrays(images, labels)",
    ),
    "more images than there are": (
        {"training.samples_per_client": 500},
        "8 clients ask for 4,000 images, but there are only 1,437: lower samples_per_client or num_clients",
    ),
    "sizes of another number": (
        {"training.samples_per_client": (10, 10)},
        "samples_per_client must be one number or 8 numbers, found shape (2,)",
    ),
    "negative size": (
        {"training.samples_per_client": -1},
        "samples_per_client must be whole numbers of at least 0, found -1",
    ),
    "fractional size": (
        {"training.samples_per_client": 2.5},
        "training.samples_per_client must be int | tuple[int, ...] | None, found 2.5.",
    ),
    "no data at all": ({"training.samples_per_client": 0}, "no client has an image to train on: raise samples_"),
    "unknown partition": (
        {"training.partition": "pathological"},
        "unknown partition 'pathological'; the choices are: dirichlet, ",
    ),
    "unknown option of the partition": (
        {"training.partition_options": (("alpha", 0.5),)},
        "unknown option of the partition 'primary' 'alpha'; the choices are: balanced, share",
    ),
    "options of the partition without names": (
        {"training.partition_options": ("share", 0.5)},
        "_options must be names with numbers, such as {'min_samples': 20} or (('min_samples', 20),), found ('share', ",
    ),
    "missing option of the partition": ({"training.partition": "dirichlet"}, "'dirichlet' needs the option 'alpha'"),
    "share above 1": ({"training.partition_options": (("share", 1.5),)}, "share must lie between 0 and 1, found 1.5"),
    "test fraction 1": ({"training.test_fraction": 1.0}, "the test fraction must be at least 0 and below 1, found 1.0"),
    "no test images": (
        {"training.test_set": "reserved", "training.test_fraction": 0.0},
        "there are no test images: reserve a fraction of the clients' data that is at least one",
    ),
}


@pytest.mark.parametrize("case", TRAINING_SETTINGS)
def test_settings_of_training(case):
    delta, words = TRAINING_SETTINGS[case]
    refused(attempt(TRAINING, delta), words)


@pytest.mark.parametrize("case", DATA_SETTINGS)
def test_data(case):
    delta, words = DATA_SETTINGS[case]
    refused(attempt(TRAINING, delta), words)


MADE_IN_PYTHON = {  # without a dotted path
    "unknown sampler": (
        lambda: jfed.Config(selector=e3cs.Options(sampler="poisson")),  # type: ignore[arg-type]
        SETTINGS["unknown sampler"][1],
    ),
    "unknown form": (
        lambda: replaced(TRAINING, selector=pow_d.Options(form="qpow-d")),  # type: ignore[arg-type]
        FORM,
    ),
    "fractional k": (lambda: jfed.Config(cohort_size=2.5), SETTINGS["fractional k"][1]),  # type: ignore[arg-type]
    "fractional epochs": (
        lambda: jfed.Config(controller=epochs.Options(choices=(1.5,))),  # type: ignore[arg-type]
        CHOICES + "(1.5,).",
    ),
    "text for a rate": (
        lambda: jfed.Config(environment=volatility.Options(success_rates=("a",))),  # type: ignore[arg-type]
        "environment.success_rates must be tuple[float, ...], found ('a',).",
    ),
    "unknown reading": (
        lambda: replaced(TRAINING, training=replaced(TRAINING.training, average_over="everybody")),
        TRAINING_SETTINGS["unknown reading"][1],
    ),
    "unknown test set": (
        lambda: replaced(TRAINING, training=replaced(TRAINING.training, test_set="validation")),
        TRAINING_SETTINGS["unknown test set"][1],
    ),
}
replaced = dataclasses.replace


@pytest.mark.parametrize("case", MADE_IN_PYTHON)
def test_settings_made_in_python(case):
    make, words = MADE_IN_PYTHON[case]
    refused(
        lambda: jfed.run([jfed.Point(make(), {"method": "x", "mode": "faithful"})], [0], layout=LAYOUT, progress=False),
        words,
    )


def test_a_data_set_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("JFED_DATA_DIR", str(tmp_path))
    refused(
        attempt(TRAINING, {"training.dataset": "cifar10"}), "the data set 'cifar10' was not found (searched ", DataError
    )


def test_bad_points_are_found_before_good_ones_run(tmp_path):
    where = points(SELECTION, "uniform") + points(SELECTION, "e3cs-0.5", selector__eta=-1.0)
    eta = "E3CS's learning rate eta must be positive, found -1."
    refused(lambda: jfed.run(where, [0], out=tmp_path, layout=LAYOUT, progress=False), eta)
    assert list(tmp_path.iterdir()) == []
