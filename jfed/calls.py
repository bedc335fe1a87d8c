"""Types of arguments, checked where users call: a wrong one gets a sentence that names it, not an error from within."""

import contextlib
import functools
import importlib
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from jfed.core.errors import shown

WORDS: dict[Any, str] = {
    int: "a whole number", float: "a number", bool: "True or False", str: "text", NoneType: "None",
    pd.DataFrame: "a pandas DataFrame", ArrayLike: "numbers", np.ndarray: "numbers",
}  # fmt: skip
XARRAY = {"Dataset": "a Dataset of jfed.run or jfed.load", "DataArray": "scores of jfed.analysis.score"}
MANY = {"a whole number": "whole numbers", "a number": "numbers", "a pandas DataFrame": "pandas DataFrames"}


def typed(function: Callable[..., Any], also: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function that checks its arguments by their annotations before it calls the given one.

    Args:
        function: the function. Annotations that are neither numbers, text, frames, arrays, mappings, sequences nor
            classes of jfed are not checked.
        also: function that gets the keywords which `function` passes on, and that has their annotations.

    Raises:
        ValueError: when called, an argument is of a wrong type; the message has its name.
    """
    signature = inspect.signature(function)
    known = functools.lru_cache(lambda: (_hints(also) if also else {}) | _hints(function))

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        bound = signature.bind(*arguments, **keywords).arguments
        passed_on = [name for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD]
        for name in passed_on:
            bound |= bound.pop(name, {})
        for name, value in bound.items():
            hint = known().get(name, Any)
            if not fits(value, hint):
                text = isinstance(value, Real) and fits(str(value), hint)
                raise ValueError(f"{name} must be {_words(hint)}, got {shown(value)}{f': give {str(value)!r}' * text}")
        return function(*arguments, **keywords)

    return checked


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function, without those of modules that it imports for type checkers only."""
    found = {}
    function = inspect.unwrap(function)
    for name, hint in inspect.get_annotations(function).items():
        names = function.__globals__
        if "xr." in str(hint):
            names = names | {"xr": importlib.import_module("xarray")}  # slow, and loaded by whoever has a Dataset
        with contextlib.suppress(NameError):
            found |= typing.get_type_hints(SimpleNamespace(__annotations__={name: hint}), names)
    return found


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of an annotation; NumPy's scalars are numbers, and text is no sequence."""
    origin, args = get_origin(hint), get_args(hint)
    if hint == ArrayLike or (origin or hint) is np.ndarray:
        return _numbers(value)
    if origin in (Union, UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return isinstance(value, str)  # the function names the choices
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    if not isinstance(kind := origin or hint, type) or hint in (Any, object):
        return True
    if origin is not None and issubclass(kind, Mapping):
        return isinstance(value, Mapping) and all(fits(each, args[1]) for each in value.values())
    if origin is not None and issubclass(kind, Iterable) and kind is not tuple:
        many = isinstance(value, kind | np.ndarray | pd.Index) and not isinstance(value, str | bytes | Mapping)
        known = isinstance(value, list | tuple | np.ndarray)
        return many and getattr(value, "ndim", 1) == 1 and (not known or all(fits(each, args[0]) for each in value))
    return isinstance(value, kind)


def _numbers(value: Any) -> bool:
    try:
        np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)


def _words(hint: Any) -> str:
    """Return what an annotation wants, in words."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in WORDS:
        return WORDS[hint]
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, args)))
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin is not None and issubclass(origin, Mapping):
        return f"a dict of {_many(args[1])}"
    if origin is not None and issubclass(origin, Iterable):
        return f"a list of {_many(args[0])}"
    name = getattr(hint, "__name__", str(hint))
    return XARRAY.get(name, f"of type {name}")


def _many(hint: Any) -> str:
    return MANY.get(words := _words(hint), words)
