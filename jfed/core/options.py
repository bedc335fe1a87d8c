"""Fields of options: their static and dynamic halves, their types, and their conversion to arrays.

Options are frozen dataclasses (`members.py` has their bases). A field declared with `static` shapes the compiled
program (a mode, a width). Every other field is dynamic: it becomes an array in the member's `Params`, and a sweep over
it compiles once.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from jfed.core.errors import ConfigError, require, shown

Named = TypeVar("Named")


WORDS = {"true": True, "false": False, "none": None}  # which command lines give as text unless they are written right
SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
HUGE = 2**1000  # a whole number beyond it may be no float
STATIC = {"static": True}
"""Metadata of a dataclass field that shapes the compiled program."""


def static(default: Any) -> Any:
    """Return a dataclass field that shapes the compiled program."""
    return dataclasses.field(default=default, metadata=STATIC)


def part(default: Any) -> Any:
    """Return a dataclass field that holds the options of a part, which have static and dynamic fields of their own."""
    return dataclasses.field(default=default, metadata=STATIC | {"part": True})


def parts(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of options, or of their class, that hold the options of a part."""
    return tuple(f.name for f in dataclasses.fields(kind) if f.metadata.get("part", False))


def is_static(field: dataclasses.Field[Any]) -> bool:
    """Return whether a field was declared with `static`."""
    return bool(field.metadata.get("static", False))


def dynamic_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields of an options class that become arrays."""
    return tuple(f.name for f in dataclasses.fields(kind) if not is_static(f))


def as_arrays(kind: Callable[..., Named], **values: Any) -> Named:
    """Return the dynamic half as NumPy arrays: whole numbers become int32, others float64.

    On the device, float64 becomes float32 unless jax's x64 mode is on.
    """
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return kind(**{n: a.astype(np.int32 if a.dtype.kind in "iu" else np.float64) for n, a in arrays.items()})


# --------------------------------------------------------------------------------------------------- types


@functools.lru_cache(maxsize=256)
def hints(kind: type[Any]) -> dict[str, Any]:
    """Return the resolved annotations of a class."""
    return get_type_hints(kind)


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of a field's annotation; a whole number is accepted as a float."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return not isinstance(value, np.ndarray) and value in args
    if origin in (Union, UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = args[:1] * len(value) if args[1:] == (...,) else args
        return len(each) == len(value) and all(map(fits, value, each))
    if hint in (int, float):
        return isinstance(value, (int, float) if hint is float else int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def cast(value: Any, hint: Any) -> Any:
    """Return a value that fits its annotation as that type: 1 becomes 1.0 for a float."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < HUGE else math.inf if value > 0 else -math.inf
    if origin in (Union, UnionType):
        exact = [arg for arg in args if fits(value, arg) and not (arg is float and isinstance(value, int))]
        return cast(value, next(iter([*exact, *(arg for arg in args if fits(value, arg))]), Any))
    if origin is tuple and isinstance(value, tuple):
        each = args[:1] * len(value) if args[1:] == (...,) else args
        return tuple(map(cast, value, each)) if len(each) == len(value) else value
    return value


def typed(options: Any) -> Any:
    """Return options with each number cast by its field's annotation."""
    known = hints(type(options))
    changed = {f.name: cast(getattr(options, f.name), known[f.name]) for f in dataclasses.fields(options) if f.init}
    return dataclasses.replace(options, **changed)


def plain(value: Any) -> Any:
    """Return NumPy's scalars as Python's, in tuples too; return other values as given."""
    if type(value) is tuple:
        made = tuple(map(plain, value))
        return made if any(a is not b for a, b in zip(made, value, strict=True)) else value
    return value.item() if isinstance(value, np.generic) else value


def plain_fields(options: Any) -> Any:
    """Return options with NumPy's scalars as Python's, so that equal settings have one form."""
    own = {f.name: getattr(options, f.name) for f in dataclasses.fields(options) if f.init}
    changed = {name: made for name, value in own.items() if (made := plain(value)) is not value}
    return dataclasses.replace(options, **changed) if changed else options


def require_type(value: Any, hint: Any, name: str, example: str = "") -> None:
    """Check that a setting has the type of its field's annotation, and is the same number in int32 or float32.

    Args:
        value: value of the setting.
        hint: annotation of the field.
        name: name of the setting in messages.
        example: what to write, in place of the annotation's own text.

    Raises:
        ConfigError: it does not, or it is not: it is too large, or so small that it would be 0.
    """
    wanted = example or (hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", ""))
    listed = isinstance(value, np.ndarray | list) and np.ndim(value) == 1 and fits(plain(tuple(value)), hint)
    advice = ": put it into tuple(...)" if listed else ""
    if not fits(value, hint) and fits((value,), hint):
        advice = f": write {(value,)!r}"
    if isinstance(value, str) and value.lower() in WORDS and fits(WORDS[value.lower()], hint):
        advice = f": write {WORDS[value.lower()]}"
    require(fits(value, hint), f"{name} must be {wanted}, found {shown(value)}{advice}.")
    for number in _numbers(cast(value, hint)):
        if isinstance(number, int):
            require(abs(number) < 2**31, f"{name} must be below 2^31, found {shown(value)}.")
        elif number != 0 and math.isfinite(number):
            kept = SMALLEST <= abs(number) <= LARGEST
            require(kept, f"{name} must be 0 or from 1.2e-38 to 3.4e+38 in size, found {shown(value)}.")


def _numbers(value: Any) -> list[int | float]:
    """Return the numbers of a value, those in tuples too."""
    if isinstance(value, tuple):
        return [number for part in value for number in _numbers(part)]
    return [value] if isinstance(value, int | float) else []


def below(path: str, whole: str) -> bool:
    """Return whether a dotted path is that of a part or leads into it."""
    return f"{path}.".startswith(f"{whole}.")


def ordered(paths: Iterable[str]) -> list[str]:
    """Return dotted paths with each part before its own settings, and otherwise in the order given.

    So `environment.waiting` comes before `environment.waiting.deadline_s`, which the part may have that it brings.

    Raises:
        ConfigError: a path is no text.
    """
    paths = list(paths)
    for path in paths:
        require_path(path)
    from_the_top = sorted(paths, key=len)
    return list(dict.fromkeys(one for path in paths for one in from_the_top if below(path, one)))


def require_path(path: Any) -> None:
    """Check that the dotted path of a setting is a text.

    Raises:
        ConfigError: it is not.
    """
    require(isinstance(path, str), f"A setting is named by its path, such as 'selector.eta', found {shown(path)}.")


# --------------------------------------------------------------------------------------------- static half


@dataclass(frozen=True)
class Static:
    """The half of some options that shapes the program; hashable, and equal for equal programs.

    Attributes:
        kind: class of the options.
        fields: names and values of its static fields; of a part its own static half.
    """

    kind: type[Any]
    fields: tuple[tuple[str, Any], ...]

    @functools.cached_property
    def options(self) -> Any:
        """Return options whose static fields can be read; reading a dynamic field raises `ConfigError`."""
        made = object.__new__(_only_static(self.kind))
        own = parts(self.kind)
        for name, value in self.fields:
            object.__setattr__(made, name, value.options if name in own else value)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out `options`, whose class no other process knows."""
        return Static, (self.kind, self.fields)


def static_half(options: Any) -> Static:
    """Return the static half of some options.

    Raises:
        ConfigError: a static field is not hashable, so that it cannot identify a program.
    """
    fields = tuple((f.name, getattr(options, f.name)) for f in dataclasses.fields(options) if is_static(f))
    own = parts(options)
    fields = tuple((name, static_half(value) if name in own else value) for name, value in fields)
    for name, value in fields:
        try:
            hash(value)
        except TypeError as error:
            raise ConfigError(
                f"{type(options).__qualname__}.{name} is static and must be hashable, such as a number, a string or a"
                f" tuple, found {type(value).__name__}."
            ) from error
    return Static(type(options), fields)


@functools.lru_cache(maxsize=256)
def _only_static(kind: type[Any]) -> type[Any]:
    def refuse(name: str) -> property:
        def read(self: Any) -> Any:
            raise ConfigError(
                f"{kind.__qualname__}.make reads {name}, which is dynamic: take it from the params that each function"
                f" gets, or declare it static, as in `{name}: ... = jfed.static(...)`."
            )

        return property(read)

    return type(
        kind.__name__, (kind,), {name: refuse(name) for name in dynamic_names(kind)} | {"__doc__": kind.__doc__}
    )


def require_frozen(options: Any, base: type[Any], what: str, also: str = "") -> None:
    """Check that options are an instance of a frozen dataclass derived from the base of their room.

    Args:
        options: options of a member.
        base: base of their room.
        what: the words for them in messages.
        also: the words for what else could have been given.

    Raises:
        ConfigError: they are a class, derive from another base, or are not frozen.
    """
    kind = type(options)
    if isinstance(options, type):
        raise ConfigError(f"{what} must be options, not their class: write {options.__qualname__}().")
    found = f"{kind.__module__}.{kind.__qualname__}" if dataclasses.is_dataclass(kind) else shown(options)
    others = f", {also}," if also else ""
    require(
        isinstance(options, base), f"{what} must be a name{others} or options on jfed.{base.__name__}, found {found}."
    )
    own = kind.__dict__.get("__dataclass_params__")
    require(
        own is not None and own.frozen,
        f"{kind.__qualname__} must be a frozen dataclass: put @dataclass(frozen=True) above the class.",
    )
