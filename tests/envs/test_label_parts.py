"""Worlds tied to the labels of the clients' images: by hand, beside plain NumPy, their laws, and in whole runs."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import composed as reference
from walking import key_of, on_device, ons, problem, walk

import jfed
from jfed import config as configs
from jfed.core import prng
from jfed.core.errors import ConfigError
from jfed.engine import simulate
from jfed.envs import composed
from jfed.envs.composed import Always, Coins, Drift, LabelDays, LabelRates
from jfed.envs.parts.labels import weights
from jfed.runner import feed, units
from jfed.runner.specs import run_params
from jfed.runner.units import Layout

COUNTS = np.array([[6, 2, 0, 0], [0, 3, 3, 0], [0, 0, 0, 5], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 4, 6]])
K, T = len(COUNTS), 15


def test_weights_by_hand():
    known = problem(K, labels=COUNTS)
    quarter = [0.25] * 4
    np.testing.assert_allclose(
        weights(known, "mix"),
        [[0.75, 0.25, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1], quarter, quarter, [0, 0, 0.4, 0.6]],
    )
    main, least = weights(known, "main"), weights(known, "least")
    assert main.argmax(1).tolist() == [0, 1, 3, 0, 0, 3] and least.argmax(1).tolist() == [0, 1, 3, 0, 0, 2]
    assert main[3].tolist() == least[3].tolist() == quarter  # no images: all labels equally
    assert ((main == 1).sum(1) == [1, 1, 1, 0, 1, 1]).all()


def test_rates_by_hand():
    def of(*args, **more):
        return LabelRates(*args, **more).params(problem(K, labels=COUNTS)).rate

    np.testing.assert_allclose(of((0.1, 0.4, 0.7, 1.0)), [0.175, 0.55, 1.0, 0.55, 0.55, 0.88])
    np.testing.assert_allclose(of((0.1, 1.0)), of((0.1, 0.4, 0.7, 1.0)))  # a line from the first to the last
    np.testing.assert_allclose(of((0.0, 0.9, 0.0), by="main"), [0, 0.6, 0, 0.3, 0, 0], atol=1e-12)
    np.testing.assert_allclose(of((0.1, 1.0), by="least"), [0.1, 0.4, 1.0, 0.55, 0.1, 0.7])  # Gu et al.
    np.testing.assert_allclose(of((0.3,)), 0.3)


PARTS = {
    "rates by mix": (LabelRates((0.1, 0.9)), lambda row, hour: reference.label_rate(row, (0.1, 0.9), "mix")),
    "rates by least": (
        LabelRates((0.8, 0.2), "least"), lambda row, hour: reference.label_rate(row, (0.8, 0.2), "least")
    ),
    "sine by main": (
        LabelDays(0.2, 0.9, 7.0), lambda row, hour: reference.label_day(row, "main", 0.2, 0.9, hour)
    ),
    "sine by mix": (
        LabelDays(0.0, 1.0, 7.0, by="mix"), lambda row, hour: reference.label_day(row, "mix", 0.0, 1.0, hour)
    ),
    "square by mix": (
        LabelDays(0.1, 0.8, 7.0, 0.3, "mix", "square"),
        lambda row, hour: reference.label_day(row, "mix", 0.1, 0.8, hour, 0.3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_beside_plain_numpy(case):
    part, want = PARTS[case]
    seeds = 3
    on, chance = ons(part, K, T, seeds, labels=COUNTS)
    for seed in range(seeds):
        key = jax.random.key(seed)
        start = float(prng.uniform(prng.at(key, 0), 1)[0])
        for t in range(T):
            drawn = np.asarray(prng.uniform(prng.at(key, t + 1), K))
            expected = [want(row, start + t / 7.0) for row in COUNTS]
            np.testing.assert_allclose(chance[seed, t], expected, atol=2e-6)
            assert on[seed, t].tolist() == (drawn < expected).tolist()


@pytest.mark.check
def test_the_laws_of_days_by_label():
    labels = np.eye(4, dtype=int)[np.arange(8) % 4] * 9
    part = LabelDays(0.05, 0.95, 12.0)
    on, chance = ons(part, 8, 24, 2000, labels=labels)
    np.testing.assert_allclose(on.mean((0, 1)), part.expected(), atol=0.02)  # all labels are there equally often
    np.testing.assert_allclose(on[:, 0].mean(0), part.expected(), atol=0.05)  # and any of them may be first
    np.testing.assert_allclose(chance[:, :12].mean(1), part.expected(), atol=1e-5)
    np.testing.assert_allclose(chance[:, 3:, 1], chance[:, :-3, 0], atol=1e-5)  # label 1 a quarter of a day later
    moving = chance - part.expected()  # two labels a quarter apart are uncorrelated, half a day apart opposite
    law = np.einsum("rti,rtj->ij", moving, moving) / moving[..., 0].size / 0.45**2 * 2
    near = np.subtract.outer(np.arange(8), np.arange(8)) % 4
    np.testing.assert_allclose(law, np.choose(near, [1, 0, -1, 0]), atol=1e-4)
    np.testing.assert_allclose(np.cov(on.reshape(-1, 8).T)[near > 0], (law * 0.45**2 / 2)[near > 0], atol=0.01)


def test_one_label_after_the_other():
    labels = np.eye(5, dtype=int)[np.arange(10) % 5]
    on, _ = ons(LabelDays(0.0, 1.0, 20.0, 0.2, wave="square"), 10, 60, 40, labels=labels)
    assert (on[..., :5].sum(-1) == 1).all() and (on[..., :5] == on[..., 5:]).all()
    order = on[..., :5].argmax(-1)
    assert np.isin(np.diff(order, axis=1) % 5, (0, 1)).all() and (order[:, 20:] == order[:, :-20]).all()
    assert (on[:, :20].sum(1) == 4).all() and len(set(order[:, 0])) == 5
    everyone, nobody = (LabelDays(0.0, 1.0, 20.0, share, wave="square") for share in (1.0, 0.0))
    assert ons(everyone, 10, 25, 9, labels=labels)[0].all() and not ons(nobody, 10, 25, 9, labels=labels)[0].any()
    assert (everyone.expected(), nobody.expected()) == (1.0, 0.0)


def test_available_success_and_drift():
    """Both can be tied to labels at once; the oracle knows it, and a drift moves the middle of the waves."""
    world = composed.Options(LabelRates((0.0, 1.0), "main"), LabelDays(0.2, 0.6, 5.0), Drift(0.1), "success")
    nobody = np.zeros((T, K), bool)
    _, (states, seen, outcome) = walk(world, nobody, nobody.astype(int), np.ones(K), 1, labels=COUNTS)
    assert seen.available[:, 2].all() and not seen.available[:, 0].any() and world.needs_labels()
    hour, walked = states.success.hour[0], states.change.walked
    for t in range(T):
        for i, row in enumerate(COUNTS):
            swing = reference.label_day(row, "main", 0.2, 0.6, hour + t / 5.0) - 0.4
            want = min(max(reference.mirrored(0.4 + walked[t, i]) + swing, 0.0), 1.0)
            assert seen.oracle.success_rate[t, i] == pytest.approx(want, abs=1e-5)
    assert 0 < outcome.succeeded.mean() < 1


BASE = jfed.Config(
    12, 12, 16, selector="uniform",
    environment=composed.Options(LabelDays(0.0, 1.0, 8.0, 0.5, wave="square"), Always()),
    training=jfed.Training(samples_per_client=20, batch_size=10),
)  # fmt: skip


def normal(config):
    return configs.normal(config)


def test_labels_are_counted():
    config = normal(BASE)
    whole = feed.dataset(config.training.dataset, None)
    for seed in (0, 5):
        found = feed.labels(config, seed, None)
        data = feed.federated(config.training, [config], [seed], None)
        want = np.zeros((12, whole.num_classes), int)
        for i in range(12):
            for place in data.index[0, i, : data.num_samples[0, i]]:
                want[i, whole.labels[place]] += 1
        np.testing.assert_array_equal(found, want)
        np.testing.assert_array_equal(found.sum(1), data.num_samples[0])
    assert (feed.labels(config, 0, None) != feed.labels(config, 5, None)).any()
    sizes = (0, 2, 9, *[20] * 9)
    some = normal(jfed.replace(BASE, {"training.samples_per_client": sizes, "training.test_fraction": 0.0,
                                      "training.test_set": "official"}))  # fmt: skip
    assert feed.labels(some, 0, None).sum(1).tolist() == list(sizes)


@pytest.mark.check
def test_whole_runs_of_clients_that_are_there_by_their_labels():
    """Everyone who is there is selected, so that cohorts show who is."""
    other = jfed.replace(BASE, {"environment.availability.share": 0.3})
    points = [jfed.Point(BASE, {"method": "a"}), jfed.Point(other, {"method": "b"})]
    layout = Layout(record_selected=True, block_size=4)
    assert len({unit.group for unit in units.plan(points, [0, 1], layout)}) == 1
    before = len(simulate.TRACES)
    found = jfed.run(points, [0, 1], layout=layout, progress=False)
    assert len(simulate.TRACES) == before + 1
    rows = {}
    for row in range(found.sizes["run"]):
        method, seed = str(found["method"].values[row]), int(found["seed"].values[row])
        there = np.unpackbits(found["selected"].values[row], axis=-1, count=12).astype(bool)
        main, share = feed.labels(normal(BASE), seed, None).argmax(1), 0.5 if method == "a" else 0.3
        start = start_of(seed)
        for t in range(16):
            after = (start + t / 8.0 - main / 10) % 1.0
            np.testing.assert_array_equal(there[t], np.minimum(after, 1 - after) < share / 2, f"{method} {seed} {t}")
        rows[method, seed] = there
    assert (rows["a", 0] != rows["a", 1]).any() and (rows["b", 0] <= rows["a", 0]).all()


def start_of(seed):
    """Return the hour at which a run begins, from the params that the engine gives its world."""
    params = on_device(run_params(normal(BASE), seed, None).environment)
    init = BASE.environment.make(jfed.Dims(12, 12)).init
    return float(init(prng.at(key_of(seed), 0, 0), params, jnp.ones(12, jnp.int32)).availability.hour)


def test_without_training_there_are_no_labels():
    before = len(simulate.TRACES)
    bare = jfed.replace(BASE, {"training": None})
    words = (
        "^In this world, whether clients are there depends on the labels of their images, which they have only with"
        r" training: set training=jfed.Training\(...\) in Python, or name a data set with --dataset\.$"
    )
    for config in (bare, jfed.replace(bare, {"environment": composed.Options(success="label-rates")})):
        with pytest.raises(ConfigError, match=words):
            jfed.run(jfed.methods(config, ["uniform"]), [0], progress=False)
    with pytest.raises(ConfigError, match="are not read here: look at results of runs in place of"):
        jfed.outcomes(BASE, [0])
    with pytest.raises(ConfigError, match="need the labels of the clients' images: they need training"):
        LabelRates().params(problem(K))
    assert len(simulate.TRACES) == before
    assert not composed.Options(Coins(), Always()).needs_labels()


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (LabelRates(()), "At least one of the rates of labels is needed"),
        (LabelRates((0.5, 1.5)), r"The rates of labels must lie in \[0, 1\], found 1\.5"),
        (LabelRates((0.5,) * 5), "There are 5 rates of labels for only 4 labels"),
        (LabelDays(0.9, 0.1), r"low and high must lie in \[0, 1\], the lower one first, found 0\.9 and 0\.1"),
        (LabelDays(0.5, 1.1), r"low and high must lie in \[0, 1\], the lower one first, found 0\.5 and 1\.1"),
        (LabelDays(period=0.0), "period must be positive, found 0"),
        (LabelDays(share=1.5), r"share must lie in \[0, 1\], found 1\.5"),
    ],
)
def test_impossible_numbers_are_refused(part, sentence):
    with pytest.raises(ConfigError, match=sentence):
        part.params(problem(K, labels=COUNTS))


def test_unknown_words_are_refused():
    for path, word in (("by", "most"), ("wave", "saw")):
        with pytest.raises(ConfigError, match=rf"environment\.availability\.{path} must be .*, found '{word}'"):
            jfed.replace(BASE, {f"environment.availability.{path}": word})


@dataclasses.dataclass(frozen=True)
class Own(composed.Options):
    """A world tied to labels."""

    names = (jfed.Name("own-labels", {"availability": LabelDays()}),)


@pytest.mark.check
def test_a_world_tied_to_labels_keeps_the_rules_of_worlds():
    from jfed.contracts import check

    assert [finding.sentence for finding in check(Own(LabelDays(by="mix"))) if finding.sentence] == []
