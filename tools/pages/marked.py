"""The part of a page that a tool writes: it stands between two marks, and the words around it are written by hand."""

END = "<!-- end -->"


def rewritten(page: str, tool: str, text: str) -> str:
    """Return a page with the text between the marks of a tool replaced.

    Args:
        page: the whole page, which has the two marks.
        tool: name of the tool, such as tools.findings.
        text: what stands between the marks, without them.
    """
    start = f"<!-- written by python -m {tool} -->"
    before, rest = page.split(start)
    return f"{before}{start}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}"
