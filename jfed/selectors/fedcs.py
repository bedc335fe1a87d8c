"""FedCS: the clients with the highest true success rates, or with true expected times below a deadline.

T. Nishio, R. Yonetani, "Client Selection for Federated Learning with Heterogeneous Resources in Mobile Edge", ICC 2019.

*Forms.* `rule="success"`, as adapted in Sec. VI-A of E3CS (Huang et al. 2022): the k available clients with the highest
true success rates; without a quota this is also the best fixed allocation that E3CS's regret is measured against.
`rule="deadline"`, as adapted in Sec. 6.1 of RBCS-F (Huang et al. 2021), FedCS(3): all available clients whose expected
exchange time in this round is below the deadline; with `limited=True` at most the k fastest of them.

*Departures.* Both rules know the truth, so they are oracles. Equal rates and times are ordered at random once per run:
in the paper of E3CS the same 20 of 25 clients are always selected.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: largest cohort.
        deadline_s: of expected times.
    """

    k: Int[Array, ""]
    deadline_s: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        tie_break: order among equals, fixed for the run.
    """

    tie_break: Float[Array, " clients"]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of FedCS.

    Attributes:
        rule: success, or deadline.
        deadline_s: of the rule "deadline".
        limited: whether the rule "deadline" selects at most k clients.
    """

    names = (
        Name("fedcs"),
        Name("fedcs", {"rule": "deadline"}, "deadline_s", "deadline in seconds", examples=("3",)),
    )

    rule: Literal["success", "deadline"] = static("success")
    deadline_s: float = 3.0
    limited: bool = False

    def slots(self, problem: Problem) -> int:
        """Return the largest cohort's size: k, or K if a deadline alone limits it."""
        unlimited = self.rule == "deadline" and not self.limited
        return problem.num_clients if unlimited else problem.cohort_size

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.deadline_s < np.inf, f"FedCS's deadline_s must be positive, found {self.deadline_s:g}.")
        return as_arrays(Params, k=self.slots(problem), deadline_s=float(self.deadline_s))

    def first_cohort(self, problem: Problem) -> int:
        """Return k, or 1 under a deadline, which as few as one client (or none) may meet."""
        return 1 if self.rule == "deadline" else problem.cohort_size

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(tie_break=prng.uniform(key, dims.num_clients))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            assert view.oracle is not None
            score, among = -view.oracle.success_rate, view.available
            if self.rule == "deadline":
                score = view.oracle.latency_s
                among = among & (score < params.deadline_s)
            selected = ops.smallest(score, params.k, among=among, tie_break=state.tie_break)
            return state, Cohort(selected, selected.astype(score.dtype))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state

        return Selector(init, select, update, needs_oracle=True)
