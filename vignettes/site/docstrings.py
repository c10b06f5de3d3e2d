"""A Sphinx extension: docstrings as they are written here, and none of other packages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import dpreg

CLASS = re.compile(r"^class (\w+)")
FIELD = re.compile(r"^(\w+) : (.+)$")


def privacy_as_fields(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any,
                      lines: list[str]) -> None:  # fmt: skip
    """Turn ``guarantee : ...`` below Privacy, a heading of ours, into a field of that name."""
    if "Privacy" not in lines:
        return
    first = lines.index("Privacy") + 2
    for place in range(first, len(lines)):
        if re.fullmatch(r"-{3,}", lines[place]):
            return
        lines[place] = FIELD.sub(r":\1: \2", lines[place])


def leave_out_others(_app: Sphinx, _what: str, _name: str, member: Any, skip: bool,
                     _options: Any) -> bool | None:  # fmt: skip
    """Leave out what a class has from a class of another package."""
    home = getattr(getattr(member, "fget", member), "__module__", None) or "dpreg"
    return True if skip or home.split(".")[0] != "dpreg" else None


def name_attributes(_app: Sphinx, _domain: str, _kind: str, content: addnodes.desc_content) -> None:
    """Call attributes what numpydoc calls them."""
    for name in content.findall(nodes.field_name):
        if name.astext() == "Variables":
            name.children[:] = [nodes.Text("Attributes")]


def source_of_core(_app: Sphinx, module: str) -> tuple[str, dict[str, tuple[str, int, int]]] | None:
    """Return the stubs of the extension, and where its classes are in them, as its source."""
    if module != "dpreg._core":
        return None
    code = (Path(dpreg.__file__).parent / "_core" / "__init__.pyi").read_text()
    found = ((number, CLASS.match(line)) for number, line in enumerate(code.splitlines(), 1))
    return code, {match[1]: ("class", number, number) for number, match in found if match}


def setup(app: Sphinx) -> dict[str, bool]:
    # Before napoleon, whose priority is 500.
    app.connect("autodoc-process-docstring", privacy_as_fields, priority=400)
    app.connect("autodoc-skip-member", leave_out_others)
    app.connect("viewcode-find-source", source_of_core)
    app.connect("object-description-transform", name_attributes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
