"""A Sphinx extension: the Privacy section of a docstring, which napoleon does not know, as fields."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

FIELD = re.compile(r"^(\w+) : (.+)$")


def privacy_as_fields(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any,
                      lines: list[str]) -> None:  # fmt: skip
    """Turn ``guarantee : ...`` below the heading into a field of that name."""
    if "Privacy" not in lines:
        return
    first = lines.index("Privacy") + 2
    for place in range(first, len(lines)):
        if re.fullmatch(r"-{3,}", lines[place]):
            return
        lines[place] = FIELD.sub(r":\1: \2", lines[place])


def setup(app: Sphinx) -> dict[str, bool]:
    # Before napoleon, whose priority is 500.
    app.connect("autodoc-process-docstring", privacy_as_fields, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
