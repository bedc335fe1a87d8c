"""The room of client selection schemes: one file each, and the table of them.

A new scheme is one file that ends in `MEMBER = Member(Options, params, make)` and one line here, which contract tests
pick up; a line in `config.METHODS` gives it a name for command lines and tables.
"""

from jfed.options import Member
from jfed.selectors import (
    agnostic,
    best_allocation,
    cs_ucb,
    cs_ucb_q,
    dirichlet,
    e3cs,
    eiffel,
    everybody,
    fedcs,
    least_loss,
    local_accuracy,
    pow_d,
    rbcs_f,
    round_robin,
    uniform,
)

SELECTORS: dict[str, Member] = {
    "uniform": uniform.MEMBER,
    "round_robin": round_robin.MEMBER,
    "dirichlet": dirichlet.MEMBER,
    "fedcs": fedcs.MEMBER,
    "pow_d": pow_d.MEMBER,
    "local_accuracy": local_accuracy.MEMBER,
    "e3cs": e3cs.MEMBER,
    "everybody": everybody.MEMBER,
    "agnostic": agnostic.MEMBER,
    "least_loss": least_loss.MEMBER,
    "eiffel": eiffel.MEMBER,
    "best_allocation": best_allocation.MEMBER,
    "rbcs_f": rbcs_f.MEMBER,
    "cs_ucb": cs_ucb.MEMBER,
    "cs_ucb_q": cs_ucb_q.MEMBER,
}
