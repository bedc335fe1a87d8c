"""Source text reduced to what it does, without comments, docstrings and layout, and the names it depends on."""

import ast
import hashlib
import symtable
from collections.abc import Iterable, Iterator
from typing import Any

LEFT_OUT = ("ctx", "kind", "type_comment")  # fields of nodes without effect on what the code does


def normal(tree: ast.AST | Iterable[ast.stmt]) -> str:
    """Return a text that does not depend on comments, docstrings and layout, equal on every Python that jfed supports.

    `ast.unparse` would not be: since Python 3.12 it writes f-strings differently.
    """
    return repr(_plain(tree if isinstance(tree, ast.AST) else list(tree)))


def digest(texts: Iterable[str]) -> str:
    """Return 16 hexadecimal digits that identify a sequence of texts."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    return whole.hexdigest()[:16]


def _plain(node: Any) -> Any:
    if isinstance(node, ast.JoinedStr):
        return ("JoinedStr", *_joined(node))
    if isinstance(node, ast.AST):
        fields = ((name, _plain(value)) for name, value in ast.iter_fields(node) if name not in LEFT_OUT)
        return (type(node).__name__, *((name, value) for name, value in fields if value not in (None, ())))
    if isinstance(node, list):
        return tuple(_plain(item) for item in node if not _says_nothing(item))
    return None if node is None else (type(node).__name__, repr(node))


def _says_nothing(node: Any) -> bool:
    """Return whether a node is a string statement, such as a docstring, or `pass`."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return text or isinstance(node, ast.Pass)


def _joined(node: ast.JoinedStr) -> Iterator[Any]:
    """Yield the parts of an f-string with adjacent texts joined, since Python versions split them differently."""
    text = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        if text:
            yield text
        text = ""
        yield _plain(part)
    if text:
        yield text


# --------------------------------------------------------------------------------------------- dependencies


def needed(tree: ast.Module, name: str) -> list[ast.stmt]:
    """Return the statements of a module on which a definition depends, in their order.

    They are the statements that bind its name, those that bind or change a name that these use, and so on. Commands of
    a script, such as calls of an imported module's functions, are not among them.
    """
    modules = {
        alias.asname or alias.name.split(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    facts = []
    for statement in tree.body:
        binds, uses = names(statement)
        facts.append(
            (binds - modules if isinstance(statement, ast.Expr) else binds, uses)
        )  # jfed.run(...) is a command
    wanted, chosen, grown = {name}, set(), True
    while grown:
        grown = False
        for i, (binds, uses) in enumerate(facts):
            if i not in chosen and binds & wanted:
                chosen.add(i)
                wanted |= uses
                grown = True
    return [statement for i, statement in enumerate(tree.body) if i in chosen]


def names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the module-level names that a statement binds or changes, and those that it uses."""
    table = symtable.symtable(ast.unparse(statement), "statement", "exec")
    binds = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    uses = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    tables = list(table.get_children())
    while tables:
        inner = tables.pop()
        tables += inner.get_children()
        uses |= {s.get_name() for s in inner.get_symbols() if s.is_global()}
        binds |= {s.get_name() for s in inner.get_symbols() if s.is_declared_global() and s.is_assigned()}
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        binds |= _root(statement.value.func)  # TABLE.update(...)
    for target in getattr(statement, "targets", [getattr(statement, "target", None)]):
        binds |= _root(target)  # TABLE["x"] = ...
    return binds, uses


def _root(node: Any) -> set[str]:
    """Return the name before all dots and brackets; nothing for a plain name."""
    deep = isinstance(node, ast.Attribute | ast.Subscript)
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if deep and isinstance(node, ast.Name) else set()


def imported(statements: Iterable[ast.AST], package: str) -> Iterator[str]:
    """Yield the full names that statements import or use with dots; each is a module or a name in one.

    Args:
        statements: statements of one module.
        package: package of the module, for relative imports.
    """
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{home}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and (path := _dotted(node)):
            yield path


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        above = _dotted(node.value)
        return f"{above}.{node.attr}" if above else ""
    return node.id if isinstance(node, ast.Name) else ""
