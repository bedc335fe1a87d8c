"""Named schemes: selector options under the names that command lines and tables use.

A name is a scheme's own, such as `fedcs`, or one with a number: `rbcs-f-50` is RBCS-F at V = 50. What the number stands
for is in `FAMILIES`.
"""

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Literal

from jfed.errors import unknown
from jfed.selectors import (
    agnostic,
    best_allocation,
    cs_ucb,
    cs_ucb_q,
    dirichlet,
    e3cs,
    eiffel,
    everybody,
    fedcs,
    least_loss,
    local_accuracy,
    pow_d,
    rbcs_f,
    round_robin,
    uniform,
)

Mode = Literal["faithful", "corrected"]
MODES: dict[str, dict[str, dict[str, Any]]] = {
    "faithful": {"e3cs": {"sampler": "sequential", "clip_exponent": False}, "eiffel": {"scaling": "raw"}},
    "corrected": {"e3cs": {"sampler": "exact", "clip_exponent": True}, "eiffel": {"scaling": "min_max"}},
}
"""What a mode sets in a scheme's options; other schemes have one."""
METHODS: dict[str, Any] = {
    "uniform": uniform.Options(),
    "everybody": everybody.Options(),
    "round-robin": round_robin.Options(),
    "fedcs": fedcs.Options(),
    "pow-d": pow_d.Options(),
    "cpow-d": pow_d.Options(form="cpow-d"),
    "rpow-d": pow_d.Options(form="rpow-d"),
    "local-accuracy": local_accuracy.Options(),
    "lls": least_loss.Options(),
    "lls-polled": least_loss.Options("polled"),
    "agnostic": agnostic.Options(),
    "eiffel": eiffel.Options(),
    "cs-ucb": cs_ucb.Options(),
    "cs-ucb-truncated": cs_ucb.Options(bonus="truncated"),
    "cs-ucb-best": cs_ucb.Options(estimate="truth"),
}
FAMILIES: dict[str, tuple[str, Callable[[float], Any]]] = {
    "fedcs": ("deadline in seconds", lambda x: fedcs.Options(rule="deadline", deadline_s=x)),
    "dirichlet": ("gamma2, the concentration", lambda x: dirichlet.Options(gamma2=x)),
    "rbcs-f": ("V", lambda x: rbcs_f.Options(V=x)),
    "rbcs-f-true": ("V, true times known", lambda x: rbcs_f.Options(V=x, estimate="truth")),
    "cs-ucb-q": ("beta, the weight of queues", lambda x: cs_ucb_q.Options(beta=x)),
}
QUOTAS = {"e3cs": "E3CS", "best": "the best allocation under the quota"}
ALIASES = {"random": "uniform", "powd": "pow-d", "pow_d": "pow-d"}
_NAME = re.compile(r"([a-z0-9-]*?[a-z])-(inc|[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)")


def method(name: str, mode: Mode = "faithful") -> Any:
    """Selector options of a named scheme.

    Args:
        name: a key of `METHODS`; of `FAMILIES` with a number; or `e3cs-Q` or `best-Q` with a quota Q, a share of k/K
            such as 0.5, or inc.
        mode: as published, or corrected; only E3CS and Eiffel have two.

    Raises:
        ConfigError: there is no such scheme or mode.
    """
    if mode not in MODES:
        raise unknown("mode", mode, MODES)
    name = ALIASES.get(name.lower(), name)
    if name == "eiffel":
        return eiffel.Options(**MODES[mode]["eiffel"])
    if name in METHODS:
        return METHODS[name]
    if match := _NAME.fullmatch(name):
        kind, number = match.groups()
        if kind in QUOTAS:
            quota: float | str = number if number == "inc" else float(number)
            return e3cs.Options(quota, **MODES[mode]["e3cs"]) if kind == "e3cs" else best_allocation.Options(quota)
        if kind in FAMILIES and number != "inc":
            return FAMILIES[kind][1](float(number))
    raise unknown("scheme", name, [*METHODS, *examples()])


def number_of(name: str) -> str:
    """The option that the number in a scheme's name stands for, such as V; "" where there is none."""
    match = _NAME.fullmatch(name)
    if name in METHODS or not match or match[1] not in {**FAMILIES, **QUOTAS}:
        return ""
    if match[1] in QUOTAS:
        return "quota"
    low, high = (FAMILIES[match[1]][1](number) for number in (0.25, 0.5))
    return next(f.name for f in dataclasses.fields(low) if getattr(low, f.name) != getattr(high, f.name))


def examples() -> list[str]:
    """A name of each family."""
    return ["e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc", "best-0", "fedcs-3", "dirichlet-1", "rbcs-f-20",
            "rbcs-f-true-20", "cs-ucb-q-0.001"]  # fmt: skip


def has_modes(name: str) -> bool:
    """Whether a scheme has a corrected form of its own."""
    return method(name, "faithful") != method(name, "corrected")


def canonical_name(name: str) -> str:
    """The name under which tables list a scheme: `random` is `uniform`, `e3cs-0.50` is `e3cs-0.5`."""
    name = ALIASES.get(name.lower(), name)
    match = _NAME.fullmatch(name)
    return f"{match[1]}-{float(match[2]):g}" if match and match[2] != "inc" and name not in METHODS else name
