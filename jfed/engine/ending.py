"""Runs that a controller ends before their last round: when a run is over, and what stays unchanged after that.

Only this module knows whether a controller ends runs. If it never does, `RunState.ended_round` is None, a run always
goes on, and the compiled program contains nothing of this module.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Bool, Int

from jfed.core import ops
from jfed.core.interfaces import Controller

Ended = Int[Array, "*runs"] | None
_T = TypeVar("_T")


def goes_on(ended_round: Ended) -> Bool[Array, "*runs"]:
    """Return whether a run is not over yet."""
    return jnp.bool_(True) if ended_round is None else ended_round == 0


def while_it_lasts(ended_round: Ended, new: Any, old: Any) -> Any:
    """Return the new values, or the old ones where a run is over."""
    return new if ended_round is None else ops.where(goes_on(ended_round), new, old)


@dataclass(frozen=True)
class Ending:
    """The rule by which a controller ends runs.

    Attributes:
        asked: the controller's `ended`; None if it never ends a run.
    """

    asked: Callable[[Any], Bool[Array, ""]] | None

    def first(self) -> Ended:
        """Return `ended_round` before the first round."""
        return None if self.asked is None else jnp.int32(0)

    def after_plan(self, ended_round: Ended, controller: Any, t: Int[Array, ""]) -> Ended:
        """Return `ended_round` after the plan of round t: t - 1 if the controller ends the run before this round."""
        return self._marked(ended_round, controller, t - 1)

    def after_round(self, ended_round: Ended, controller: Any, t: Int[Array, ""]) -> Ended:
        """Return `ended_round` after the controller's update in round t."""
        return self._marked(ended_round, controller, t)

    def _marked(self, ended_round: Ended, controller: Any, t: Int[Array, ""]) -> Ended:
        if self.asked is None or ended_round is None:
            return None
        return jnp.where((ended_round == 0) & self.asked(controller), t, ended_round)

    def unless_all_over(self, ended_round: Ended, held: Callable[..., _T], idle: Callable[..., _T], *args: Any) -> _T:
        """Return `held(*args)`, or `idle(*args)` once every run of the block is over."""
        if ended_round is None:
            return held(*args)
        return lax.cond(jnp.all(ended_round > 0), idle, held, *args)

    def unless_over_by(
        self, ended_round: Ended, t: Int[Array, ""], held: Callable[[], _T], idle: Callable[[], _T], known: Array
    ) -> _T:
        """Return `idle()` if `known` is true and every run of the block was over after round t, else `held()`."""
        if ended_round is None:
            return held()
        return lax.cond(known & jnp.all((ended_round > 0) & (ended_round <= t)), idle, held)


def of(controller: Controller) -> Ending:
    """Return the rule by which a controller ends runs."""
    return Ending(controller.ended)


def last_round(ended_round: Any) -> int | None:
    """Return the round after which every run of a block is over, as a host number; None while a run goes on."""
    if ended_round is None:
        return None
    ended = np.asarray(ended_round)
    return int(ended.max()) if ended.all() else None
