"""The guarantee of a release and its cost: printed under every table, and machine-readable."""

from __future__ import annotations

import html
import itertools
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from dpreg.base.later import pd
from dpreg.base.text import counted

# What every release from a formula and a table takes as public.
PUBLIC = ("formula", "column names and types", "levels", "eps, delta and all options")

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Part:
    """One use of randomness on records.

    Attributes
    ----------
    label : str
        What was computed.
    epsilon, delta : float
        Its share of the budget under basic composition; 0 if `mu` or `rho` states it instead, or if
        it uses what the other parts leave (composition by privacy loss distributions).
    noise : str
        The distribution of the noise and its scale, in words.
    sensitivity, scale : float or None
        Of the statistic and of the noise, in the same unit.
    mu : float or None
        Its share under Gaussian composition, where squares add up.
    rho : float or None
        Its share under composition by zero-concentrated differential privacy (zCDP).
    """

    label: str
    epsilon: float
    delta: float
    noise: str
    sensitivity: float | None = None
    scale: float | None = None
    mu: float | None = None
    rho: float | None = None

    @property
    def cost(self) -> str:
        """Its share, in words."""
        if self.mu is not None:
            return f"mu={self.mu:.4g}"
        if self.rho is not None:
            return f"rho={self.rho:.4g}"
        if self.epsilon == 0 and self.delta == 0:
            return "the rest of eps and delta"
        return f"eps={self.epsilon:.4g}" + (f", delta={self.delta:.3g}" if self.delta else "")


def public_with(bounds: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Return what a release from a formula and a table treats as public."""
    given = (f"bounds of {name}: {low:g} to {high:g}" for name, (low, high) in bounds.items())
    return (*PUBLIC, *given)


def unit_of(column: str | None) -> str:
    """Say what may be added or removed: a row, or all rows of one value of a column."""
    return "one row" if column is None else f"all rows of one {column!r}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The privacy claim of one release.

    Attributes
    ----------
    mechanism : str
    epsilon, delta : float
        The whole release is (epsilon, delta)-differentially private.
    unit : str
        See `unit_of`.
    composition : str
        How the parts add up.
    parts : tuple of Part
    public : tuple of str
        What is taken as public, and so is not protected.
    seeded : bool
        True: the randomness was chosen by the caller and **nothing is private**.
    version : str
        Of dpreg.
    request : mapping
        The arguments of the call that are not the defaults, without the data.
    """

    _derived: ClassVar[tuple[str, ...]] = ("claim",)

    mechanism: str
    epsilon: float
    delta: float
    unit: str
    composition: str
    parts: tuple[Part, ...]
    public: tuple[str, ...]
    seeded: bool
    version: str
    request: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def claim(self) -> str:
        """The guarantee in one sentence."""
        if self.seeded:
            return "NOT PRIVATE: the random numbers were made from a seed (seeded: not private)"
        pure = f"{self.epsilon:.6g}-differentially private"
        approximate = f"({self.epsilon:.6g}, {self.delta:.3g})-differentially private"
        return (
            f"{pure if self.delta == 0 else approximate} for the addition or removal of {self.unit}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the claim included."""
        # As `dataclasses.asdict` does, which copied every number of every part: 4% of a small fit.
        own = {name: getattr(self, name) for name in _CERTIFICATE}
        own["parts"] = tuple({name: getattr(p, name) for name in _PART} for p in self.parts)
        own["request"] = deepcopy(self.request)
        return {"claim": self.claim, **own}

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    @property
    def brief(self) -> str:
        """The claim, and in a second line the mechanism and the composition."""
        steps = counted(len(self.parts), "noisy step")
        how = f"{self.mechanism} in {steps}, {self.composition} composition, dpreg {self.version}"
        return f"{self.claim}\n  {how}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per noisy step.

        Returns
        -------
        DataFrame
            Columns what, share, noise and sensitivity.
        """
        rows = [(p.label, p.cost, p.noise, p.sensitivity) for p in self.parts]
        return pd.DataFrame(rows, columns=list(_HEAD))

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.brief)}</p>\n" + self.to_frame().to_html(na_rep="")

    def __str__(self) -> str:
        return "\n".join([self.brief, *_table(list(_rows(self.parts)))])


_PART, _CERTIFICATE = (tuple(one.name for one in fields(kind)) for kind in (Part, Certificate))
_HEAD = ("what", "share", "noise", "sensitivity")
# Longer cells of the first three columns are broken; the whole stays within 100 columns.
_WIDTHS = (33, 18, 36)


def _rows(parts: tuple[Part, ...]) -> Iterator[tuple[str, str, str, str]]:
    """One row per part; parts that differ in nothing but a number share one."""

    def kind(part: Part) -> tuple[str, str, str]:
        return _NUMBER.sub("#", part.label, count=1), part.cost, part.noise

    for (label, cost, noise), alike in itertools.groupby(parts, kind):
        same = list(alike)
        labels = [part.label for part in same]
        if len(labels) == 1:
            label = labels[0]
        else:
            first, last = (_NUMBER.search(labels[i]) for i in (0, -1))
            span = f"{first[0]} to {last[0]}" if first and last else ""
            label = f"{label.replace('#', span, 1)}, each"
        sensitivity = same[0].sensitivity
        yield label, cost, noise, "" if sensitivity is None else f"{sensitivity:.4g}"


def _table(rows: list[tuple[str, str, str, str]]) -> list[str]:
    """Lay rows out in columns, below their names."""
    if not rows:
        return []
    cells = [
        [*(textwrap.wrap(cell, width) for cell, width in zip(row, _WIDTHS, strict=False)), [row[3]]]
        for row in [_HEAD, *rows]
    ]
    widths = [max(len(line) for row in cells for line in row[column]) for column in range(4)]
    lines = []
    for row in cells:
        for piece in itertools.zip_longest(*row, fillvalue=""):
            padded = (text.ljust(width) for text, width in zip(piece, widths, strict=True))
            lines.append("  " + "  ".join(padded).rstrip())
    return lines
