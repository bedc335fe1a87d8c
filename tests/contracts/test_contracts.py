"""The rules that ship with jfed: good toys of one file keep them, and each rule catches a toy that breaks it."""

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys
from broken import require_caught, toy
from toys import GOOD

import jfed
from jfed import catalog, contracts
from jfed.contracts.check import BENCHES
from jfed.core.errors import ConfigError

pytestmark = pytest.mark.check

SLOW = {"runs", "learns", "still", "lanes", "float64"}  # of algorithms and models: they train


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """The toys of a temporary file, by the room that each belongs to."""
    path = tmp_path_factory.mktemp("outside") / "my_toys.py"
    shutil.copy(Path(toys.__file__), path)
    return {catalog.room_of(kind()): kind for kind in catalog.load_file(path)}


@pytest.mark.parametrize("field", GOOD)
def test_good_toys_keep_every_rule(field, mine):
    assert mine[field].__name__ == GOOD[field]
    quick = [name for name, _ in BENCHES[field][1] if field not in ("algorithm", "model") or name not in SLOW]
    found = contracts.check(mine[field], quick)
    assert [finding for finding in found if finding.sentence] == []
    assert [finding.rule for finding in found] == quick


@pytest.mark.proof
@pytest.mark.parametrize("field", ["algorithm", "model"])
def test_good_toys_train(field, mine):
    found = contracts.check(mine[field])
    assert [finding for finding in found if finding.sentence] == [] and len(found) == len(BENCHES[field][1])


# ------------------------------------------------------------------------------------------------- options


class Thawed(toys.ToyScheme):
    pass


@dataclass(frozen=True)
class Demanding(toys.ToyScheme):
    many: int = dataclasses.field(kw_only=True)


def plain_params(self, problem):
    return {"k": problem.cohort_size, "chance": self.chance}


def groups(self, problem):
    return jfed.as_arrays(lambda **x: x, k=problem.cohort_size, chance=np.zeros(int(self.groups)))


def by_cohort(self, problem):
    return jfed.as_arrays(lambda **x: x, k=problem.cohort_size, chance=np.zeros(problem.cohort_size))


OPTIONS = [
    ("options", "must be a frozen dataclass: put @dataclass", Thawed),
    ("options", "cannot be made without arguments", Demanding),
    ("options", "default of chance must be float, as it is annotated, found 'often'",
     toy(toys.ToyScheme, annotations={"chance": float}, chance="often")),
    ("options", "is static and must be hashable", toy(toys.ToyScheme, annotations={"many": list},
     many=dataclasses.field(default_factory=list, metadata={"static": True}))),
    ("names", "small letters, digits, . and -, found 'My Toy'", toy(toys.ToyScheme, names=(jfed.Name("My Toy"),))),
    ("names", "sets luck, which is no field", toy(toys.ToyScheme, names=(jfed.Name("my-toy", {"luck": 1}),))),
    ("names", "takes a number: give examples", toy(toys.ToyScheme, names=(jfed.Name("my", {}, "chance"),))),
    ("params", "must be a NumPy array of numbers, found float", toy(toys.ToyScheme, params=plain_params)),
    ("params", "Another value of groups changes a shape in params",
     toy(toys.ToyScheme, annotations={"groups": int}, groups=3, params=groups)),
    ("params", r"change with the size of the cohort \(k = 1\)", toy(toys.ToyScheme, params=by_cohort)),
    ("make", "make reads chance, which is dynamic: take it from the params",
     toy(toys.ToyScheme, init=lambda self, dims, good: self.chance)),
]  # fmt: skip


# ------------------------------------------------------------------------------------------------- schemes


def selecting(change):
    """Return a part that changes the cohort of a good toy: (options, key, state, params, view, cohort) -> cohort."""

    def part(self, dims, good):
        def select(key, state, params, view):
            state, cohort = good(key, state, params, view)
            return state, change(self, key, state, params, view, cohort)

        return select

    return part


def updating(change):
    """Return a part that changes the new state of a good toy: (new state, feedback) -> state."""

    def part(self, dims, good):
        return lambda state, params, view, cohort, feedback: change(
            good(state, params, view, cohort, feedback), feedback
        )

    return part


def scheme(change, **more):
    return toy(toys.ToyScheme, select=selecting(change), **more)


def learner(change, **more):
    return toy(toys.ToyScheme, update=updating(change), **more)


def counts(self, dims, good):
    calls = []

    def select(key, state, params, view):
        calls.append(0)
        return good(key, state, params, view._replace(available=view.available & (len(calls) < 99)))

    return select


def keeping(wrapped):
    """Return a part that keeps a value of each trace in a list, wrapped."""

    def part(self, dims, good):
        kept = []

        def select(key, state, params, view):
            state, cohort = good(key, state, params, view)
            kept.append(wrapped(state.latency_s * 2))
            return state, cohort

        return select

    return part


def everyone(self, dims, good):
    return lambda key, state, params, view: jfed.Probe(jnp.ones(dims.num_clients, bool), jnp.int32(5))


def favourites(self, key, state, params, view, cohort):
    log_p = jnp.log(jnp.arange(1.0, 9.0))
    p = jnp.where(view.available, jnp.exp(log_p), 0.0)
    p = jnp.minimum(params.k * p / jnp.maximum(p.sum(), 1e-9), 1.0)
    return jfed.Cohort(jfed.ops.race(key, log_p, params.k, view.available), p)


def stays(self, dims, good):
    return lambda key, params: good(key, params)._replace(latency_s=0.0)


@jax.custom_batching.custom_vmap
def lonely(x):
    return x


@lonely.def_vmap
def _(size, batched, x):
    return x + 1, batched[0]


NAN = float("nan")
SCHEMES = [
    ("slots", "must be a whole number from k to K, 3 to 8 here, found 9",
     toy(toys.ToyScheme, slots=lambda self, problem: 9)),
    ("slots", "first_cohort must be a whole number from 1 to slots",
     toy(toys.ToyScheme, first_cohort=lambda self, problem: 0)),
    ("functions", r"select raises TracerBoolConversionError: .* \(test_contracts.py:\d+\); .* use jnp.where",
     scheme(lambda self, key, state, params, view, cohort: cohort if params.chance > 0.5 else None)),
    ("functions", r"update raises TypeError: .*NoneType.*a fact without its name in `wants`.* are None",
     learner(lambda state, feedback: state._replace(latency_s=state.latency_s + feedback.facts.loss_sq))),
    ("functions", r"equal types, but they differ: .*float32\[\].*float32\[8\]",
     learner(lambda state, feedback: state._replace(latency_s=jax.lax.fori_loop(
         0, 2, lambda i, x: x + feedback.latency_s, jnp.zeros(()))))),
    ("functions", r"select must return \(state, Cohort\), found Cohort",
     toy(toys.ToyScheme, select=lambda self, dims, good: lambda *x: good(*x)[1])),
    ("functions", r"selected must be a mask for each client, bool\[8\] here, found float32\[8\]",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(selected=cohort.inclusion))),
    ("oracle", r"select looks at view.oracle, .* needs_oracle=True",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(inclusion=view.oracle.success_rate))),
    ("state", r"update returns a state in which state.returned is float32\[8\], where init's is int32\[8\]",
     learner(lambda state, feedback: state._replace(returned=state.returned / 2))),
    ("state", "update returns a state of another structure than init's",
     learner(lambda state, feedback: state.returned)),
    ("state", r"weak.*would compile twice", toy(toys.ToyScheme, init=stays,
     update=updating(lambda state, feedback: state._replace(latency_s=jnp.zeros(()))))),
    ("float64", r"In float64 .* state.latency_s is float64\[8\], where init's is float32\[8\]", toy(toys.ToyScheme,
     init=lambda self, dims, good: lambda *x: good(*x)._replace(latency_s=jnp.zeros(8, jnp.float32)))),
    ("watch", r"single numbers by name, found 'returned' of shape \[8\]",
     toy(toys.ToyScheme, watch=lambda self, dims, good: lambda state: {"returned": state.returned})),
    ("pure", "another program when it is traced a second time", learner(
     lambda state, feedback: state._replace(latency_s=state.latency_s + np.random.uniform()))),  # noqa: NPY002
    ("pure", "keeps a value of a trace in Python after it ends",
     toy(toys.ToyScheme, select=keeping(lambda value: value))),
    ("pure", "keeps a value of a trace in Python after it ends",  # of which jax's report fails
     toy(toys.ToyScheme, select=keeping(lambda value: {"twice": value}))),
    ("pure", "calls back to Python or prints", scheme(
     lambda self, key, state, params, view, cohort: (jax.debug.print("{}", state.returned), cohort)[1])),
    ("static half", r"another member from the static half .* at chance = 0.45", scheme(
     lambda self, key, state, params, view, cohort: cohort._replace(
         inclusion=cohort.inclusion * vars(self).get("chance", 0.5)))),
    ("batches", r"other numbers beside other runs \(under jax.vmap\)",
     learner(lambda state, feedback: state._replace(latency_s=lonely(state.latency_s)))),
    ("masks", r"that is away is selected \(client \d in round \d+, where some are away\)",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(selected=jnp.arange(8) < params.k))),
    ("masks", r"4 clients are selected in round 1, where all clients are available, but slots says at most 3",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(
         selected=jfed.ops.smallest(cohort.inclusion, params.k + 1, among=view.available)))),
    ("masks", "No client is ever selected",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(selected=cohort.selected & False))),
    ("sound", r"state.latency_s becomes NaN in round \d+, where",
     learner(lambda state, feedback: state._replace(latency_s=state.latency_s + jnp.mean(feedback.loss)))),
    ("asks", "probe asks a client that is away", toy(toys.ToyScheme, probe=everyone)),
    ("inclusion", r"must lie in \[0, 1\], found 1.125",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(inclusion=3 * cohort.inclusion))),
    ("inclusion", "is away has an inclusion probability above 0",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(inclusion=jnp.full(8, 0.375)))),
    ("inclusion", "NaN for some clients or rounds only",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(
         inclusion=cohort.inclusion.at[0].set(jnp.nan)))),
    ("inclusion", "whose inclusion probability is 0 is selected",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(inclusion=0 * cohort.inclusion))),
    ("frequencies", "sum to 1.5 in round 1, where 3 clients are selected",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(inclusion=cohort.inclusion / 2))),
    ("frequencies", r"standard errors apart: draw with jfed.ops.exact_inclusion, or give NaN", scheme(favourites)),
    ("importance", "importance of a client is negative or not finite",
     scheme(lambda self, key, state, params, view, cohort: cohort._replace(importance=-cohort.inclusion))),
    ("one trace", "compiles 2 programs, not one", toy(toys.ToyScheme, init=stays,
     update=updating(lambda state, feedback: state._replace(latency_s=jnp.zeros(()))))),
]  # fmt: skip


def test_a_scheme_that_draws_nothing_is_said_to_be_deterministic():
    first = scheme(lambda self, key, state, params, view, cohort: cohort._replace(
        selected=jfed.ops.smallest(jnp.arange(8.0), params.k, among=view.available)))  # fmt: skip
    (finding,) = contracts.check(first, ["keys"])
    assert finding.sentence is None and finding.note == "deterministic"


@pytest.mark.parametrize(("rule", "sentence", "kind"), [*OPTIONS, *SCHEMES])
def test_a_broken_rule_is_named_in_a_sentence(rule, sentence, kind):
    require_caught(rule, sentence, kind)


def test_every_rule_has_a_toy_that_breaks_it():
    caught = {rule for rule, *_ in [*OPTIONS, *SCHEMES]}
    assert {rule for rule, _ in BENCHES["selector"][1]} == (caught - {"oracle"}) | {"keys"}


def test_what_is_no_member_is_refused():
    with pytest.raises(ConfigError, match="int is not derived from any of the bases of members"):
        contracts.check(int)  # type: ignore[arg-type]
