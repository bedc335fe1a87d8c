"""Eiffel's control of the number of local steps: adaptive tau with other options (`adaptive.py`), in two modes.

A. Sultana et al., "Eiffel: Efficient and Fair Scheduling in Adaptive Federated Learning", IEEE TPDS 2022, Algorithm 1,
lines 15 to 25, and Eq. (9) to (12). `selectors/eiffel` says whom it selects.

*Notation.* c and b costs of a step and an exchange, s what is spent, R the budget; alpha as in `selectors/eiffel`.

    h(x) = max(0, alpha delta / beta ((eta beta + 1)^x - 1) - eta delta x)          Eq. (11)

Line 15 counts two exchanges, down and up: so does `edge.Options(transfers=2)`.
`faithful`: costs are added up over the selected (line 15); the run ends when the next round would not fit (line 23),
and the last model is returned (line 25). alpha stands without an index: it is the mean of alpha_i over the selected, by
their images; then h(1) is not 0.
`corrected`: time passes once for all who work side by side, so it is the maximum over the selected; the last tau is cut
to what the budget allows, as Wang et al. do, the best model is returned (set `Training.returns` to "best"), and alpha
is 1: the weights of `selectors/eiffel` add up to 1 (set `Training.missing` to "returned").
"""

from typing import Literal

from jfed.controllers import adaptive

FAITHFUL = adaptive.Options(cost="sum", stop="plain", weighted=True)
CORRECTED = adaptive.Options(cost="max", stop="best")
MODES: dict[Literal["faithful", "corrected"], adaptive.Options] = {"faithful": FAITHFUL, "corrected": CORRECTED}
