"""The room of federated algorithms: local training and aggregation. q-FedAvg and others will stand here.

An algorithm is one file that ends in `MEMBER = Member(Options, params, make)`. The table names options:
FedAvg and FedProx are one file at two settings.
"""

from jfed.algorithms import local_sgd

ALGORITHMS: dict[str, local_sgd.Options] = {
    "fedavg": local_sgd.Options(),
    "fedprox": local_sgd.Options(prox=0.5),
}
