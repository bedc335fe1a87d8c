"""Synthetic(alpha, beta), compared with its description."""

import dataclasses

import numpy as np
import pytest

from jfed import catalog
from jfed.core.errors import DataError
from jfed.data.synthetic import Options, drawn

SMALL = Options(owners=5, features=4, classes=3, log_size=(2.0, 1.0), least=3)


def described(o):
    """Return Synthetic(alpha, beta) as in the paper's code, number by number, from draws in the order of `drawn`."""
    rng = np.random.default_rng(o.seed)
    sizes = [int(n) + o.least for n in rng.lognormal(*o.log_size, o.owners)]
    u, big_b = rng.normal(0, o.alpha, (o.owners, o.classes)), rng.normal(0, o.beta, o.owners)
    v = [[rng.normal(0 if o.iid else big_b[i], 1) for _ in range(o.features)] for i in range(o.owners)]
    models = rng.normal(0, 1, (o.owners, o.features + 1, o.classes))
    covariance = np.diag([float(j) ** -1.2 for j in range(1, o.features + 1)])
    x, y = [], []
    for i in range(o.owners):
        w, b = models[0 if o.iid else i, :-1], models[0 if o.iid else i, -1]
        for c in range(o.classes) if not o.iid else ():
            shift = u[i, 0] if o.shift == "owner" else u[i, c]
            w[:, c] += shift
            b[c] += shift
        mean = np.zeros(o.features) if o.iid else np.array(v[i])
        for _ in range(sizes[i]):
            x.append(mean + np.linalg.cholesky(covariance) @ rng.normal(0, 1, o.features))
            logits = w.T @ x[-1] + b
            y.append(int(np.argmax(np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum())))
    return np.array(x), np.array(y), np.repeat(np.arange(o.owners), sizes)


@pytest.mark.parametrize(
    "change",
    [{}, {"alpha": 0.5, "beta": 3.0}, {"alpha": 0.0, "beta": 0.0}, {"iid": True}, {"shift": "class"}, {"seed": 7}],
    ids=str,
)
def test_beside_its_description(change):
    o = dataclasses.replace(SMALL, **change)
    for found, expected in zip(drawn(o), described(o), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_alpha_changes_no_label():
    features, labels, owners = drawn(Options(owners=10, log_size=(3.0, 1.0)))
    for alpha in (0.0, 0.5, 50.0):
        same = drawn(Options(alpha=alpha, owners=10, log_size=(3.0, 1.0)))
        for a, b in zip(same, (features, labels, owners), strict=True):
            np.testing.assert_array_equal(a, b)
    corrected = drawn(Options(shift="class", owners=10, log_size=(3.0, 1.0)))
    np.testing.assert_array_equal(corrected[0], features)
    assert (corrected[1] != labels).mean() > 0.3
    assert catalog.find("dataset", "synthetic", "corrected") == Options(shift="class")


def test_sizes():
    counts = np.bincount(drawn(Options(owners=4000, features=1, classes=2, seed=1))[2])
    assert counts.min() == 50 + 0  # int(...) of a small number
    logs = np.log(counts[counts > 60] - 50)  # where truncation hardly counts
    for share, quantile in ((0.5, 104), (0.99, 5830)):
        error = np.sqrt(share * (1 - share) / 4000)
        assert abs((counts <= quantile).mean() - share) < 4.5 * error + 0.004
    assert logs.max() > 9


def test_features_vary_as_published():
    o = Options(owners=20, beta=2.0, log_size=(6.0, 0.1))
    x, _, owners = drawn(o)
    means = np.stack([x[owners == i].mean(0) for i in range(o.owners)])
    within = np.square(x - means[owners]).sum(0) / (len(x) - o.owners)
    expected = np.arange(1, 61) ** -1.2
    assert expected.sum() == pytest.approx(3.3906, abs=1e-4)
    np.testing.assert_allclose(within, expected, rtol=4.5 * np.sqrt(2 / len(x)))
    shifts = drawn(Options(owners=1000, beta=2.0, log_size=(0.0, 0.0), least=1))
    by_owner = shifts[0].mean(1).reshape(1000, -1).mean(1)  # B_i, and hardly anything else
    assert abs(by_owner.std() / np.hypot(2.0, np.sqrt(1 / 60)) - 1) < 4.5 / np.sqrt(2000) + 0.01


def test_owners_differ_but_for_iid():
    def largest_share(**change):
        _, labels, owners = drawn(Options(owners=60, log_size=(4.0, 0.5), **change))
        return np.mean([np.bincount(labels[owners == i]).max() / (owners == i).sum() for i in range(60)])

    shares = [largest_share(beta=beta) for beta in (0.0, 1.0, 5.0)]
    np.testing.assert_allclose(shares, [0.81, 0.86, 0.93], atol=0.06)  # as counted on the published code
    assert shares == sorted(shares) and largest_share(iid=True) < 0.4


def test_the_data_set():
    options = catalog.find("dataset", "Synthetic")
    assert options == Options() and options.has_owners()
    data = options.load()
    assert (data.name, data.title, data.num_classes) == ("synthetic-1-1", "Synthetic(1, 1)", 10)
    assert data.images.shape[1:] == (60,) and data.images.dtype == np.float32 and len(data.test_labels) == 0
    assert (data.max_value, data.mean, data.std) == (1.0, 0.0, 1.0)  # features are taken as they are
    assert len(np.unique(data.owners)) == 30 and data.digest == options.load().digest
    assert data.digest != Options(seed=1).load().digest
    other = catalog.find("dataset", "synthetic-0.5-0.5").load()
    assert (other.name, other.title) == ("synthetic-0.5-0.5", "Synthetic(0.5, 0.5)")
    assert catalog.find("dataset", "synthetic-iid").load().title == "Synthetic-IID"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"owners": 0}, "owners of at least 1, found 0"),
        ({"classes": 0}, "classes of at least 1"),
        ({"alpha": -1.0}, "alpha of synthetic data must be finite and not negative, found -1"),
        ({"beta": float("nan")}, "beta of synthetic data must be finite and not negative, found nan"),
        ({"seed": -1}, "seed of synthetic data"),
        ({"least": 0}, "need least >= 1"),
        ({"log_size": (4.0, 99.0)}, "a deviation of 0 to 5"),
    ],
)
def test_refusals(change, match):
    with pytest.raises(DataError, match=match):
        Options(**change).load()
