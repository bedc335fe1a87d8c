"""Names that come from files: shown without what would steer a terminal or turn the reading direction."""

import re
import unicodedata

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences, such as colours
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"  # strings for the terminal, such as its title
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_STEERING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # categories of control, format, surrogate, private and line signs


def plain(text: str) -> str:
    """Return a text in one line, without ANSI sequences, control characters and invisible marks."""
    blank = re.sub(r"[\t\n\r\v\f]+", " ", _SEQUENCES.sub("", text))
    return "".join(letter for letter in blank if unicodedata.category(letter) not in _STEERING)
