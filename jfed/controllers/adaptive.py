"""Adaptive tau: the number of local steps between two aggregations that makes the best of a budget of resources.

S. Wang, T. Tuor, T. Salonidis, K. K. Leung, C. Makaya, T. He, K. Chan, "Adaptive Federated Learning in Resource
Constrained Edge Computing Systems", IEEE JSAC 2019, Algorithms 2 and 3, and its public code. `algorithms/estimating`
makes the estimates of rho, beta and delta.

*Notation.* eta: learning rate; c_m, b_m: costs of a local step and of an aggregation in resource m; R_m: its budget;
s_m: amount spent; R'_m: budget of the search; T': number of local steps that it buys; h(tau): distance to centralised
descent; G(tau): the objective that is minimised; phi: a control parameter.

    h(x) = max(0, delta / beta ((eta beta + 1)^x - 1) - eta delta x)
    1 / T' = max_m (c_m x + b_m) / (R'_m x)
    G(x) = (1 + sqrt(max(0, 1 + 4 phi rho eta T'^2 h(x) / x))) / (2 eta phi T') + rho h(x)

tau is the first x of 1 .. min(growth tau, tau_max) with the least G.

As in the public code, R'_m is not what is left of the budget: it is the whole, less a step and an exchange where the
best model is returned (`stop="best"`). The costs c_m and b_m of the search are those of the round before the one that
has just ended, so that tau is 1 in the first two rounds.

*Departures.*
- A NaN does not replace the estimate before it, nor does a round without estimates. If a budget has nothing left, tau
  stays. If (1 + eta beta)^x overflows, G is infinite, which is never chosen. G is also infinite if h is NaN, which the
  public code takes for 0, favouring a large tau. Where delta or rho is 0, so are its products, whatever the factors.
- (1 + eta beta)^x - 1 is computed as expm1(x log1p(eta beta)), which loses no digits where it is small.
- The costs of a cohort's clients are combined as `cost` says: by their mean (the public simulation draws one time for
  all), their sum or their maximum. A round without a cohort costs the time that it takes.
- The public code makes a last round of at least one step even if the budget does not allow it (`last_steps = 1`); here
  there is no such round. The first round is made before its costs are known. Once the next cohort is known, tau is cut,
  or the run ended, by the last known costs of its clients. A client that never reported costs counts as the costliest
  of the others. The look at the last model is budgeted at the costs of the clients that train before it, and skipped if
  the cohort that would look at it costs more than is left.
- A model that is not finite does not become the global one, and its estimates do not count; tau is 1 in the next round,
  and then what it was before.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.controllers import budget
from jfed.controllers.budget import How
from jfed.controllers.objective import objective
from jfed.core.errors import require
from jfed.core.interfaces import Controller
from jfed.core.members import ControllerOptions, Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Costs, Dims, Feedback, Plan, Problem, View

MOST = 1000  # candidates of the search; bounds tau_max


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        budgets: R_m.
        phi: control parameter.
        tau_max: largest tau.
        growth: largest factor by which tau grows in a round.
        fixed: a tau that stays; 0: adaptive.
        last_steps: fewest steps of the cut round.
        eta: learning rate.
    """

    budgets: Float[Array, " resources"]
    phi: Float[Array, ""]
    tau_max: Int[Array, ""]
    growth: Int[Array, ""]
    fixed: Int[Array, ""]
    last_steps: Int[Array, ""]
    eta: Float[Array, ""]


class State(NamedTuple):
    """The controller's state.

    Attributes:
        tau: of the next round.
        before: tau before a model that was not finite; 0: none.
        spent: s of each resource.
        step: c of the last round; NaN before the first.
        exchange: b of the last round; NaN before the first.
        known: c_i and b_i of each client when it last took part; NaN before.
        rho: estimate; NaN before the first.
        beta: estimate; NaN before the first.
        delta: estimate; NaN before the first.
        alpha: factor of h's first term; 1 unless weighted.
        last: whether this round is the last one that trains.
        looks: whether this round only looks at the last model.
        over: whether the run is over.
    """

    tau: Int[Array, ""]
    before: Int[Array, ""]
    spent: Float[Array, " resources"]
    step: Float[Array, " resources"]
    exchange: Float[Array, " resources"]
    known: Costs
    rho: Float[Array, ""]
    beta: Float[Array, ""]
    delta: Float[Array, ""]
    alpha: Float[Array, ""]
    last: Bool[Array, ""]
    looks: Bool[Array, ""]
    over: Bool[Array, ""]


def search(state: State, params: Params, left: Float[Array, " resources"]) -> Int[Array, ""]:
    """Return the next tau, by the costs of the last round; the present tau where the search is not possible."""
    number = jnp.arange(1, MOST + 1)
    x = number.astype(left.dtype)
    about = (state.rho, state.beta, state.delta, state.alpha, params.eta, params.phi)
    g = objective(x, *about, state.step, state.exchange, left)
    most = jnp.minimum(params.growth * state.tau, params.tau_max)
    g = jnp.where(number <= most, g, jnp.inf)
    found = number[jnp.argmin(g)].astype(jnp.int32)
    known = ~jnp.isnan(state.rho + state.beta + state.delta + jnp.sum(state.step)) & jnp.all(left > 0)
    return jnp.where(known, found, jnp.minimum(state.tau, params.tau_max))


def estimated(state: State, feedback: Feedback) -> State:
    """Return the state with this round's estimates in place of those before, except where they are NaN."""
    found, share = feedback.estimates, feedback.share
    if found is None or share is None:  # a fixed tau needs none
        return state

    def mean(values: Array, among: Array) -> Array:
        weight = jnp.where(among, share, 0.0)
        return jnp.sum(jnp.where(among, weight * values, 0.0)) / jnp.sum(weight)  # NaN without clients

    new = {
        "rho": mean(found.rho, found.known),
        "beta": mean(found.beta, found.known),
        "delta": mean(found.divergence, feedback.succeeded),
    }
    anybody = jnp.any(found.known)
    kept = {n: jnp.where(anybody & ~jnp.isnan(x), x, getattr(state, n)) for n, x in new.items()}
    return state._replace(**kept)


@dataclass(frozen=True)
class Options(ControllerOptions):
    """Settings of adaptive tau.

    Attributes:
        budgets: R_m, one for each resource of the world, the first of which is time, in seconds.
        phi: control parameter: 0.025 for the squared SVM, 5e-5 for the convolutional networks.
        tau_max: largest tau.
        growth: largest factor by which tau grows in a round (gamma).
        fixed: a tau that stays until the budget is spent; 0: adaptive.
        cost: how the costs of a cohort's clients are combined, for all resources or for each; max: those of the client
            that spends most.
        weighted: whether h has Eiffel's factor alpha in its first term; see `controllers/eiffel`.
        stop: best: the last tau is cut to what the budget allows, and a look at the last model is paid for; last:
            without that look; plain: no cut, the run ends when the next round would not fit.
        last_steps: fewest steps of the cut round. 1, as in the public code, exceeds the budget where no step fits.
    """

    names = (Name("adaptive"),)

    budgets: tuple[float, ...] = (15.0,)
    phi: float = 0.025
    tau_max: int = 100
    growth: int = 10
    fixed: int = 0
    cost: How | tuple[How, ...] = static("mean")
    weighted: bool = static(False)
    stop: Literal["best", "last", "plain"] = static("best")
    last_steps: int = 0

    def needs_estimates(self) -> bool:
        """Return whether tau is searched for, or the last model is looked at."""
        return self.fixed == 0 or self.stop == "best"

    def how(self, resources: int) -> tuple[How, ...]:
        """Return, for each resource, how costs are combined."""
        return self.cost if isinstance(self.cost, tuple) else (self.cost,) * resources

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(len(self.budgets) > 0, "Adaptive tau needs a budget.")
        low = float(np.float32(min(self.budgets)))
        require(low > 0 and not np.isnan(self.budgets).any(), f"A budget must be positive, found {low:g}.")
        number = 1 if problem.costs is None else len(problem.costs.step)
        how = self.how(number)
        require(
            len(self.budgets) == number and len(how) == number,
            f"There must be one budget and one way to combine costs for each resource of the world, {number} here;"
            f" found budgets = {self.budgets} and cost = {self.cost!r}.",
        )
        for r, word in enumerate(how):
            steps, clients = max(self.fixed, 1), problem.first_cohort
            least = 0.0 if problem.costs is None else budget.least(problem.costs, clients, steps, word, r)
            require(
                self.budgets[r] > least,
                f"A budget of {self.budgets[r]:g} is too small for one round, which costs about {least:.3g} or more.",
            )
        require(0 < self.phi < inf, f"phi must be positive, found {self.phi:g}.")
        require(1 <= self.tau_max <= MOST, f"tau_max must lie in 1 .. {MOST}, found {self.tau_max}.")
        require(self.growth >= 1, f"growth must be at least 1, found {self.growth}.")
        require(self.fixed >= 0, f"A fixed tau must not be negative, found {self.fixed}.")
        require(self.last_steps in (0, 1), f"last_steps must be 0 or 1, found {self.last_steps}.")
        return as_arrays(
            Params,
            budgets=np.asarray(self.budgets, float),
            phi=float(self.phi),
            tau_max=self.tau_max,
            growth=self.growth,
            fixed=self.fixed,
            last_steps=self.last_steps,
            eta=float(problem.learning_rate),
        )

    def make(self, dims: Dims) -> Controller:
        """Return the controller."""
        looks_at_last, how = self.stop == "best", self.how(dims.resources)
        # A round that would use up the budget exactly does not fit in Wang et al.'s code, but does by Eiffel's line 23.
        within = jnp.less_equal if self.stop == "plain" else jnp.less

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> State:
            nothing = jnp.full((), jnp.nan, params.phi.dtype)
            no = jnp.bool_(False)
            first = jnp.maximum(params.fixed, 1).astype(jnp.int32)
            none = jnp.zeros_like(params.budgets)
            known = budget.unknown(len(how), dims.num_clients, params.phi.dtype)
            return State(
                tau=first, before=jnp.int32(0), spent=none, step=none + nothing, exchange=none + nothing, known=known,
                rho=nothing, beta=nothing, delta=nothing, alpha=jnp.ones_like(nothing), last=no, looks=no, over=no,
            )  # fmt: skip

        def plan(state: State, params: Params, view: View, cohort: Cohort) -> tuple[State, Plan]:
            state = afforded(state, params, cohort.selected)
            steps = jnp.where(state.looks, 1, state.tau)
            return state, Plan(jnp.where(view.num_samples > 0, steps, 0), ~state.looks)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            assert feedback.costs is not None
            kept = jnp.bool_(True) if feedback.kept is None else feedback.kept
            told = estimated(state, feedback)
            if self.weighted and cohort.importance is not None:
                images = jnp.where(feedback.succeeded, view.num_samples, 0)
                mean = jnp.sum(images * cohort.importance) / jnp.sum(images)
                told = told._replace(alpha=jnp.where(jnp.isfinite(mean), mean, state.alpha))
            state = jax.tree.map(lambda new, old: jnp.where(kept, new, old), told, state)
            left = params.budgets - (state.step + state.exchange if looks_at_last else 0.0)
            aside = state.before > 0  # because a model broke
            found = jnp.where(aside, state.before, search(state, params, left))
            wanted = jnp.where(params.fixed > 0, params.fixed, jnp.where(kept, found, 1)).astype(jnp.int32)
            before = jnp.where(kept, 0, jnp.where(aside, state.before, state.tau))
            anybody = jnp.any(cohort.selected)
            taken = jnp.where(state.looks, 1, state.tau).astype(params.phi.dtype)
            c, b = budget.together(feedback.costs, cohort.selected, taken, how)
            idle = jnp.zeros_like(state.spent).at[0].set(feedback.idle_s)
            known = jax.tree.map(lambda new, old: jnp.where(cohort.selected, new, old), feedback.costs, state.known)
            return state._replace(
                tau=jnp.where(anybody, wanted, state.tau),
                before=jnp.where(anybody, before, state.before),
                spent=state.spent + jnp.where(anybody, c * taken + b, idle),
                step=jnp.where(anybody, c, state.step),
                exchange=jnp.where(anybody, b, state.exchange),
                known=known,
                over=state.looks if looks_at_last else state.last,
            )

        def afforded(state: State, params: Params, took: Bool[Array, " clients"]) -> State:
            """Return the state with tau cut to what is left of the budget for this cohort, by its last known costs."""
            left = params.budgets - state.spent
            steps = state.tau.astype(left.dtype)
            costs = budget.foreseen(state.known, steps)
            c, b = budget.together(costs, took, steps, how)
            look = sum(budget.together(costs, took, jnp.ones_like(steps), how))
            room = left - (look if looks_at_last else 0.0)
            fits = jnp.all(within(c * steps, room - b))
            cut = jnp.clip(budget.most_steps(costs, took, room, how), params.last_steps, steps).astype(jnp.int32)
            trains = ~state.last & (fits if self.stop == "plain" else fits | (cut > 0))
            looks = ~trains & ((params.last_steps > 0) | jnp.all(look <= left)) if looks_at_last else jnp.bool_(False)
            checked = state._replace(
                tau=jnp.where(trains & ~fits, cut, state.tau),
                last=trains & ~fits,
                looks=looks,
                over=~trains & ~looks,
            )
            # Without a cohort only time passes, and before the first cohort no costs are known.
            blind = ~jnp.any(took) | jnp.isnan(jnp.sum(c))
            kept = state._replace(over=state.over | ~jnp.all(left > 0))
            return jax.tree.map(lambda new, old: jnp.where(blind | state.over, old, new), checked, kept)

        def watch(state: State) -> dict[str, Array]:
            estimates = {name: getattr(state, name) for name in ("rho", "beta", "delta")}
            more = {f"spent_{r + 1}": state.spent[r] for r in range(1, len(how))}
            return {"tau": state.tau, "spent": state.spent[0], **more, **estimates}

        return Controller(init, plan, update, ended=lambda state: state.over, watch=watch)
