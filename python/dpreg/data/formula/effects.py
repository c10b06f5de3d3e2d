"""Effects of groups in a formula: what is behind its bar."""

from __future__ import annotations

import re

from dpreg.errors import FormulaError, Setting

__all__ = ["effects_of_unit", "split_effects"]

# A bar and one name at the end, in backticks if it is not an identifier.
_AT_END = re.compile(r"^(?P<rest>[^|]*[^|\s(])\s*\|\s*(?:(?P<name>\w+)|`(?P<quoted>[^`]+)`)\s*$")


def split_effects(formula: object) -> tuple[object, str | None]:
    """Return a formula without what is behind its bar, and the name that is there.

    Anything else than one name at the end stays, for whoever reads the rest to refuse.
    """
    found = _AT_END.match(formula) if isinstance(formula, str) else None
    if found is None:
        return formula, None
    return found["rest"], found["name"] or found["quoted"]


def effects_of_unit(formula: str, unit: str | None) -> tuple[str, bool]:
    """Return a formula without effects of the protected unit, and whether it had them.

    Raises
    ------
    FormulaError
        If it has effects of another group.
    """
    rest, group = split_effects(formula)
    if group is None:
        return formula, False
    if group != unit:
        raise FormulaError(
            "formula",
            f"has effects of {group!r}, whose means would be of rows of several units",
            ("add ", Setting("unit", group), " if that is who is protected"),
            f"write C({group}, levels=[...]) as one more term if its levels are public",
        )
    return str(rest), True
