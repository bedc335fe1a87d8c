"""The recordings of a smartwatch: windows, owners, and a package that is missing or is another one."""

import importlib.util

import numpy as np
import pytest

import jfed
from jfed.core.errors import DataError
from jfed.data import smartwatch


def recordings(lengths=(20, 25)):
    """Return recordings as the package has them: ten people, two arms, seven exercises, lengths in turn."""
    rng = np.random.default_rng(0)
    who = [(person, side, label) for person in range(1, 11) for side in (0, 1) for label in range(7)]
    rng.shuffle(who)
    subject, side, y = np.array(who).T
    x = [rng.normal(size=(lengths[i % len(lengths)], 6)) + 10 * p for i, p in enumerate(subject)]
    return {"X": x, "y": y, "subject": subject, "side": side.astype(float), "X_labels": ["ax"] * 6}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package with a file of our own."""
    folder = tmp_path / "seglearn"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('it need not be imported')\n")
    file = folder / "data" / "watch_dataset.npy"
    np.save(file, np.array(recordings(), object), allow_pickle=True)
    monkeypatch.syspath_prepend(tmp_path)
    return file


def test_windows_by_hand():
    held = recordings((20, 25))
    x, y, owner = smartwatch.windows(held, 10, 5, "arm")
    many = [3, 4] * 70  # starts 0, 5, 10, and 15 in the longer ones
    assert x.shape == (490, 10, 6) and x.dtype == np.float32 and y.dtype == owner.dtype == np.int32
    np.testing.assert_array_equal(y, np.repeat(held["y"], many))
    np.testing.assert_array_equal(owner, np.repeat(2 * (held["subject"] - 1) + held["side"], many))
    np.testing.assert_allclose(x[3 + 3], held["X"][1][15:25], rtol=1e-6)
    x, _, owner = smartwatch.windows(held, 25, 25, "person")
    assert x.shape == (70, 25, 6) and set(owner) == set(range(10))


@pytest.mark.check
def test_it_is_a_data_set_by_name_and_its_owners_are_clients(installed):
    whole = smartwatch.Options(window=10, step=10).load()
    assert whole.images.shape == (280, 10, 6) and whole.owners is not None and len(set(whole.owners)) == 20
    flat = whole.images.reshape(-1, 6)
    np.testing.assert_allclose(whole.mean, flat.mean(0), rtol=1e-5)
    np.testing.assert_allclose(whole.std, flat.std(0), rtol=1e-5)
    assert smartwatch.Options().where() == str(installed)
    training = jfed.Training(dataset=smartwatch.Options(window=10, step=10), batch_size=4, average_over="returned")
    config = jfed.Config(num_clients=20, cohort_size=4, num_rounds=3, training=training)
    found = jfed.run(jfed.methods(config, ["uniform"]), [0], progress=False)
    assert np.isfinite(found["test_accuracy"].values).all()
    with pytest.raises(DataError, match="as long as a window of 30 samples"):
        smartwatch.Options(window=30).load()
    with pytest.raises(DataError, match="step of smartwatch must be at least 1 sample, found 0"):
        smartwatch.Options(step=0).load()


def test_a_missing_package_and_another_one_are_said(installed, monkeypatch):
    np.save(installed, np.array(recordings() | {"y": np.arange(139)}, object), allow_pickle=True)
    with pytest.raises(DataError, match="does not hold 140 recordings of 7 exercises"):
        smartwatch.Options().load()
    installed.write_bytes(b"\x93NUMPY")
    with pytest.raises(DataError, match=r"cannot be read .* install seglearn again"):
        smartwatch.Options().load()
    installed.unlink()
    with pytest.raises(DataError, match=r"which is not installed: pip install 'jfed\[natural\]'"):
        smartwatch.Options().load()
    assert smartwatch.Options().where() == "not here: pip install 'jfed[natural]'"


@pytest.mark.skipif(importlib.util.find_spec("seglearn") is None, reason="seglearn is not installed")
def test_the_recordings_of_the_package():
    whole = smartwatch.Options(step=50).load()
    assert len(whole.labels) == 4677  # counted from the file with plain NumPy
    assert whole.owners is not None and len(set(whole.owners)) == 20 and np.bincount(whole.labels).min() > 500
