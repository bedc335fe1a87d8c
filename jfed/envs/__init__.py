"""The room of worlds: who returns. Availability, latency, wireless channels and resources will stand here.

A world is one file that ends in `MEMBER = Member(Options, params, make)`, and one line in the table.
"""

from jfed.envs import volatility
from jfed.options import Member

ENVIRONMENTS: dict[str, Member] = {"volatility": volatility.MEMBER}
