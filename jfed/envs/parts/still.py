"""No change: rates and times stay as they are."""

from dataclasses import dataclass

from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core.members import Name
from jfed.core.types import Dims, Params, State
from jfed.envs.parts.base import Change, ChangeOptions, Rate


@dataclass(frozen=True)
class Still(ChangeOptions):
    """Settings of rates that do not change; there are none."""

    names = (Name("still"),)

    def make(self, dims: Dims) -> Change:
        """Return the change."""

        def init(params: Params) -> tuple[()]:
            return ()

        def step(key: PRNGKeyArray, state: State, params: Params, t: Int[Array, ""]) -> State:
            return state

        def now(state: State, params: Params, rates: Rate, classes: Int[Array, ""], t: Int[Array, ""]) -> Rate:
            return rates

        return Change(init, step, now, now)
