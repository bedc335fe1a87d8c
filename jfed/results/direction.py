"""The one rule that says whether a higher or a lower value of a metric is better."""

import re

HIGHER = frozenset(
    [
        "accuracy",
        "acc",
        "auc",
        "f1",
        "precision",
        "recall",
        "succeeded",
        "success",
        "successes",
        "participation",
        "returned",
        "reward",
        "utility",
        "jain",
        "entropy",
        "evenness",
        "throughput",
        "improvement",
        "gain",
        "r2",
        "slack",
        "cep",
    ]
)
LOWER = frozenset(
    [
        "loss",
        "losses",
        "error",
        "errors",
        "err",
        "time",
        "seconds",
        "minutes",
        "hours",
        "rounds",
        "latency",
        "delay",
        "cost",
        "costs",
        "regret",
        "energy",
        "perplexity",
        "ppl",
        "mse",
        "rmse",
        "mae",
        "gini",
        "violation",
        "violations",
        "unfairness",
        "disparity",
        "broken",
        "queue",
        "spent",
    ]
)
SILENT = frozenset(  # words that turn a metric round, or make another one of it
    [
        "variance", "var", "std", "stdev", "sd", "deviation", "stderr", "spread", "range",
        "gap", "difference", "diff", "delta", "change", "ratio", "rank", "per",
        "drop", "dropped", "degradation", "reduction", "reduced", "decrease", "increase", "saved", "saving", "savings",
        "left", "remaining", "efficiency", "budget", "participated", "completed", "survived", "selected",
        "negative", "negated", "neg", "minus", "inverse", "inv", "not", "non", "no", "false",
        "attack", "attacker", "backdoor", "poisoned", "adversarial", "forgetting",
    ]
)  # fmt: skip
UNITS = frozenset(("s", "ms", "j"))  # of what is spent; as the last word only, as in round_time_s


def direction(metric: str) -> bool | None:
    """Return True if a higher value of the metric is better, False if a lower one is, None if its name is silent.

    The words of the name decide: final_loss, "rounds to 65 %" and round_time_s are better if lower, testAccuracy if
    higher. A name with words of both kinds (accuracy_loss), or of neither, says nothing, and nor does one that makes
    something else of them (accuracy_variance, time_saved, backdoor_accuracy, 1 - accuracy).
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|\d+", metric)]
    if SILENT & set(words) or re.match(r"\s*1?\s*[-\u2212]", metric):
        return None
    if "cross" in words:  # of cross_entropy_loss, the loss speaks
        words = [word for word in words if word != "entropy"]
    good = any(word in HIGHER for word in words)
    bad = any(word in LOWER for word in words) or (bool(words) and words[-1] in UNITS)
    return None if good == bad else good


def require_direction(metric: str, higher_is_better: bool | None) -> bool:
    """Return the direction that was told, or else the one that the metric's name says.

    Raises:
        ValueError: neither is known.
    """
    known = direction(metric) if higher_is_better is None else higher_is_better
    if known is None:
        raise ValueError(
            f"the name {metric!r} does not say whether a higher or a lower value is better: say --better higher or"
            " lower (in Python higher_is_better=True or False)"
        )
    return known
