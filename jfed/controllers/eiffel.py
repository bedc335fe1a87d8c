"""Eiffel's control of the number of local steps: adaptive tau with other options (`adaptive.py`), in two modes.

A. Sultana et al., "Eiffel: Efficient and Fair Scheduling in Adaptive Federated Learning", IEEE TPDS 2022, Algorithm 1,
lines 15 to 25, and Eq. (9) to (12). `selectors/eiffel` describes its selection.

*Notation.* eta, beta, delta, h: as in `adaptive`; alpha: as in `selectors/eiffel`.

    h(x) = max(0, alpha delta / beta ((eta beta + 1)^x - 1) - eta delta x)          Eq. (11)

Line 15 counts two exchanges, down and up; so does `edge.Options(transfers=2)`.
`faithful`: costs are added up over the cohort (line 15); the run ends when the next round would not fit (line 23), and
the last model is returned (line 25). alpha is printed without an index; here it is the mean of alpha_i over the clients
that returned, weighted by their images, with which h(1) is not 0; without images among these it stays as it was.
alpha then counts twice: the shares by which delta is averaged, Eq. (10), contain alpha_i, and h multiplies delta by
alpha once more. Eq. (10) also calls delta_i a bound of the distance between a client's gradient and the average, and
alpha_i delta_i another; delta_i is that distance here.
`corrected`: clients work side by side, so time is the maximum over the cohort; the last tau is cut to what the budget
allows, as in Wang et al., the best model is returned (set `Training.final_model` to "best"), and alpha is 1, since the
shares of `selectors/eiffel` add up to 1 (set `Training.average_over` to "returned").

In Sec. 6.1 clients have time budgets of their own, drawn from a normal distribution, and Algorithm 1 has one R_m; here
one budget counts for all. tau_max is 100 as in Wang et al., whose control parameters the paper keeps, though Table 4
has averages of up to 179.75.
"""

from typing import Literal

from jfed.controllers import adaptive

FAITHFUL = adaptive.Options(cost="sum", stop="plain", weighted=True)
CORRECTED = adaptive.Options(cost="max", stop="best")
MODES: dict[Literal["faithful", "corrected"], adaptive.Options] = {"faithful": FAITHFUL, "corrected": CORRECTED}
