"""The room of controllers: how many local steps. Adaptive tau will stand here.

A controller is one file that ends in `MEMBER = Member(Options, params, make)`, and one line in the table.
"""

from jfed.controllers import epochs, fixed
from jfed.options import Member

CONTROLLERS: dict[str, Member] = {"epochs": epochs.MEMBER, "fixed": fixed.MEMBER}
