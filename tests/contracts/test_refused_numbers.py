"""Numbers with which a world or a promise would make no sense are refused in a sentence that names them."""

from math import inf, nan

import pytest

from jfed.core.errors import ConfigError
from jfed.core.types import Problem
from jfed.envs import exchange, wireless
from jfed.selectors import cs_ucb_q, rbcs_f

PROBLEM = Problem(4, 4, 10)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (wireless.Options(model_bits=0.0), "model_bits must be positive, found 0"),
        (wireless.Options(power_dbm=nan), "power_dbm must be finite, found nan"),
        (wireless.Options(noise_dbm=inf), "noise_dbm must be finite, found inf"),
        (wireless.Options(path_loss_db=(nan, 37.6)), "path_loss_db must be finite, found"),
        (wireless.Options(speed=(10.0, 5.0, inf)), "speed must be finite, found"),
        (wireless.Options(speed=(10.0, -50.0, 5.0)), "every client a positive range of speeds"),
        (wireless.Options(distances_m=(1.0, 2.0)), "There are 2 distances_m for 4 clients"),
        (wireless.Options(distances_m=(1.0, 2.0, 0.0, 3.0)), "distances_m must be positive"),
        (exchange.Options(base_time_s=(1.0, inf, 1.0, 1.0)), "base_time_s must be finite and not negative, found"),
        (exchange.Options(cold_start_s=(1.0, -1.0, 1.0, 1.0)), "cold_start_s must be finite and not negative, found"),
        (exchange.Options(snr=(1.0, inf, 1.0, 1.0)), "snr must be positive and finite, found"),
        (exchange.Options(snr=(1.0, 1.0)), "need one value for each class"),
        (exchange.Options(capacity=(2.0, 1.0)), "capacity must be a positive range"),
        (exchange.Options(availability=1.5), "availability must lie in"),
    ],
)
def test_worlds(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        options.params(PROBLEM)


@pytest.mark.parametrize("ridge", [0.0, 1e-8, -1.0, inf, nan])
def test_a_ridge_penalty_must_be_seen_beside_the_contexts(ridge):
    with pytest.raises(ConfigError, match=r"ridge penalty must be at least 0\.001, found"):
        rbcs_f.Options(ridge=ridge).params(PROBLEM)


def test_a_promise_of_every_round_can_be_kept_where_all_are_selected():
    assert cs_ucb_q.Options(quota=1.0).params(PROBLEM).quota.tolist() == [1.0] * 4
    with pytest.raises(ConfigError, match=r"cannot promise 1 of the rounds to a client that is available in 0\.9"):
        cs_ucb_q.Options(quota=1.0).params(PROBLEM._replace(availability=0.9))
