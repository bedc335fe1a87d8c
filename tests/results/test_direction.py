"""Tests of the rule that says whether a higher or a lower value of a metric is better."""

import pytest

from jfed.results.direction import direction, require_direction

LOWER = """final_loss; rounds to 65 %; round_time_s; regret / bound; test_error; validationLoss; RMSE; test_loss; gini;
    cross_entropy_loss; cross entropy loss; CrossEntropyLoss; queue_length; energy_j; broken; perplexity; log_loss;
    latency_ms; gini index; cost; rounds"""
HIGHER = """accuracy; test_acc; num_succeeded; jain; F1; testAccuracy; cep; final accuracy; times_succeeded; entropy;
    auc; returned; expected_succeeded; success_rate; accuracy_improvement; recall@10; R2; throughput; slack; worst
    accuracy"""
SILENT = """x; accuracy_loss; num_selected; times_selected; tau; ; accuracy_variance; accuracy_std; acc sd; acc_drop;
    accuracy_gap; accuracy_degradation; cross_entropy; crossEntropy; attack_success_rate; backdoor_accuracy; recall_gap;
    energy_efficiency; time_saved; cost_savings; loss_reduction; error_reduction; images_per_s; rounds_participated;
    negative_loss; neg_mse; accuracyDelta; acc diff; loss_ratio; accuracy_rank; 1 - accuracy; 1-acc; -loss;
    energy_left; loss_change; time_to_accuracy; not_succeeded; loss_decrease"""


def names(text):
    return [" ".join(name.split()) for name in text.split(";")]


@pytest.mark.parametrize(
    ("metric", "better"),
    [(name, word) for text, word in ((LOWER, False), (HIGHER, True), (SILENT, None)) for name in names(text)],
)
def test_what_a_name_says(metric, better):
    assert direction(metric) is better


def test_what_is_told_counts_and_silence_is_refused():
    assert require_direction("accuracy_gap", False) is False and require_direction("tau", True) is True
    assert require_direction("accuracy", None) is True and require_direction("loss", None) is False
    with pytest.raises(ValueError, match="the name 'accuracy_gap' does not say whether a higher or a lower value"):
        require_direction("accuracy_gap", None)
