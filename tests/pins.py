"""What a proof pins: the syntax of the functions that it is about, without words and imports.

A proof has lines ``proves: path::name,name id``; without names all of the file is pinned.  A name
is that of a function, a class, a constant, or of what a class has: ``Budget.spend``; what it uses
of the same file, constants and helpers, is pinned with it.  Comments, docstrings and imports do
not count, so a better sentence or a move leaves the id as it is.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

LINE = re.compile(r"^proves: ([^\s:]+)(?:::(\S+))?(?: (\S+))?[ ]*$", re.MULTILINE)

_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"' r"|'(?:\\.|[^'\\])'" r"|//[^\n]*|/\*.*?\*/", re.DOTALL)


class Pin(NamedTuple):
    path: str
    names: tuple[str, ...]
    id: str

    def __str__(self) -> str:
        of = "::" + ",".join(self.names) if self.names else ""
        return f"proves: {self.path}{of} {self.id}".rstrip()


def pins(proof: str) -> list[Pin]:
    """Return the pins of a proof, in their order."""
    found = LINE.findall(proof)
    return [Pin(path, tuple(filter(None, names.split(","))), old) for path, names, old in found]


def digest(path: str, source: str, names: Iterable[str] = ()) -> str:
    """Return the id of what is pinned; KeyError with a name that the source does not have."""
    wanted = tuple(names)
    if not path.endswith(".py"):
        if wanted:
            raise KeyError(f"{path}: only Python is pinned by name")
        text = _code(source)
    else:
        tree = ast.parse(source)
        parts = _parts(tree)
        used = _used(wanted, parts)
        nodes = [node for name in sorted(used) for node in parts[name]] if wanted else [tree]
        text = "\n".join(map(_syntax, nodes))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _code(source: str) -> str:
    """Return C++ without comments, includes and the way it is laid out."""
    bare = _COMMENT.sub(lambda found: found[0] if found[0][0] in "\"'" else " ", source)
    lines = (line for line in bare.splitlines() if not line.lstrip().startswith("#include"))
    return " ".join(" ".join(lines).split())


def _parts(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Return the definitions of a file, and those within its classes, by name."""
    found: dict[str, list[ast.AST]] = {}
    for node in tree.body:
        for name in _names(node):
            found.setdefault(name, []).append(node)
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                for name in _names(inner):
                    # A property and its setter share a name.
                    found.setdefault(f"{node.name}.{name}", []).append(inner)
    return found


def _used(names: tuple[str, ...], parts: dict[str, list[ast.AST]]) -> set[str]:
    """Return the names, and what they use of the same file, and so on."""
    used: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in parts:
            raise KeyError(name)
        if name in used:
            continue
        used.add(name)
        owner = name.partition(".")[0]
        for node in (inner for part in parts[name] for inner in ast.walk(part)):
            if isinstance(node, ast.Name) and node.id in parts and node.id != owner:
                left.append(node.id)
            elif isinstance(node, ast.Attribute) and f"{owner}.{node.attr}" in parts:
                left.append(f"{owner}.{node.attr}")
    return used


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _left_out(node: ast.AST) -> bool:
    """Say whether a statement is a docstring or another bare string, an import, or `__all__`."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Assign) and _names(node) == {"__all__"}


def _syntax(node: object) -> str:
    """Return the tree as text; what newer Pythons add to nodes is empty, and left out."""
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return ""
    if isinstance(node, ast.AST):
        fields = ((name, getattr(node, name, None)) for name in node._fields)
        shown = (f"{name}={_syntax(value)}" for name, value in fields if _says(name, value))
        return f"{type(node).__name__}({' '.join(shown)})"
    if isinstance(node, list):
        kept = (_syntax(entry) for entry in node if not _left_out(entry))
        return f"[{' '.join(filter(None, kept))}]"
    return repr(node)


def _says(name: str, value: object) -> bool:
    return name not in ("ctx", "kind", "type_comment") and value is not None and value != []
