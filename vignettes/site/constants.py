"""The numbers that the engine was given, and what is said of each: a page made of its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT

ENGINE = ROOT / "python/dpreg/estimation/newton"


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """Give each number that has a name at the top of a module, and the comment before it."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign) or not _public_numbers(node.value):
            continue
        first = node.lineno - 1
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        said = " ".join(line.lstrip("# ") for line in lines[first : node.lineno - 1])
        yield " ".join((ast.get_source_segment(text, node) or "").split()), said


def _public_numbers(value: ast.expr) -> bool:
    try:
        found = ast.literal_eval(value)
    except ValueError:
        return False
    numbers = found.values() if isinstance(found, dict) else found
    numbers = numbers if isinstance(found, tuple | dict) else (found,)
    return all(isinstance(number, int | float | tuple) for number in numbers)


def table() -> str:
    """Return the page's table, in Markdown."""
    lines = ["| module | number | what it is, and what happens without it |", "|---|---|---|"]
    for path in sorted(ENGINE.glob("*.py")):
        for code, said in constants(path):
            cell = said.replace("|", "\\|")
            lines.append(f"| {path.stem} | `{code}` | {cell} |")
    return "\n".join(lines)
