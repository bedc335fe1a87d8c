"""The training that the flags of `jfed run` describe."""

from dataclasses import fields, replace
from typing import Any

from jfed.commands.flags import Learning, Settings
from jfed.config import SAMPLES, Config, Training, has
from jfed.config import replace as with_settings
from jfed.controllers import epochs, fixed
from jfed.core.errors import require
from jfed.data.partition import NATURAL
from jfed.runner import feed

SAME = (
    "dataset", "partition", "test_fraction", "test_set", "model", "algorithm", "batch_size", "average_over",
    "final_model",
)  # fmt: skip
ROUNDS, SEEDS = {False: 2500, True: 200}, {False: 30, True: 10}  # by default, with and without training
EVAL_EVERY = 5


def with_defaults(settings: Settings) -> Settings:
    """Return the settings with those defaults filled in that depend on whether something is learned.

    Raises:
        ConfigError: a flag is about training, or about models, and there is none.
    """
    learning, trains = settings.training, settings.training.dataset is not None
    given = [f"--{f.name.replace('_', '-')}" for f in fields(Learning) if getattr(learning, f.name) not in (None, ())]
    verb = "needs" if len(given) == 1 else "need"
    require(trains or not given, f"{' and '.join(given)} {verb} something to learn: name a data set with --dataset.")
    metric = settings.results.metric or (("test_accuracy",) if trains else ("num_succeeded",))
    for name in metric:
        require(trains or not name.startswith("test_"), f"--metric {name} is one of models: name a --dataset to learn.")
    amount, horizon, seeds = settings.amount, ROUNDS[trains], SEEDS[trains]
    amount = replace(
        amount,
        num_rounds=horizon if amount.num_rounds is None else amount.num_rounds,
        seeds=seeds if amount.seeds is None else amount.seeds,
    )
    if trains and learning.eval_every is None:
        learning = replace(learning, eval_every=EVAL_EVERY)
    return replace(settings, amount=amount, training=learning, results=replace(settings.results, metric=metric))


def config(settings: Settings) -> Config:
    """Return the config of every scheme, from settings that have their defaults.

    Raises:
        ConfigError: a flag has a value that cannot be run.
    """
    learning, what = settings.training, settings.what
    base = Config(
        what.num_clients, what.cohort_size, settings.amount.num_rounds or 0, environment=what.world
    )  # fmt: skip
    if learning.dataset is None:
        return base
    require(
        not learning.epochs or learning.local_steps is None,
        "--epochs and --local-steps say the same thing in two ways: give one of them.",
    )
    require(
        all(0 < target <= 1 for target in learning.targets),
        f"--targets are accuracies in (0, 1], found {' '.join(f'{target:g}' for target in learning.targets)}.",
    )
    made: dict[str, Any] = {"training": _training(learning, what.num_clients), "eval_every": learning.eval_every}
    if learning.epochs:
        made["controller"] = epochs.Options(learning.epochs)
    if learning.local_steps is not None:
        made["controller"] = fixed.Options(learning.local_steps)
    return replace(base, **made)


def _training(learning: Learning, num_clients: int) -> Training:
    given = {name: value for name in SAME if (value := getattr(learning, name)) is not None}
    training = Training(**given, samples_per_client=learning.samples_per_client)
    for name in ("learning_rate", "momentum"):
        value = getattr(learning, name)
        if value is None:
            continue
        require(has(training.algorithm, name), f"The algorithm {learning.algorithm} has no {name}: leave it out.")
        training = with_settings(training, {f"algorithm.{name}": value})
    partition = training.partition or (NATURAL if training.dataset.has_owners() else "")
    if training.samples_per_client is None and partition != NATURAL:
        many = len(feed.dataset(training.dataset, learning.data_dir).labels) // max(num_clients, 1)
        training = replace(training, samples_per_client=max(1, min(SAMPLES, many)))
    return training
