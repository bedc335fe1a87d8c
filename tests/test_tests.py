"""Rules for the tests themselves: no clock decides one, and each matches an error by enough of its words."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
SAID = {"sentence", "message", "words", "advice"}  # parameters of tests that are matched with error messages
FEWEST = 3


def trees():
    for path in sorted(HERE.rglob("*.py")):
        yield path.relative_to(HERE), ast.parse(path.read_text())


def calls(tree: ast.AST, name: str):
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == name]


def texts(node: ast.AST):
    """Return the pieces of text in an expression: of a plain, a joined or a formatted string."""
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def matched(tree: ast.AST):
    """Yield the patterns for error messages that are written out in a call or in a table of parameters."""
    for call in calls(tree, "pytest.raises"):
        yield from (k.value for k in call.keywords if k.arg == "match" and texts(k.value))
    for call in calls(tree, "pytest.mark.parametrize"):
        names = ast.literal_eval(call.args[0])
        for i in [i for i, name in enumerate(names) if isinstance(names, tuple) and name in SAID]:
            rows = call.args[1].elts if isinstance(call.args[1], ast.List) else []
            yield from (row.elts[i] for row in rows if isinstance(row, ast.Tuple) and texts(row.elts[i]))


def test_an_error_is_matched_with_at_least_three_of_its_words():
    found = 0
    for path, tree in trees():
        for node in matched(tree):
            found += 1
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if not names & SAID and not any(n.isupper() for n in names):  # those are written out elsewhere
                words = re.findall(r"[\w/'=-]+", " ".join(texts(node)).replace("\\", " "))
                assert len(words) >= FEWEST, f"{path}:{node.lineno}: {ast.unparse(node)} fits too many sentences"
    assert found > 100


def test_no_test_looks_at_the_clock():
    for path, tree in trees():
        for name in ("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.timeit"):
            assert not calls(tree, name), f"{path} measures time, which a busy machine makes longer"
