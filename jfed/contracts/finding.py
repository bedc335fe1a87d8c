"""Findings of a check: for each rule, that a member keeps it, or one sentence that says how it breaks it."""

import re
import traceback
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar, overload

from jfed.core.errors import ConfigError

Value = TypeVar("Value")
HINTS = {  # what to do about jax's own errors, by the name of their class
    "TracerBoolConversionError": "a traced value cannot decide a Python `if`: use jnp.where or jax.lax.cond",
    "ConcretizationTypeError": "a traced value cannot be a size or a Python number: use a static field or a mask",
    "TracerIntegerConversionError": "a traced value cannot be a size or a Python index: use a mask or jnp.take",
    "TracerArrayConversionError": "NumPy cannot compute with traced values: use jax.numpy",
    "NonConcreteBooleanIndexError": "a mask cannot change the size of an array: use jnp.where",
    "UnexpectedTracerError": "a value of one trace was kept in Python for another: return it in the state",
}
ABSENT = "a fact without its name in `wants`, and the oracle without `needs_oracle`, are None"
LONGEST = 240


class Finding(NamedTuple):
    """One rule, and whether a member keeps it.

    Attributes:
        member: name of the member.
        rule: name of the rule.
        sentence: what is wrong and what to do; None if the rule holds.
        note: a further remark, such as that a scheme draws nothing.
    """

    member: str
    rule: str
    sentence: str | None = None
    note: str = ""


class Broken(Exception):
    """The error of a broken rule.

    Attributes:
        sentence: what is wrong and what to do.
        rule: name of the broken rule, if it is not the one that was tried.
    """

    def __init__(self, sentence: str, rule: str = "") -> None:
        super().__init__(sentence)
        self.sentence, self.rule = sentence, rule


class Failed(Exception):
    """The error of a member's function that raised another error, which is the cause.

    Attributes:
        function: name of the function.
    """

    def __init__(self, function: str) -> None:
        super().__init__(function)
        self.function = function


class Untried(Exception):
    """The error of a rule that cannot be tried, because something that it needs is missing or has failed before."""


class shared(Generic[Value]):
    """A property of a bench that is computed once; after a failure, each further access raises `Untried`."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.name = make, make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, bench: None, owner: type[Any]) -> "shared[Value]": ...
    @overload
    def __get__(self, bench: object, owner: type[Any]) -> Value: ...
    def __get__(self, bench: Any, owner: type[Any]) -> Any:
        """Return the value, or raise `Untried` if computing it failed before."""
        if bench is None:
            return self
        made = bench.__dict__.setdefault("made", {})
        if self.name not in made:
            made[self.name] = Untried
            made[self.name] = self.make(bench)
        if made[self.name] is Untried:
            raise Untried(self.name)
        return made[self.name]


Rules = Iterable[tuple[str, Callable[[Any], str | None]]]
"""Names of rules, and functions of a bench, which raise if the rule is broken and may return a note."""


def require(condition: Any, sentence: str, rule: str = "") -> None:
    """Raise `Broken` with the sentence unless the condition holds."""
    if not bool(condition):
        raise Broken(sentence, rule)


def findings(member: str, home: Path | None, rules: Rules, bench: Any, only: Collection[str] = ()) -> list[Finding]:
    """Return the finding of each rule, without rules that could not be tried because another failed.

    Args:
        member: name of the member.
        home: file of the member's own code, in which errors are located.
        rules: rules of its room; a rule comes after those that check what it needs.
        bench: argument of the rules.
        only: rules to try; all of them by default.
    """
    found = []
    for name, rule in rules:
        if only and name not in only:
            continue
        try:
            found.append(Finding(member, name, None, rule(bench) or ""))
        except Untried:
            continue
        except Broken as broken:
            found.append(Finding(member, broken.rule or name, broken.sentence))
        except Exception as error:  # whatever a member's code may raise
            found.append(Finding(member, name, explained(error, home)))
    return found


def explained(error: Exception, home: Path | None) -> str:
    """Return one sentence for an error of a member's code: its type, the start of its message, and where it arose."""
    where = ""
    if isinstance(error, Failed) and isinstance(error.__cause__, Exception):
        where, error = f"{error.function} raises ", error.__cause__
    if isinstance(error, ConfigError):
        return str(error)
    parts = [part.strip() for part in re.split(r"\n|\. |\.$", str(error).strip())]
    kind, message = type(error).__name__, parts[0]
    if message.endswith(":"):  # what follows is on another line
        message = " ".join([message, *[part for part in parts[1:] if part][:1]])
    message = f"{kind}: {message}" if message else kind
    if len(message) > LONGEST:
        message = message[:LONGEST].rsplit(" ", 1)[0] + " ..."
    hint = next((f"; {HINTS[base.__name__]}" for base in type(error).__mro__ if base.__name__ in HINTS), "")
    if "NoneType" in message:
        hint = f"; {ABSENT}"
    return f"{where}{message}{located(error, home)}{hint}."


def located(error: BaseException, home: Path | None) -> str:
    """Return where in a member's own file an error arose, as " (my_scheme.py:23)"; "" if that is not known."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if home is not None and Path(frame.filename).resolve() == home]
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""


def file_of(module: ModuleType | None) -> Path | None:
    """Return the file of a module; None if it has none."""
    name = getattr(module, "__file__", None)
    return Path(name).resolve() if name else None
