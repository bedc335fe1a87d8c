"""A world composed of parts: who is available, who returns, how rates change, how long clients take, when a round ends.

Any combination of parts is a world. The parts are in `jfed/envs/parts/`, each with its sources and departures:

- `availability` and `success` are on/off processes: `Always`, `Coins`, `Markov`, `Diurnal`, `Cyclic`, `Shocks`,
  `Sized` (tied to data), `LabelRates` and `LabelDays` (tied to labels), `Lasting` (tied to time), or a `Trace` from a
  file;
- `change` moves the rates of one of them or both, the times of clients, or all of these: `Still`, `Drift`, `Jump`,
  `Rotate`, `Swap`;
- `speed` has the times of a local step and of the exchange: `Unit`, `Tempo` (by class or from a file), `LogNormal`,
  `Pareto`;
- `waiting` ends a round: `All`, `Deadline`, `First`;
- `energy` is a second resource in the costs: `Uncounted`, `Joules`.

A part is given as options, such as `Markov(memory=(0.9,))`, or by a name, such as "markov" or, for an on/off process
and times, the path of a csv or npz file. A dataclass of your own on one of the bases in `jfed.envs.parts.base` is a
part, too.

*Notation.* A client's time in a round is J (exchange_s + steps * step_s), where J is its log-normal factor of this
round, of mean 1. It returns if it succeeds and, with a deadline D, is there in time.

*Departures.*
- All draws depend on (seed, round) alone: the processes of availability and success do not notice a selection.
- The oracle has the rates and expected times of this round given the past, so that it follows every change. It takes
  each client's number of steps from the plan of the round before, and 1 step in the first one. It does not know who
  else is selected: over-selection is not in it. With partial work its expected times ignore that steps are whole.
- Where times change, rates that depend on them (`Lasting`) follow. Joules do not, nor does `costs`, the mean costs that
  schemes are told before the first round.
- By default these are the volatile clients of E3CS (rates 0.1, 0.3, 0.6 and 0.9, rounds of equal length).
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.interfaces import Environment
from jfed.core.members import EnvironmentOptions, Name
from jfed.core.options import as_arrays, part, parts, static
from jfed.core.types import Cohort, Costs, Dims, Outcome, Plan, Problem, View
from jfed.envs.parts import base
from jfed.envs.parts.always import Always
from jfed.envs.parts.coins import Coins
from jfed.envs.parts.cyclic import Cyclic
from jfed.envs.parts.diurnal import Diurnal
from jfed.envs.parts.drawn import LogNormal, Pareto
from jfed.envs.parts.drift import Drift
from jfed.envs.parts.ends import All, Deadline, First
from jfed.envs.parts.joules import Joules
from jfed.envs.parts.labels import LabelDays as LabelDays
from jfed.envs.parts.labels import LabelRates as LabelRates
from jfed.envs.parts.lasting import Lasting as Lasting
from jfed.envs.parts.limits import expected_s, fitting, foreseen, of_the_first
from jfed.envs.parts.markov import Markov
from jfed.envs.parts.roles import Jump, Rotate, Swap
from jfed.envs.parts.shocks import Shocks
from jfed.envs.parts.sized import Sized as Sized
from jfed.envs.parts.still import Still
from jfed.envs.parts.tempo import Tempo as Tempo
from jfed.envs.parts.trace import Trace as Trace
from jfed.envs.parts.uncounted import Uncounted
from jfed.envs.parts.unit import Unit

KINDS = {
    "availability": base.OnOffOptions,
    "success": base.OnOffOptions,
    "change": base.ChangeOptions,
    "speed": base.SpeedOptions,
    "waiting": base.WaitingOptions,
    "energy": base.EnergyOptions,
}
CHANGING = {
    "success": ("success",),
    "availability": ("availability",),
    "both": ("availability", "success"),
    "speed": ("speed",),
    "all": ("availability", "success", "speed"),
}
PHONES = {
    "availability": Diurnal(means=(0.5,), swing=0.3),
    "success": Coins((0.8, 0.9, 0.95, 1.0)),
    "speed": LogNormal(correlation=0.5),
    "waiting": Deadline(3.0),
    "energy": Joules(),
}


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        availability, success, change, speed, waiting, energy: of the parts.
        classes: number of classes of clients in availability, success and speed, by which rates and times change.
    """

    availability: Any
    success: Any
    change: Any
    speed: Any
    waiting: Any
    energy: Any
    classes: Int[Array, "3"]


class State(NamedTuple):
    """The world's state.

    Attributes:
        availability, success, change: of the parts.
        pace: expected times of each client, before any change of them.
        steps: local steps of each client in the last round; 1 before the first.
    """

    availability: Any
    success: Any
    change: Any
    pace: base.Pace
    steps: Int[Array, " clients"]


@dataclass(frozen=True)
class Options(EnvironmentOptions):
    """Settings of a composed world.

    Attributes:
        availability: whether a client is available.
        success: whether a client returns its model, if it is there in time.
        change: how rates or times change in the course of the run.
        changing: what changes: rates of success, of availability or of both, times (speed), or all of these.
        speed: times of clients.
        waiting: end of a round.
        energy: joules of clients.
    """

    names = (
        Name("composed"),
        Name("markov", {"availability": Markov()}),
        Name("diurnal", {"availability": Diurnal()}),
        Name("cyclic", {"availability": Cyclic()}),
        Name("shocks", {"success": Shocks()}),
        Name("bursts", {"success": Markov()}),
        Name("drifting", {"change": Drift()}),
        Name("jumping", {"change": Jump()}),
        Name("rotating", {"change": Rotate()}),
        Name("swapping", {"change": Swap()}),
        Name("heavy-tails", {"success": Always(), "speed": Pareto()}),
        Name("over-selection", {"success": Coins((0.9,)), "speed": LogNormal(), "waiting": First()}),
        Name("phones", PHONES),
    )

    availability: base.OnOffOptions | str = part(Always())
    success: base.OnOffOptions | str = part(Coins())
    change: base.ChangeOptions | str = part(Still())
    changing: Literal["success", "availability", "both", "speed", "all"] = static("success")
    speed: base.SpeedOptions | str = part(Unit())
    waiting: base.WaitingOptions | str = part(All())
    energy: base.EnergyOptions | str = part(Uncounted())

    def __post_init__(self) -> None:
        """Replace names of parts by the options that they denote."""
        for name, kind in KINDS.items():
            object.__setattr__(self, name, base.found(getattr(self, name), kind, f"part {name}"))

    def _part(self, name: str) -> Any:
        return getattr(self, name)  # whose annotation allows a name, which __post_init__ has replaced

    def client_class(self, problem: Problem) -> np.ndarray:
        """Return the class of each client, (K,), of the first part that has classes."""
        own = (self._part(name).classes() for name in ("success", "availability", "speed", "energy"))
        return np.arange(problem.num_clients) % next((n for n in own if n > 1), 1)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        handed = isinstance(self.change, Jump | Rotate | Swap)
        require(
            not (self.changing == "speed" and handed and isinstance(self.speed, Unit)),
            'With changing="speed" clients take the times of others, which are all equal with speed="unit": choose'
            " another speed, such as tempo.",
        )
        firm = [name for name in ("availability", "success") if isinstance(self._part(name), Always | Trace)]
        require(
            isinstance(self.change, Still) or not set(CHANGING[self.changing]) <= set(firm),
            f"There is nothing to change in {' and '.join(CHANGING[self.changing])}, always on or a trace.",
        )
        known = [self._part(name).classes() for name in ("availability", "success", "speed")]
        classes = [n if 1 < n <= problem.num_clients else problem.num_clients for n in known]
        made = as_arrays(lambda **own: own["classes"], classes=np.asarray(classes))
        return Params(*(self._part(name).params(problem) for name in KINDS), classes=made)

    def expected_availability(self) -> float:
        """Return the probability that a client is available in a round."""
        return self._part("availability").expected()

    def costs(self, num_clients: int) -> Costs:
        """Return each client's mean costs of a step and an exchange: seconds and, if they are counted, joules."""
        rows = [self._part("speed").means(num_clients)]
        if (energy := self._part("energy").means(num_clients)) is not None:
            rows.append(energy)
        return Costs(*map(np.stack, zip(*rows, strict=True)))  # type: ignore[arg-type]

    def needs_labels(self) -> bool:
        """Return whether availability or success is tied to labels."""
        return any(self._part(name).needs_labels() for name in ("availability", "success"))

    def spends(self) -> tuple[str, ...]:
        """Return ("energy_j",) where energy is counted."""
        return () if self._part("energy").means(1) is None else ("energy_j",)

    def make(self, dims: Dims) -> Environment:
        """Return the environment."""
        made = {name: self._part(name).make(dims) for name in parts(self)}
        here: base.OnOff = made["availability"]
        back: base.OnOff = made["success"]
        change: base.Change = made["change"]
        speed: base.Speed = made["speed"]
        waiting: base.Waiting = made["waiting"]
        changing = CHANGING[self.changing]
        times = change.times if "speed" in changing else None
        require(
            times is not None or "speed" not in changing,
            f"{type(self.change).__qualname__} changes rates alone: set changing to success, availability or both.",
        )

        def paced(state: State, params: Params, t: Int[Array, ""]) -> base.Pace:
            """Return the expected times of each client in this round."""
            if times is None:
                return state.pace
            return base.Pace(*(times(state.change, params.change, own, params.classes[2], t) for own in state.pace))

        def rates(state: State, params: Params, view: View) -> tuple[base.Rate, base.Rate]:
            about = base.About(view.num_samples, expected_s(paced(state, params, view.round), state.steps))
            found = {"availability": here.rate(params.availability, about), "success": back.rate(params.success, about)}
            moved = [
                change.now(state.change, params.change, own, params.classes[i], view.round) if name in changing else own
                for i, (name, own) in enumerate(found.items())
            ]
            return moved[0], moved[1]

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> State:
            pace = speed.init(prng.at(key, 0), params.speed, num_samples)
            steps = jnp.ones(dims.num_clients, jnp.int32)
            about = base.About(num_samples, expected_s(pace, steps))
            present, lucky = here.rate(params.availability, about), back.rate(params.success, about)
            return State(
                availability=here.init(prng.at(key, 1), params.availability, present),
                success=back.init(prng.at(key, 2), params.success, lucky),
                change=change.init(params.change),
                pace=pace,
                steps=steps,
            )

        def observe(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, View]:
            moved = change.step(prng.at(key, 0), state.change, params.change, view.round)
            state = state._replace(change=moved)
            present, lucky = rates(state, params, view)
            after, available = here.step(prng.at(key, 1), state.availability, params.availability, present, view.round)
            chance = back.chance(state.success, params.success, lucky, view.round)
            spread = None if speed.spread is None else speed.spread(params.speed)
            deadline_s = None if waiting.deadline_s is None else waiting.deadline_s(params.waiting)
            pace = paced(state, params, view.round)
            oracle = foreseen(chance, pace, state.steps, spread, deadline_s, waiting.partial)
            return state._replace(availability=after), view._replace(available=available, oracle=oracle)

        def respond(
            key: PRNGKeyArray, state: State, params: Params, view: View, cohort: Cohort, plan: Plan
        ) -> tuple[State, Outcome]:
            _, lucky = rates(state._replace(steps=plan.steps), params, view)  # which are now known
            after, succeeded = back.step(prng.at(key, 0), state.success, params.success, lucky, view.round)
            step_s, exchange_s = paced(state, params, view.round)
            if speed.spread is not None:
                sigma = speed.spread(params.speed)
                factor = jnp.exp(sigma * base.normal(prng.at(key, 1), dims.num_clients) - sigma**2 / 2)
                step_s, exchange_s = factor * step_s, factor * exchange_s
            latency_s, most, used = exchange_s + plan.steps * step_s, None, None
            if waiting.deadline_s is not None:
                deadline_s = waiting.deadline_s(params.waiting)
                if waiting.partial:
                    most = fitting(step_s, deadline_s - exchange_s, plan.steps)
                    latency_s = exchange_s + most * step_s
                    succeeded &= (most > 0) | (plan.steps == 0)
                succeeded &= latency_s <= deadline_s
                latency_s = jnp.where(succeeded, latency_s, deadline_s)
            if waiting.first is not None:
                back_in_time, tie_break = cohort.selected & succeeded, prng.uniform(prng.at(key, 2), dims.num_clients)
                used, latency_s = of_the_first(waiting.first(params.waiting), back_in_time, latency_s, tie_break)
            costs = Costs(step_s[None], exchange_s[None])
            if made["energy"] is not None:
                spent, sent = made["energy"](params.energy)
                costs = Costs(jnp.stack([step_s, spent]), jnp.stack([exchange_s, sent]))
            outcome = Outcome(succeeded, latency_s, waiting.idle_s(params.waiting), costs, most, used)
            return state._replace(success=after, steps=plan.steps), outcome

        return Environment(init, observe, respond)
