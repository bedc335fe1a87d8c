"""Synthetic(alpha, beta): clients whose examples and whose linear models differ.

T. Li, A. K. Sahu, M. Zaheer, M. Sanjabi, A. Talwalkar, V. Smith: Federated Optimization in Heterogeneous Networks
(FedProx). MLSys 2020, Sec. 5.1, and its public code.

*Notation*: i = 1 .. N owners; d features, j = 1 .. d; L classes; u_i, B_i = the shifts of an owner's model and
features; W_i, b_i = its model; v_i = the mean of its features.

- n_i = int(lognormal(4, 2)) + 50
- u_i ~ N(0, alpha), B_i ~ N(0, beta); alpha and beta are standard deviations in the code (the paper reads as variances)
- W_i ~ N(u_i, 1)^(d x L), b_i ~ N(u_i, 1)^L, v_i ~ N(B_i, 1)^d
- x ~ N(v_i, S) with S diagonal, S_jj = j^-1.2
- y = argmax(softmax(W_i' x + b_i))
- iid: one W, b ~ N(0, 1) and v = 0 for all; sizes stay lognormal

*The flaw*: u_i adds the same number, u_i (1 + sum of x), to all logits of an example, so alpha changes no label. What
makes models differ is that W_i is drawn anew, at alpha = 0 too, so Synthetic(0, 0) is not iid. `shift="class"` is the
corrected form, in which each class has a u of its own.

*Departures*: the labels are those of the largest logit, without the softmax, which overflows in the code for alpha
above 3. The test part of an owner's examples is the floor of the test fraction, drawn by the run's seed; in the code it
is the ceiling, drawn without a seed.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError
from jfed.core.members import Modes, Name
from jfed.core.options import static
from jfed.data.dataset import Dataset
from jfed.data.options import DataOptions, Folder

_DECAY = -1.2


@dataclass(frozen=True)
class Options(DataOptions):
    """A Synthetic(alpha, beta) data set, which depends on these fields alone and is the same for every run.

    Attributes:
        alpha: standard deviation of u, the shift of the models.
        beta: standard deviation of B, the shift of the features.
        iid: whether all owners have one model and one distribution of features; alpha and beta then have no effect.
        shift: owner: one u for each owner, as published, which changes no label; class: one for each of its classes.
        owners: N.
        features: d.
        classes: L.
        log_size: mean and standard deviation of the logarithm of an owner's number of examples, before adding `least`.
        least: number of examples that is added for each owner.
        seed: seed of the data set; the data seed of a run decides which client trains and tests on which examples.
    """

    names = (
        Name("synthetic-1-1", aliases=("synthetic",)),
        Name("synthetic-0.5-0.5", {"alpha": 0.5, "beta": 0.5}),
        Name("synthetic-0-0", {"alpha": 0.0, "beta": 0.0}),
        Name("synthetic-iid", {"iid": True}),
    )
    modes = Modes({"shift": "owner"}, {"shift": "class"})

    alpha: float = static(1.0)
    beta: float = static(1.0)
    iid: bool = static(False)
    shift: Literal["owner", "class"] = static("owner")
    owners: int = static(30)
    features: int = static(60)
    classes: int = static(10)
    log_size: tuple[float, float] = static((4.0, 2.0))
    least: int = static(50)
    seed: int = static(0)

    def has_owners(self) -> bool:
        """Return True."""
        return True

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set: training examples only, with unscaled features."""
        _check(self)
        features, labels, owners = drawn(self)
        kind = "iid" if self.iid else f"{self.alpha:g}-{self.beta:g}"
        title = "Synthetic-IID" if self.iid else f"Synthetic({self.alpha:g}, {self.beta:g})"
        no_label = labels[:0]
        return Dataset(
            f"synthetic-{kind}", title, features, labels, features[:0], no_label, self.classes, 1.0, 0.0, 1.0, owners
        )


def _check(o: Options) -> None:
    for name in ("owners", "features", "classes"):
        if getattr(o, name) < 1:
            raise DataError(f"synthetic data need {name} of at least 1, found {getattr(o, name)}")
    for name in ("alpha", "beta", "seed"):
        if not 0 <= getattr(o, name) < inf:
            raise DataError(f"{name} of synthetic data must be finite and not negative, found {getattr(o, name)}")
    mean, spread = o.log_size
    if not (o.least >= 1 and abs(mean) <= 15 and 0 <= spread <= 5):
        raise DataError(
            f"sizes of synthetic data need least >= 1 and log_size with a mean of -15 to 15 and a deviation of 0 to 5,"
            f" found {o.least} and {o.log_size}"
        )


def drawn(o: Options) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """Return features (n, d), labels (n,) and owners (n,), owner by owner.

    No draw depends on alpha or beta, which scale standard normal draws: data sets that differ in these alone share
    their draws.
    """
    rng = np.random.default_rng(o.seed)
    sizes = rng.lognormal(*o.log_size, o.owners).astype(np.int64) + o.least
    u = o.alpha * rng.standard_normal((o.owners, o.classes))
    if o.shift == "owner":
        u = np.broadcast_to(u[:, :1], u.shape)
    big_b = o.beta * rng.standard_normal(o.owners)
    v = big_b[:, np.newaxis] + rng.standard_normal((o.owners, o.features))
    spread = np.sqrt(np.arange(1, o.features + 1) ** _DECAY)
    models = rng.standard_normal((o.owners, o.features + 1, o.classes))  # the last row is b
    models = np.broadcast_to(models[:1], models.shape) if o.iid else models + u[:, np.newaxis]
    v = np.zeros_like(v) if o.iid else v
    features, labels = [], []
    for model, mean, size in zip(models, v, sizes, strict=True):
        x = mean + spread * rng.standard_normal((size, o.features))
        features.append(x.astype(np.float32))
        labels.append((x @ model[:-1] + model[-1]).argmax(axis=1))
    owners = np.repeat(np.arange(o.owners, dtype=np.int32), sizes)
    return np.concatenate(features), np.concatenate(labels).astype(np.int32), owners
