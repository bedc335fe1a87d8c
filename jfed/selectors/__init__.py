"""The room of client selection schemes: one file each, and the table of them.

A new scheme is one file that ends in `MEMBER = Member(Options, params, make)` and one line here, which contract tests
pick up; a line in `config.METHODS` gives it a name for command lines and tables.
"""

from jfed.options import Member
from jfed.selectors import best_allocation, e3cs, fedcs, pow_d, uniform

SELECTORS: dict[str, Member] = {
    "uniform": uniform.MEMBER,
    "fedcs": fedcs.MEMBER,
    "pow_d": pow_d.MEMBER,
    "e3cs": e3cs.MEMBER,
    "best_allocation": best_allocation.MEMBER,
}
