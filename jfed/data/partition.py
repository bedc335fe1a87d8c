"""Partitions: tables of which client holds which training images, and which of them it keeps for testing.

Sources of the partitions: see `primary.py` (E3CS), `dirichlet.py` (Hsu, Qi, Brown; RBCS-F), `few_labels.py` (CS-UCB)
and `wang_case.py` (adaptive tau; Eiffel); `natural.py` uses the owners of the examples.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError, unknown
from jfed.data.checks import checked
from jfed.data.dirichlet import dirichlet
from jfed.data.few_labels import few_labels
from jfed.data.natural import natural
from jfed.data.primary import primary
from jfed.data.wang_case import wang_case

# 0.29 * 100 is 28.999999999999996 in floating point, and 29 images are meant.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Partition:
    """The training images on which each client trains and tests.

    Rows are valid up to the client's number; the rest is padded with 0.

    Attributes:
        train: (K, n_max), positions in the training images.
        num_train: (K,), valid entries of each row of `train`.
        test: (K, m_max), positions in the training images.
        num_test: (K,), valid entries of each row of `test`.
    """

    train: NDArray[np.int32]
    num_train: NDArray[np.int32]
    test: NDArray[np.int32]
    num_test: NDArray[np.int32]


def sizes(num_clients: int, samples_per_client: int | ArrayLike) -> NDArray[np.int32]:
    """Return the clients' numbers of images (K,): one number for all, or one for each.

    Clients with 0 or 1 images are allowed.

    Raises:
        DataError: there is no client, or not one whole number of at least 0 for all clients or for each.
    """
    given = np.asarray(samples_per_client)
    if num_clients < 1:
        raise DataError(f"there must be at least one client, found {num_clients}")
    if given.shape not in ((), (num_clients,)):
        raise DataError(f"samples_per_client must be one number or {num_clients} numbers, found shape {given.shape}")
    if not np.issubdtype(given.dtype, np.integer) or given.min() < 0:
        raise DataError(f"samples_per_client must be whole numbers of at least 0, found {samples_per_client}")
    return np.broadcast_to(given, num_clients).astype(np.int32)


def iid(labels: ArrayLike, sizes: ArrayLike, rng: np.random.Generator) -> list[NDArray[np.int32]]:
    """Give client i `sizes[i]` images drawn at random, no image twice.

    A client's label counts are random, not equalised. E3CS's clients sample independently of each other and may share
    images; here they do not.

    Args:
        labels: (N,), integers.
        sizes: (K,), integers.
        rng: source of the draw.

    Returns:
        K vectors of positions in `labels`, each in random order.

    Raises:
        DataError: the sizes do not fit the labels.
    """
    labels, sizes = checked(labels, sizes)
    order = rng.permutation(len(labels)).astype(np.int32)[: sizes.sum()]
    return np.split(order, sizes.cumsum()[:-1])


def reserve(indices: Sequence[ArrayLike], fraction: float, rng: np.random.Generator) -> Partition:
    """Split each client's images at random into a training and a local test part.

    A client with n images keeps floor(fraction n) for testing (E3CS: 0.1 makes 500 into 450 + 50), hence none if
    n < 1 / fraction: a single image is for training. Fraction 0 gives `test` the shape (K, 0).

    Raises:
        DataError: the fraction is below 0, or not below 1.
    """
    if not 0 <= fraction < 1:
        raise DataError(f"the test fraction must be at least 0 and below 1, found {fraction}")
    train, test = [], []
    for hand in indices:
        shuffled = rng.permutation(np.asarray(hand, np.int32))
        num_train = len(shuffled) - int(fraction * len(shuffled) + _ROUNDING)
        train.append(shuffled[:num_train])
        test.append(shuffled[num_train:])
    return Partition(*_padded(train), *_padded(test))


def _padded(rows: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    lengths = np.array([len(row) for row in rows], np.int32)
    table = np.zeros((len(rows), lengths.max(initial=0)), np.int32)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table, lengths


def union_test(partition: Partition) -> NDArray[np.int32]:
    """Return the reserved images of all clients, client by client: (sum of num_test,).

    This is E3CS's test set: 100 clients x 50 images, with the label mix of the clients' own data.
    """
    return partition.test[np.arange(partition.test.shape[1]) < partition.num_test[:, np.newaxis]]


PARTITIONS: dict[str, Callable[..., list[NDArray[np.int32]]]] = {
    "iid": iid,
    "primary": primary,
    "dirichlet": dirichlet,
    "few_labels": few_labels,
    "wang_case": wang_case,
}


NATURAL = "natural"
"""Name of the partition by owners, which is not in `PARTITIONS` because it needs them instead of labels."""


def partition(
    name: str,
    labels: ArrayLike,
    sizes: ArrayLike,
    test_fraction: float,
    rng: np.random.Generator,
    options: Mapping[str, Any] | None = None,
) -> Partition:
    """Deal images to clients by a partition of `PARTITIONS` and reserve local test parts.

    Args:
        name: name of the partition.
        labels: (N,), labels of the training images.
        sizes: (K,), the clients' numbers of images before the test part is taken off.
        test_fraction: see `reserve`.
        rng: source of all draws; one state gives one partition.
        options: the partition's keywords ("primary": share, balanced; "dirichlet": alpha, rounded; "few_labels":
            num_labels; "wang_case": case, shuffled).

    Raises:
        ConfigError: the partition or an option is unknown.
        DataError: an option is missing, or the partition refuses an argument.
    """
    if name not in PARTITIONS:
        raise unknown("partition", name, [*PARTITIONS, NATURAL])
    scheme, options = PARTITIONS[name], options or {}
    _check_options(name, scheme, options)
    return reserve(scheme(labels, sizes, rng, **options), test_fraction, rng)


def natural_partition(
    owners: NDArray[np.int32] | None,
    num_clients: int,
    most: int | Sequence[int] | None,
    test_fraction: float,
    rng: np.random.Generator,
    options: Mapping[str, Any] | None = None,
) -> Partition:
    """Give each client the examples of one owner and reserve local test parts.

    Args:
        owners: (N,), owners of the training examples.
        num_clients: K.
        most: largest number of examples of a client; None: no limit.
        test_fraction: see `reserve`.
        rng: source of all draws.
        options: may have the keyword min_samples.

    Raises:
        ConfigError: an option is unknown.
        DataError: there are no owners, `most` is not one number, or `natural` refuses an argument.
    """
    if owners is None:
        raise DataError(
            'the partition "natural" needs owners, which this data set does not have: give clients to jfed.arrays, or'
            f" choose among {', '.join(sorted(PARTITIONS))}"
        )
    if most is not None and not isinstance(most, int):
        raise DataError(
            'in the partition "natural" each client has the examples of its owner: samples_per_client can be one'
            f" number, the most that a client takes of them, but not one number for each client, found {most}"
        )
    options = options or {}
    _check_options(NATURAL, natural, options, apart=("most",))
    return reserve(natural(owners, num_clients, rng, most=most, **options), test_fraction, rng)


def _check_options(
    name: str, scheme: Callable[..., Any], options: Mapping[str, Any], apart: Sequence[str] = ()
) -> None:  # fmt: skip
    parameters = inspect.signature(scheme).parameters.values()
    known = {p.name: p for p in parameters if p.kind == p.KEYWORD_ONLY and p.name not in apart}
    for option in options:
        if option not in known:
            raise unknown(f"option of the partition {name!r}", option, known)
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in options:
            raise DataError(f"the partition {name!r} needs the option {option!r}")
