"""Rules for the options of every member: a frozen dataclass, its names, its params and its static half.

A bench holds one member's options and the values that its rules share; each room has its own bench.
"""

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import jax
import numpy as np

from jfed import catalog
from jfed.contracts.finding import Failed, file_of, require, shared
from jfed.contracts.programs import equal
from jfed.core.errors import ConfigError
from jfed.core.options import dynamic_names, fits, hints, require_frozen, static_half
from jfed.core.types import Dims, Problem
from jfed.engine import spec

K, ROUNDS, BATCH = 8, 24, 4
SIZES = (5, 1, 7, 20, 3, 3, 9, 2)  # images of each client
ANSWERS = (0.45, 0.25, 1, 2, 3, 5)  # values to try for a field, after changes of its default


class Bench:
    """One member under test.

    Attributes:
        given: the member's options, or their class.
        room: its room in the catalogue.
        makes: class of what the room's `make` returns.
    """

    makes: type[Any] = object

    def __init__(self, given: Any, room: catalog.Room) -> None:
        self.given, self.room = given, room

    @property
    def kind(self) -> type[Any]:
        """The options' class."""
        return self.given if isinstance(self.given, type) else type(self.given)

    @property
    def home(self) -> Path | None:
        """The file in which the member is defined; None if there is none."""
        return file_of(sys.modules.get(self.kind.__module__))

    @shared
    def options(self) -> Any:
        """The options, checked to be a frozen dataclass on the room's base."""
        options = catalog.instance(self.given)
        require_frozen(options, self.room.base, f"The {self.room.word}")
        return options

    @shared
    def problem(self) -> Problem:
        """The setting in which the member is checked."""
        return Problem(K, 3, ROUNDS, learning_rate=0.01)

    @shared
    def dims(self) -> Dims:
        """Sizes of the member's programs."""
        return Dims(K, K, BATCH)

    @shared
    def params(self) -> Any:
        """The dynamic half, as NumPy arrays."""
        return self.params_of(self.options, self.problem)

    def params_of(self, options: Any, problem: Problem) -> Any:
        """Return the dynamic half of any options.

        Raises:
            Failed: `params` raised an error.
        """
        try:
            return options.params(problem)
        except Exception as error:
            raise Failed("params") from error

    def make(self, options: Any) -> Any:
        """Return the member that some options make."""
        return spec.made(options, self.makes, self.dims)

    @shared
    def member(self) -> Any:
        """The member as the engine makes it, from the static half."""
        try:
            return self.make(static_half(self.options).options)
        except Exception as error:
            raise Failed("make") from error

    @shared
    def varied(self) -> dict[str, Any]:
        """Options with another value of a dynamic field, by field, if the member accepts one that keeps all shapes."""
        return {name: options for name, options, reshaped in self._variations if not reshaped}

    @shared
    def reshaping(self) -> list[str]:
        """Dynamic fields of which each accepted value changes a shape in the params."""
        return [name for name, _, reshaped in self._variations if reshaped]

    @shared
    def _variations(self) -> list[tuple[str, Any, bool]]:
        """Of each dynamic field: its name, the options with another value of it, and whether that changes a shape."""
        found = []
        for name in dynamic_names(self.kind):
            best = None
            for options in _changes(self.options, name):
                try:
                    params = options.params(self.problem)
                except Exception:  # the member refuses the value
                    continue
                reshaped = _shapes(params) != _shapes(self.params)
                if best is None or (best[2] and not reshaped):
                    best = (name, options, reshaped)
                if not reshaped and not equal(params, self.params):
                    best = (name, options, False)
                    break
            found += [best] if best else []
        return found


def _shapes(params: Any) -> Any:
    return jax.tree.structure(params), [np.shape(x) for x in jax.tree.leaves(params)]


def _changes(options: Any, name: str) -> Iterator[Any]:
    """Yield options in which one field has another value that fits its annotation."""
    value, hint = getattr(options, name), hints(type(options))[name]
    for new in _values(value, hint):
        if fits(new, hint) and new != value:
            try:
                yield dataclasses.replace(options, **{name: new})
            except Exception:  # the member refuses the value when its options are made
                continue


def _values(value: Any, hint: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
        return
    moves: list[Callable[[Any], Any]] = [
        lambda x: 0.9 * x, lambda x: 0.5 * x, lambda x: 1.1 * x, lambda x: 2 * x, lambda x: x + 1, lambda x: x - 1,
        lambda x: x + 0.125, lambda x: x - 0.125,
    ]  # fmt: skip
    if value is not None and not isinstance(value, str):
        for move in moves:
            yield _moved(value, move)
    yield from _choices(hint)
    for number in ANSWERS:
        yield float(number)
        yield number


def _moved(value: Any, move: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(x, move) for x in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return round(move(value)) if isinstance(value, int) else move(value)


def _choices(hint: Any) -> Iterator[Any]:
    for arg in get_args(hint):
        if get_origin(hint) is Literal:
            yield arg
        elif get_origin(hint) is Union or get_origin(arg) is Literal:
            yield from _choices(arg)


# --------------------------------------------------------------------------------------------------- rules


def frozen(bench: Bench) -> None:
    """Check that the options are a frozen dataclass, with defaults of the fields' types and hashable static fields."""
    options = bench.options
    static_half(options)
    hash(options)
    known = hints(bench.kind)
    for field in dataclasses.fields(options):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        require(
            default is not dataclasses.MISSING,
            f"The field {field.name} has no default: every field needs one, so that a name is enough to run.",
        )
        wanted = getattr(known[field.name], "__name__", str(known[field.name]))
        require(
            fits(default, known[field.name]),
            f"The default of {field.name} must be {wanted}, as it is annotated, found {default!r}.",
        )


def named(bench: Bench) -> None:
    """Check that names are in small letters and set existing fields."""
    kind, fields = bench.kind, {f.name for f in dataclasses.fields(bench.options)}
    names = kind.called()
    for name in names:
        for word in (name.name, *name.aliases):
            require(
                re.fullmatch(r"[a-z0-9][a-z0-9.-]*", word) is not None,
                f"A name must consist of small letters, digits, . and -, found {word!r}.",
            )
        missing = ({*name.fields} | ({name.number} if name.number else set())) - fields
        require(not missing, f"The name {name.name!r} sets {', '.join(sorted(missing))}, which is no field.")
        require(
            not name.number or name.examples,
            f"The name {name.name!r} takes a number: give examples of it, for lists and tests.",
        )
    for mode, changed in (kind.modes._asdict() if kind.modes else {}).items():
        missing = {*changed} - fields
        require(not missing, f"The mode {mode!r} sets {', '.join(sorted(missing))}, which is no field.")
    words = [(name.name, bool(name.number)) for name in names]
    require(len(set(words)) == len(words), f"Two names are the same, among {', '.join(name for name, _ in words)}.")


def arrays(bench: Bench) -> str | None:
    """Check that params are NumPy arrays of numbers, equal for equal options, of shapes that no number changes."""
    again = bench.params_of(bench.options, bench.problem)
    for path, leaf in jax.tree_util.tree_leaves_with_path(bench.params):
        where = f"params{jax.tree_util.keystr(path)}"
        require(
            isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind in "biuf",
            f"{where} must be a NumPy array of numbers, found {type(leaf).__name__}: end params with"
            " jfed.as_arrays(Params, ...).",
        )
        require(
            leaf.dtype in (np.int32, np.float64, np.bool_),
            f"{where} must be int32, float64 or bool, found {leaf.dtype}: end params with jfed.as_arrays(Params, ...).",
        )
    require(equal(again, bench.params), "params gives other numbers for the same options when it is called again.")
    for size in (1, 2, K):
        try:
            other = bench.options.params(bench.problem._replace(cohort_size=size))
        except ConfigError:  # a promise that such a cohort cannot keep
            continue
        require(
            _shapes(other) == _shapes(bench.params),
            f"The shapes in params change with the size of the cohort (k = {size}), so that a sweep over it compiles"
            " again: they may depend on K and T only.",
        )
    require(
        not bench.reshaping,
        f"Another value of {', '.join(bench.reshaping)} changes a shape in params, so that a sweep over it compiles"
        " again: declare the field with jfed.static(...).",
    )
    idle = [name for name, options in bench.varied.items() if equal(options.params(bench.problem), bench.params)]
    stuck = [name for name in dynamic_names(bench.kind) if name not in bench.varied]
    notes = [f"{', '.join(idle)} changes nothing in params here"] if idle else []
    notes += [f"no second value of {', '.join(stuck)} was found to compare"] if stuck else []
    return "; ".join(notes) or None


def made(bench: Bench) -> None:
    """Check that `make` works on the static half of the options, without a dynamic field."""
    bench.member  # noqa: B018
