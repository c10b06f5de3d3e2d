"""Effects of groups in a formula: what is behind its bar."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dpreg.base.errors import FormulaError, Setting
from dpreg.data.schema import Schema, no_column

# A bar and names at the end, in backticks where they are not identifiers.
_NAME = r"(?:\w+|`[^`]+`)"
_AT_END = re.compile(rf"^(?P<rest>[^|]*[^|\s(])\s*\|\s*(?P<groups>{_NAME}(?:\s*\+\s*{_NAME})*)\s*$")


def split_effects(formula: object) -> tuple[object, tuple[str, ...]]:
    """Return a formula without what is behind its bar, and the names that are there.

    Anything else than names at the end stays, for whoever reads the rest to refuse.
    """
    found = _AT_END.match(formula) if isinstance(formula, str) else None
    if found is None:
        return formula, ()
    groups = (name.strip("`") for name in re.findall(_NAME, found["groups"]))
    return found["rest"], tuple(dict.fromkeys(groups))


def effects_as_terms(formula: str, groups: Iterable[str], schema: Schema) -> str:
    """Return a formula with a dummy for each declared level of `groups`, but for the first.

    Beside effects of units there is an intercept, whatever the formula says: dummies of all levels
    would add up to 1, whose deviations from the means of units are 0.
    """
    terms = []
    for name in groups:
        if name not in schema.columns:
            raise FormulaError("formula", *no_column(name, schema))
        quoted = name if name.isidentifier() else f"`{name}`"
        # C() of a column without levels is refused, and the refusal says how to declare them.
        terms.append(quoted if schema.columns[name].levels else f"C({quoted})")
    return " + ".join([formula, "1", *terms]) if terms else formula


def effects_of_unit(formula: str, unit: str | None, schema: Schema) -> tuple[str, bool]:
    """Return a formula without effects of the protected unit, and whether it had them.

    Effects of other groups beside them, as of periods, become terms.
    """
    rest, groups = split_effects(formula)
    if not groups:
        return formula, False
    if unit not in groups:
        group = groups[0]
        raise FormulaError(
            "formula",
            f"fixed effects of {group!r} are not supported because a level contains rows of "
            "several units",
            ("add ", Setting("unit", group), " if that is the protected unit"),
            f"write C({group}, levels=[...]) as a term if its levels are public",
        )
    return effects_as_terms(str(rest), (g for g in groups if g != unit), schema), True
