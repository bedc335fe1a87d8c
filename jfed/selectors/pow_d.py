"""Power-of-choice: of d candidates, the k with the largest local loss.

Y. J. Cho, J. Wang, G. Joshi, "Towards Understanding Biased Client Selection in Federated Learning", AISTATS
2022 (arXiv 2010.01243).

*Notation.* d: number of candidates, drawn without replacement with probability n_k / n; m: clients per round (here k);
F_k: local loss of the global model.

*Forms.* `form="pow-d"`: a candidate reports the loss on all its data. `"cpow-d"`: on b of its images, drawn at
random. `"rpow-d"`: no client is probed; a client counts with the mean training loss that it reported
when it last returned (or its loss of the received model, where clients estimate that), and with infinity before.

*Departures.* Ties are broken at random (unseen clients of rpow-d tie). Models are averaged as `Training.average_over`
says, as for every scheme. E3CS does not say which d it used; the default is 30 for K = 100 and k = 20, and d must lie
between k and K.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Probe, Problem, View

ALL_IMAGES = np.iinfo(np.int32).max


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        d: candidates per round.
        b: images that a candidate of cpow-d evaluates.
    """

    k: Int[Array, ""]
    d: Int[Array, ""]
    b: Int[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        last_loss: as reported at the last return; inf before the first.
    """

    last_loss: Float[Array, " clients"]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of power-of-choice.

    Attributes:
        d: candidates per round; None: 1.5 k rounded up (30 for k = 20), at most K.
        b: images that a candidate of cpow-d evaluates.
        form: pow-d, cpow-d or rpow-d.
    """

    names = (
        Name("pow-d", aliases=("powd",)),
        Name("cpow-d", {"form": "cpow-d"}),
        Name("rpow-d", {"form": "rpow-d"}),
    )

    d: int | None = None
    b: int = 64
    form: Literal["pow-d", "cpow-d", "rpow-d"] = static("pow-d")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        k, num_clients = problem.cohort_size, problem.num_clients
        d = min(num_clients, -(-3 * k // 2)) if self.d is None else self.d
        require(d >= k, f"pow-d needs at least as many candidates as it selects: d = {d} is less than k = {k}.")
        require(d <= num_clients, f"pow-d cannot have d = {d} candidates among K = {num_clients} clients.")
        require(self.b >= 1, f"cpow-d must evaluate at least one image, found b = {self.b}.")
        return as_arrays(Params, k=k, d=d, b=self.b)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(last_loss=jnp.full(dims.num_clients, jnp.inf, jnp.result_type(float)))

        def candidates(key: PRNGKeyArray, params: Params, view: View) -> Bool[Array, " clients"]:
            log_share = jnp.log(view.num_samples.astype(jnp.result_type(float)))
            return ops.race(key, log_share, params.d, among=view.available)

        def probe(key: PRNGKeyArray, state: State, params: Params, view: View) -> Probe:
            b = params.b if self.form == "cpow-d" else jnp.int32(ALL_IMAGES)
            return Probe(asked=candidates(key, params, view), num_images=b)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            draw, tie = prng.at(key, 0), prng.at(key, 1)
            if self.form == "rpow-d":
                among, loss = candidates(draw, params, view), state.last_loss
            else:
                among = ~jnp.isnan(view.probed)
                loss = jnp.where(among, view.probed, 0.0)
            selected = ops.smallest(-loss, params.k, among, tie_break=prng.uniform(tie, loss.shape[0]))
            return state, Cohort(selected, jnp.full(loss.shape, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return State(last_loss=feedback.heard(state.last_loss))

        return Selector(init, select, update, probe=None if self.form == "rpow-d" else probe)
