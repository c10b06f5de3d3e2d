"""Strata: disjoint groups of units, declared in public, that a budget pays for side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dpreg.base.levels import Level


@dataclass(frozen=True, slots=True)
class Stratum:
    """The units whose rows have one of the declared levels in a column.  Public."""

    column: str
    levels: tuple[Level, ...]  # Of all strata of this column, as they were declared.
    position: int  # Of the level of this one.

    @property
    def level(self) -> Level:
        """What the column says of the units of this stratum."""
        return self.levels[self.position]

    def __str__(self) -> str:
        return f"{self.column} = {self.level!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return what a ledger keeps of it; the levels are in the declaration."""
        return {"column": self.column, "position": self.position}

    @classmethod
    def from_dict(cls, content: Any, declared: Mapping[str, tuple[Level, ...]]) -> Self:
        """Read what `to_dict` wrote; a ValueError if no such stratum was declared."""
        if isinstance(content, Mapping) and list(content) == ["column", "position"]:
            column, position = content["column"], content["position"]
            levels = declared.get(column, ()) if isinstance(column, str) else ()
            if type(position) is int and 0 <= position < len(levels):
                return cls(column, levels, position)
        raise ValueError("a stratum was not declared")
