"""The room of federated algorithms: local training and aggregation.

A kind is one file that ends in `MEMBER`, and one line in `KINDS`; `ALGORITHMS` names options of kinds.
"""

from typing import Any

from jfed.algorithms import estimating, local_sgd, q_fedavg
from jfed.options import Member

KINDS: dict[str, Member] = {"local_sgd": local_sgd.MEMBER, "estimating": estimating.MEMBER, "q_fedavg": q_fedavg.MEMBER}
ALGORITHMS: dict[str, Any] = {
    "fedavg": local_sgd.Options(),
    "fedprox": local_sgd.Options(prox=0.5),
    "adaptive": estimating.Options(),
    "q-fedavg": q_fedavg.Options(),
}
