"""Texts for Markdown and LaTeX in which nothing of a name is markup: no links, no HTML, no commands."""

import re
import unicodedata

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "`": r"\textasciigrave{}", '"': "''", "\N{NO-BREAK SPACE}": "~", "–": r"\textendash{}",
    "—": r"\textemdash{}", "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}", "…": r"\dots{}", "ß": r"\ss{}", "ø": r"\o{}", "Ø": r"\O{}", "æ": r"\ae{}",
    "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
}  # fmt: skip
_MATHS = {
    "±": r"\pm", "≥": r"\geq", "≤": r"\leq", "≠": r"\neq", "≈": r"\approx", "×": r"\times", "·": r"\cdot", "−": "-",
    "→": r"\rightarrow", "←": r"\leftarrow", "∞": r"\infty", "µ": r"\mu", "°": r"^{\circ}", "⁺": "^{+}", "⁻": "^{-}",
}  # fmt: skip
_ACCENTS = {  # combining character: command
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
_GREEK = (  # letters with commands
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi"
    " omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)


def markdown(text: str) -> str:
    """Return a text for a cell or line of Markdown."""
    escaped = re.sub(r"([\\|*_<>`&#~$@])", r"\\\1", text)
    escaped = re.sub(r"\](?=[(\[:])", r"]\\", escaped)  # of links; intervals keep their brackets
    return re.sub(r"(?i)(:(?=//)|(?<=www)\.)", r"\\\1", escaped)


def latex(text: str) -> str:
    """Return a text for LaTeX with the usual fonts; a letter that they lack is named by its number."""
    escaped = "".join(map(_letter, text))
    escaped = escaped.replace(r"\textless{}1e-4", r"$<10^{-4}$")
    escaped = escaped.replace(r"\textgreater{}=", r"$\geq$")
    # A minus sign, but not the hyphen of a scheme's name.
    escaped = re.sub(r"(?<![^\s\[(])-(?=\d)", r"$-$", escaped)
    escaped = re.sub(r"([-'])(?=\1)", r"\1{}", escaped)  # two of them are another sign
    # After the "\\" of the row above, a bracket or star would be read as belonging to it.
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped


def _letter(letter: str) -> str:
    if letter in _LATEX:
        return _LATEX[letter]
    if letter.isascii():
        return letter
    if letter in _MATHS:
        return f"${_MATHS[letter]}$"
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(letter, "").replace("LAMDA", "LAMBDA"))
    if greek and (name := greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()) in _GREEK.split():
        return rf"$\{name}$"
    base, *marks = unicodedata.normalize("NFD", letter)
    if len(marks) == 1 and base.isascii() and base.isalpha() and marks[0] in _ACCENTS:
        return rf"\{_ACCENTS[marks[0]]}{{{base}}}"
    return rf"\texttt{{U+{ord(letter):04X}}}"
