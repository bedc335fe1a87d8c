"""The room of federated algorithms: local training and aggregation. q-FedAvg and others will stand here.

The table names options of the one file there is, at two settings: FedAvg and FedProx; `engine/spec.py` makes it.
"""

from jfed.algorithms import local_sgd

ALGORITHMS: dict[str, local_sgd.Options] = {
    "fedavg": local_sgd.Options(),
    "fedprox": local_sgd.Options(prox=0.5),
}
