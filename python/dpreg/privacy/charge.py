"""One line of a ledger: what a release was, of which units, what it costs, what became of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Self

from dpreg.base.levels import Level
from dpreg.privacy.cost import Cost

Status = Literal["charged", "released", "declined"]

_FIELDS = [f.name for f in fields(Cost)]
# Columns of a table of charges, and what is in them: of the charge, or of what was paid.
_WORDS = ("time", "user", "data", "label", "formula", "method")
AMOUNTS = {"eps": "epsilon", "delta": "delta", "mu": "mu", "rho": "rho", "failure": "failure"}


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


@dataclass(frozen=True, slots=True)
class Entry:
    """What a ledger keeps: a charge, the outcome of one, or the declaration of a partition."""

    content: Mapping[str, Any]  # Plain data.
    certificate: str = ""  # JSON; empty where there is none.


@dataclass(frozen=True, slots=True)
class Charge:
    """One release and what it costs.

    Attributes
    ----------
    label : str
        What was released, for the reader of a ledger.
    most : Cost
        What was charged before a record was read.
    number : int
        Of the entry in the ledger, from 1.
    time : str
        When, in UTC, as ISO 8601.
    user, data, formula, method : str
        Who, from what, and how; empty if not given.
    status : {"charged", "released", "declined"}
        The first until the outcome is recorded, and permanently if the process ended before that.
    paid : Cost
        What it costs: less than `most` where less was released.
    certificate_json : str
        Of the outcome; empty before.
    stratum : Stratum or None
        The units that it uses; None: all.
    unit : str
        What may be added or removed, and how many of its rows are used if an option says so;
        empty where nobody said.
    """

    label: str
    most: Cost
    number: int = 0
    time: str = ""
    user: str = ""
    data: str = ""
    formula: str = ""
    method: str = ""
    status: Status = "charged"
    settled: Cost | None = None
    certificate_json: str = ""
    stratum: Stratum | None = None
    unit: str = ""

    @property
    def paid(self) -> Cost:
        """What it costs."""
        return self.most if self.settled is None else self.settled

    @property
    def epsilon(self) -> float:
        """The epsilon of the release by itself, in nats."""
        return self.paid.epsilon

    @property
    def delta(self) -> float:
        """The delta of the release by itself."""
        return self.paid.delta

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The certificate of the outcome as plain data, if there is one."""
        return json.loads(self.certificate_json) if self.certificate_json else None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        told = {name: getattr(self, name) for name in ("number", *_TOLD, "label", "status")}
        stratum = None if self.stratum is None else asdict(self.stratum)
        costs = {"most": asdict(self.most), "paid": asdict(self.paid)}
        return {**told, "stratum": stratum, **costs, "certificate": self.certificate}

    def entry(self) -> Entry:
        """Return what a ledger keeps of a new charge."""
        told = {name: getattr(self, name) for name in _TOLD}
        content = {"charge": self.label, "cost": asdict(self.most), **told}
        if not self.unit:  # as ledgers were before they had it
            del content["unit"]
        if self.stratum is not None:
            content["stratum"] = self.stratum.to_dict()
        return Entry(content)


_TOLD = ("time", "user", "data", "formula", "method", "unit")


def columns_of(charges: Sequence[Charge]) -> dict[str, list[Any]]:
    """Return the columns of `Budget.to_frame`: texts, and amounts of what was paid."""
    return {
        **{name: [getattr(c, name) for c in charges] for name in _WORDS},
        **{name: [getattr(c.paid, of) for c in charges] for name, of in AMOUNTS.items()},
        "status": [c.status for c in charges],
        "stratum": ["" if c.stratum is None else str(c.stratum) for c in charges],
        "unit": [c.unit for c in charges],
    }


def outcome_of(number: int, status: Status, paid: Cost, certificate: str, time: str) -> Entry:
    """Return what a ledger keeps of the outcome of charge `number`."""
    content = {"outcome": number, "status": status, "cost": asdict(paid), "time": time}
    return Entry(content, certificate)


def partitions_from(entries: Iterable[Entry]) -> dict[str, tuple[Level, ...]]:
    """Return the levels of each column that was declared to divide the units.

    Raises ValueError if an entry declares no levels, or those of a column a second time: a unit of
        one of the first could be in two of the second.
    """
    found: dict[str, tuple[Level, ...]] = {}
    for number, entry in enumerate(entries, start=1):
        if "partition" in entry.content:
            column, levels = entry.content["partition"], _levels(entry.content.get("levels"))
            if not isinstance(column, str) or column in found or levels is None:
                raise ValueError(f"entry {number} is not a partition")
            found[column] = levels
    return found


def _levels(content: Any) -> tuple[Level, ...] | None:
    """Return levels from plain data, or None."""
    if not isinstance(content, list) or not all(isinstance(v, Level) for v in content):
        return None
    return tuple(content) if len(content) == len(set(content)) > 1 else None


def charges_from(entries: Iterable[Entry]) -> tuple[Charge, ...]:
    """Put charges and their outcomes together.

    Raises ValueError if an entry is not one that this module makes; an amount below 0 would add
    budget.
    """
    entries = tuple(entries)
    found: dict[int, Charge] = {}
    declared = partitions_from(entries)
    for number, entry in enumerate(entries, start=1):
        if "charge" in entry.content:
            found[number] = _charge(number, entry, declared)
        elif "partition" not in entry.content:
            of = entry.content.get("outcome")
            charge = _settled(found.get(of) if type(of) is int else None, entry)
            if charge is None:
                raise ValueError(f"charge {number} is not a charge")
            found[charge.number] = charge
    return tuple(found.values())


def _charge(number: int, entry: Entry, declared: Mapping[str, tuple[Level, ...]]) -> Charge:
    label, cost = entry.content["charge"], _cost(entry.content.get("cost"))
    told = {"unit": "", **{k: v for k, v in entry.content.items() if k in _TOLD}}
    texts = (label, *(told.get(name) for name in _TOLD))
    if cost is None or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"charge {number} is not a charge")
    stratum = entry.content.get("stratum")
    of = None if stratum is None else Stratum.from_dict(stratum, declared)
    return Charge(label, cost, number, **told, stratum=of)


def _settled(charge: Charge | None, entry: Entry) -> Charge | None:
    cost, status = _cost(entry.content.get("cost")), entry.content.get("status")
    if charge is None or charge.settled is not None or cost is None:
        return None
    if status not in ("released", "declined") or not cost.within(charge.most):
        return None
    return replace(charge, status=status, settled=cost, certificate_json=entry.certificate)


def _cost(content: Any) -> Cost | None:
    """Return a cost from plain data, or None."""
    if not isinstance(content, Mapping) or list(content) != _FIELDS:
        return None
    try:
        amounts = [float(a) for a in content.values() if type(a) in (int, float)]
    except OverflowError:
        return None
    if len(amounts) < len(_FIELDS) or not all(0 <= amount < math.inf for amount in amounts):
        return None
    return Cost(*amounts)
