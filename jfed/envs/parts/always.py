"""Always on: every client is available, or returns, in every round."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int, PRNGKeyArray

from jfed.core.members import Name
from jfed.core.types import Dims, Params, State
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate


@dataclass(frozen=True)
class Always(OnOffOptions):
    """Settings of clients that are always on; there are none."""

    names = (Name("always"),)

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: Params, about: About) -> Rate:
            return jnp.ones(dims.num_clients)

        def init(key: PRNGKeyArray, params: Params, rate: Rate) -> tuple[()]:
            return ()

        def chance(state: State, params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
            return jnp.ones(dims.num_clients)

        def step(
            key: PRNGKeyArray, state: State, params: Params, rate: Rate, t: Int[Array, ""]
        ) -> tuple[State, Bool[Array, " clients"]]:
            return (), jnp.ones(dims.num_clients, bool)

        return OnOff(rate, init, chance, step)
