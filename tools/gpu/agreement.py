"""Whether a device computes what the CPU computes: the same draws, cohorts and sums, and losses close to each other.

Each side writes its answers piece by piece, in a process of its own. Training runs in the accelerator's lane on the
device and one client after another on the CPU.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import jfed
from jfed.core import ops, prng
from jfed.core.once import once
from jfed.core.total import total
from tools.gpu import machine
from tools.gpu.child import Rows, told

LANES = {"device": "vmapped", "cpu": "sequential"}  # of each side
Answers = dict[str, NDArray[Any]]
CLOSE = 2e-3  # of a loss or an accuracy, after rounds of training that round in other ways
SEEDS = 8
CLIENTS = 100
WIDTHS = (1, 3, SEEDS)  # runs side by side


class Size(NamedTuple):
    """How much is computed.

    Attributes:
        rounds: of a selection-only run.
        trained: rounds of a run with training.
        seeds: of a run.
        widths: sizes of blocks, by label.
        pieces: the number of pieces.
    """

    rounds: int
    trained: int
    seeds: int
    widths: tuple[tuple[str, int], ...]
    pieces: int


WHOLE = Size(300, 30, SEEDS, (("4", 4), ("4 again", 4), ("3", 3), ("1", 1)), 11)
SMALL = Size(40, 6, 4, (("4", 4), ("3", 3)), 5)


def draws(size: Size, lane: str) -> Answers:
    """Return draws of all kinds: words, variables, permutations, cohorts and the initial weights of a network."""
    del size, lane
    seeds = jax.tree.map(lambda *xs: jnp.stack(xs), *(prng.seeds(i) for i in range(SEEDS)))
    log_p = jnp.asarray(np.log(np.random.default_rng(0).dirichlet(np.ones(CLIENTS), SEEDS)), jnp.float32)

    def one(seeds: prng.Seeds, log_p: Any) -> dict[str, Any]:
        key = prng.at(prng.keys(seeds).selector, 7, 1)
        p = jnp.full(CLIENTS, 0.2)
        return {
            "words": prng.words(key, CLIENTS),
            "uniform": prng.uniform(key, CLIENTS),
            "order": ops.shuffled(key, jnp.arange(CLIENTS, dtype=jnp.int32), jnp.int32(CLIENTS)),
            "race": ops.race(key, log_p, jnp.int32(20)),
            "exact cohort": ops.exact_inclusion(key, p, jnp.int32(20)),
            "exponential": ops.exponential(key, CLIENTS),
            "normal": jax.random.normal(key, (CLIENTS,)),
        }

    return _host(jax.jit(jax.vmap(one))(seeds, log_p))


def sums(size: Size, lane: str) -> Answers:
    """Return sums in jfed's order with several rows side by side, and how values that are computed once compare."""
    del size, lane
    values = jnp.asarray(np.random.default_rng(1).lognormal(0, 3, (SEEDS, 2 * CLIENTS + 1)), jnp.float32)

    def cohort(row: Any) -> tuple[Any, Any]:
        p = once(jnp.exp(jnp.sin(row)) / total(jnp.exp(jnp.sin(row))))
        place = ops.order_of(-p.at[:7].set(p[7]))  # with ties
        return ops.count(ops.smallest(-p, jnp.int32(20))), jnp.sort(place)

    found = {f"total @ {n} side by side": jax.jit(jax.vmap(total))(values[:n])[:1] for n in WIDTHS}
    counted, places = jax.jit(jax.vmap(cohort))(values)
    return _host(found | {"cohort of 20": counted, "places": places})


def selection(scheme: str, mode: Any = "faithful", **world: Any) -> Callable[[Size, str], Answers]:
    """Return the piece of a selection-only scheme."""

    def piece(size: Size, lane: str) -> Answers:
        del lane
        return _answers(_run(_selection(scheme, mode, size, **world), size.seeds))

    return piece


def training(model: str, rate: float, schemes: tuple[str, ...]) -> Callable[[Size, str], Answers]:
    """Return the piece of schemes that train a model on the digits."""

    def piece(size: Size, lane: str) -> Answers:
        return _answers(_run(_training(model, rate, schemes, size), 2, lane=lane))

    return piece


def blocks(training_too: bool) -> Callable[[Size, str], Answers]:
    """Return the piece of the same runs in blocks of several sizes, one of them twice."""

    def piece(size: Size, lane: str) -> Answers:
        own = _training("linear", 0.1, ("e3cs-0.5",), size) if training_too else _selection("e3cs-0.5", size=size)
        return {
            f"{name} @ blocks of {label}": x
            for label, width in size.widths
            for name, x in _answers(_run(own, 4, block_size=width, lane=lane)).items()
        }

    return piece


PIECES: dict[str, Callable[[Size, str], Answers]] = {  # the most telling first
    "draws": draws,
    "sums": sums,
    "E3CS-0.5": selection("e3cs-0.5"),
    "softmax": training("linear", 0.1, ("e3cs-0.5",)),
    "blocks": blocks(training_too=False),
    "CNN": training("cnn", 0.2, ("e3cs-0.5",)),
    "power-of-choice": training("linear", 0.1, ("pow-d",)),
    "blocks with training": blocks(training_too=True),
    "exact E3CS-inc": selection("e3cs-inc", "corrected"),
    "CS-UCB-Q": selection("cs-ucb-q-0.001", environment="wireless"),
    "RBCS-F": selection("rbcs-f-20", environment="exchange"),
}


def _selection(scheme: str, mode: Any = "faithful", size: Size = WHOLE, **world: Any) -> list[jfed.Point]:
    base = jfed.Config(num_clients=CLIENTS, cohort_size=20, num_rounds=size.rounds)
    return [jfed.Point(jfed.replace(p.config, world), p.coords) for p in jfed.methods(base, [scheme], mode)]


def _training(model: str, rate: float, schemes: tuple[str, ...], size: Size) -> list[jfed.Point]:
    learned = jfed.Training(model=model, samples_per_client=35, test_fraction=0.0, test_set="official", batch_size=10)
    learned = jfed.replace(learned, {"algorithm.learning_rate": rate})
    base = jfed.Config(num_clients=40, cohort_size=8, num_rounds=size.trained, eval_every=2, training=learned)
    return list(jfed.methods(base, schemes))


def _run(points: list[jfed.Point], seeds: int, lane: str | None = None, block_size: int | None = None) -> Any:
    layout = jfed.Layout(block_size=block_size, lane=lane, record_selected=True)
    return jfed.run(points, range(seeds), layout=layout, progress=False)


def _answers(results: Any) -> Answers:
    """Return the numbers of some results."""
    return {str(name): np.asarray(x.values) for name, x in results.data_vars.items() if x.dtype.kind in "biuf"}


def _host(tree: Mapping[str, Any]) -> Answers:
    return {name: np.asarray(x) for name, x in tree.items()}


def write(folder: Path, lane: str, small: bool, left: Callable[[], float]) -> None:
    """Write the answers of one side, a file per piece, as long as there is time."""
    folder.mkdir(parents=True, exist_ok=True)
    size = SMALL if small else WHOLE
    for name, piece in list(PIECES.items())[: size.pieces]:
        if left() <= 0:
            print(f"no time for {name} on the {jax.default_backend()}", flush=True)
            continue
        try:
            np.savez(folder / f"{name}.part.npz", **piece(size, lane))  # type: ignore[arg-type]
        except Exception as error:  # one piece that fails must not hide the others
            print(f"{name} failed on the {jax.default_backend()}: {type(error).__name__}: {error}", flush=True)
            continue
        (folder / f"{name}.part.npz").replace(folder / f"{name}.npz")


def compared(first: Path, second: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer of the pieces that both sides have."""
    for piece in PIECES:
        paths = [folder / f"{piece}.npz" for folder in (first, second)]
        if not all(path.exists() for path in paths):
            continue
        with np.load(paths[0]) as a, np.load(paths[1]) as b:
            for name in a.files:
                yield {"piece": piece, "answer": name, **beside(a[name], b[name])}


def within(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer of a side that should be the same in whatever company (the part after "@")."""
    for piece in PIECES:
        path = folder / f"{piece}.npz"
        if not path.exists():
            continue
        with np.load(path) as found:
            own = {name: found[name] for name in found.files if " @ " in name}
        first: dict[str, str] = {}
        for name, x in own.items():
            what = name.partition(" @ ")[0]
            other = first.setdefault(what, name)
            if other != name:
                answer = f"{name} and {other.partition(' @ ')[2]}"
                yield {"piece": piece, "answer": answer, **beside(x, own[other])}


def beside(a: NDArray[Any], b: NDArray[Any]) -> dict[str, Any]:
    """Return whether two arrays are the same, in how many rows, from which column on not, and how far apart."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return {"verdict": "other shape", "rows": f"{a.shape} and {b.shape}", "from": "", "apart": float("nan")}
    x, y = np.atleast_1d(a).astype(np.float64), np.atleast_1d(b).astype(np.float64)
    differs = ~((x == y) | (np.isnan(x) & np.isnan(y)))
    apart = float(np.nanmax(np.abs(x - y), initial=0.0, where=differs))
    near = a.dtype.kind == "f" and apart <= CLOSE * max(1.0, float(np.nanmax(np.abs(y), initial=1.0)))
    columns = differs.reshape(*x.shape[:2], -1).any(axis=(0, 2)) if x.ndim > 1 else np.zeros(0, bool)
    return {
        "verdict": "same" if not differs.any() else "close" if near else "differs",
        "rows": f"{int((~differs).reshape(len(x), -1).all(axis=1).sum())} of {len(x)} the same",
        "from": str(int(columns.argmax())) if columns.any() else "",
        "apart": apart,
    }


if __name__ == "__main__":
    asked = told(__doc__)
    if asked.out.name == "device":
        table = Rows(asked.out.parent / "facts.csv")
        for name, value in machine.facts():
            table.add({"fact": name, "value": value})
    write(asked.out, LANES[asked.out.name], asked.small, asked.left)
