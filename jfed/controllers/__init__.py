"""The room of controllers: how many local steps, and when a run is over.

A controller is one file that ends in `MEMBER = Member(Options, params, make)`, and one line in the table.
"""

from jfed.controllers import adaptive, epochs, fixed
from jfed.options import Member

CONTROLLERS: dict[str, Member] = {"epochs": epochs.MEMBER, "fixed": fixed.MEMBER, "adaptive": adaptive.MEMBER}
