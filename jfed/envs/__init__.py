"""The room of worlds: who can be asked, who returns, and how long it takes.

A world is one file that ends in `MEMBER = Member(Options, params, make)`, and one line in the table.
"""

from jfed.envs import edge, exchange, volatility, wireless
from jfed.options import Member

ENVIRONMENTS: dict[str, Member] = {
    "volatility": volatility.MEMBER,
    "exchange": exchange.MEMBER,
    "wireless": wireless.MEMBER,
    "edge": edge.MEMBER,
}
