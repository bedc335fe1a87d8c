"""Findings from a trace of a member's functions, which runs none of them: shapes, side effects, and equal programs."""

import contextlib
import gc
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jfed.contracts.finding import Broken, Failed, require


def traced(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the shapes of what a member's function returns.

    Raises:
        Failed: the function raised an error.
    """
    try:
        return jax.eval_shape(lambda *xs: function(*xs), *arguments)
    except (Broken, Failed):
        raise
    except Exception as error:
        raise Failed(name) from error


def sketch(tree: Any) -> dict[str, tuple[Any, ...]]:
    """Return the shape and type of every leaf, and whether the type is weak, by path."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): (x.shape, x.dtype, x.weak_type) for path, x in leaves}


def require_constant(before: Any, after: Any, what: str) -> None:
    """Check that a state has the structure, shapes and types of the first one.

    Args:
        before: shapes of the state that `init` returns.
        after: shapes of the state that another function returns.
        what: that function and its result, such as "update returns a state".
    """
    old, new = sketch(before), sketch(after)
    same = jax.tree.structure(before) == jax.tree.structure(after)
    require(
        same and old.keys() == new.keys(),
        f"{what} of another structure than init's: {jax.tree.structure(after)}, not {jax.tree.structure(before)}; every"
        " function must return the structure that init returns, with the same names.",
    )
    for path, (shape, dtype, weak) in old.items():
        now = new[path]
        require(
            (shape, dtype) == now[:2],
            f"{what} in which state{path} is {_type(*now[:2])}, where init's is {_type(shape, dtype)}: cast or fill it,"
            " so that shape and type stay the same.",
        )
        require(
            weak == now[2],
            f"{what} in which the type of state{path} is {_weak(now[2])}, where init's is {_weak(weak)}, so that each"
            " program would compile twice: give Python numbers a type, as in jnp.float32(0) or jnp.zeros(()).",
        )


def _type(shape: tuple[int, ...], dtype: Any) -> str:
    return f"{dtype}{list(shape)}"


def _weak(weak: bool) -> str:
    return "weak (of a Python number)" if weak else "firm"


class Program(NamedTuple):
    """A traced program.

    Attributes:
        text: its text.
        constants: contents of the arrays that it holds.
        effects: whether it calls back to Python or prints.
    """

    text: str
    constants: tuple[bytes, ...]
    effects: bool


def program(function: Callable[..., Any], *arguments: Any) -> Program:
    """Return the program of a function, traced anew."""
    closed = jax.make_jaxpr(lambda *xs: function(*xs))(*arguments)
    text = re.sub(r"0x[0-9a-f]+", "", str(closed))
    effects = bool(closed.effects) or "callback" in text
    return Program(text, tuple(_bytes(x) for x in closed.consts), effects)


def _bytes(constant: Any) -> bytes:
    if hasattr(constant, "dtype") and jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
        constant = jax.random.key_data(constant)
    return np.asarray(constant).tobytes()


def require_pure(function: Callable[..., Any], *arguments: Any) -> Program:
    """Check that a function has no side effects, and return its program.

    Raises:
        Broken: the program changes from trace to trace, leaks a tracer, calls back to Python or prints.
    """
    try:
        first, second = program(function, *arguments), program(function, *arguments)
    except Exception as error:
        if "UnexpectedTracerError" in {base.__name__ for base in type(error).__mro__}:
            raise Broken(
                "A function keeps a value of one trace in Python and uses it in the next: all that lasts must be in the"
                " state that the functions return."
            ) from error
        raise
    require(
        first[:2] == second[:2],
        "A function gives another program when it is traced a second time: it keeps or draws something in Python (a"
        " counter, a list, numpy.random), which must be in the state, or drawn from the key.",
    )
    require(
        not first.effects,
        "A function calls back to Python or prints while it runs: it must be a pure function of its key and its state.",
    )
    require(
        not _leaks(function, *arguments),
        "A function keeps a value of a trace in Python after it ends: all that lasts must be in the state that the"
        " functions return.",
    )
    return first


def _leaks(function: Callable[..., Any], *arguments: Any) -> bool:
    """Return whether a value of a trace of a function outlives it."""

    def trace() -> None:
        jax.eval_shape(lambda *xs: function(*xs), *arguments)

    try:
        with _old_objects_aside(), jax.checking_leaks():
            trace()
    except IndexError:  # by the function itself, or by jax's report of a leak, which found no holder of the value
        trace()
        return True
    except Exception as error:
        if "eaked" in str(error):
            return True
        raise
    return False


@contextlib.contextmanager
def _old_objects_aside() -> Iterator[None]:
    """Put all objects that exist out of the garbage collector's sight.

    After each trace jax collects garbage and looks through all objects for values of that trace, which are younger.
    With the objects of a session that has run for long, this takes most of the time of the rule.
    """
    if gc.get_freeze_count():  # somebody else has put some aside, and wants them to stay there
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def equal(a: Any, b: Any, close: bool = False) -> bool:
    """Return whether two trees of host arrays are the same bit for bit, or, if `close`, up to rounding."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(_close(x, y) if close and np.asarray(x).dtype.kind == "f" else _same(x, y) for x, y in pairs)


def _close(x: Any, y: Any) -> bool:
    return bool(np.allclose(x, y, rtol=1e-4, atol=1e-5, equal_nan=True))


def _same(x: Any, y: Any) -> bool:
    return np.asarray(x).tobytes() == np.asarray(y).tobytes()


def host(tree: Any) -> Any:
    """Return a copy of a tree's arrays on the host, with random keys as their words."""

    def one(x: Any) -> Any:
        return jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x

    return jax.tree.map(np.asarray, jax.device_get(jax.tree.map(one, tree)))
