"""What a replay found, for a custodian to file, and how a pair that fails is made small."""

from __future__ import annotations

import json
import re
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpreg.audit.recordings import AS_DRAWN
from dpreg.audit.replay_tables import Case, without_unused
from dpreg.version import __version__


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair of tables whose fits differ by more than they may."""

    case: Case | None  # Shrunk; None for `dp_test`.
    why: str
    pairs: int  # The number of the pair that failed.

    @property
    def document(self) -> dict[str, Any]:
        """The case in plain values; tables are CSV text."""
        found: dict[str, Any] = {"pair": self.pairs, "why": self.why}
        if self.case is None:
            return found
        case, unused = self.case, without_unused(self.case)
        return found | {
            "call": str(case.call),
            "container": case.call.container,
            "unit": "goes" if case.goes else "comes",
            "before_row": case.place,
            "sums_times": case.luck.magnified,
            "noise_times": case.luck.noise,
            "table": case.table.drop(columns=unused).to_csv(index=False),
            "rows_of_the_unit": case.unit.drop(columns=unused).to_csv(index=False),
            "another_table": case.other.drop(columns=unused).to_csv(index=False),
        }

    def __str__(self) -> str:
        lines = [f"FAILED at pair {self.pairs}: {self.why}"]
        for name, value in list(self.document.items())[2:]:
            first, *rest = str(value).splitlines()
            text = f"\n{textwrap.indent(value, '  ').rstrip()}" if rest else f" {first}"
            lines.append(f"{name.replace('_', ' ')}:{text}")
        return "\n".join(lines)


@dataclass(slots=True)
class ReplayReport:
    """All pairs of a replay."""

    seed: int  # What pairs there are.
    first: int = 1  # The number of the first one.
    seconds: float = 0.0
    # Pairs by call, those of them that were refused, and pairs by option.
    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    options: Counter[str] = field(default_factory=Counter)
    releases: Counter[str] = field(default_factory=Counter)  # By label.
    # Largest change by label, as a share of the sensitivity.
    worst: dict[str, float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False  # Whether it was, by a signal.

    def add(
        self, title: str, options: Iterable[str], moves: Iterable[tuple[str, float]] | None
    ) -> None:
        """Add one pair: its releases and how far they moved; None: the call was refused."""
        self.calls[title] += 1
        self.refused[title] += moves is None
        self.options.update(list(options))
        for name, share in moves or ():
            label = re.sub(r"\d+(\.\d+)?", "#", name)
            self.releases[label] += 1
            self.worst[label] = max(self.worst.get(label, 0.0), share)

    @property
    def pairs(self) -> int:
        """How many pairs there were."""
        return self.calls.total()

    @property
    def holds(self) -> bool:
        """Nothing failed."""
        return not self.failures

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(
            {
                "dpreg": __version__,
                "seed": self.seed,
                "first": self.first,
                "pairs": self.pairs,
                "refused": self.refused.total(),
                "seconds": round(self.seconds, 1),
                "holds": self.holds,
                "calls": dict(sorted(self.calls.items())),
                "options": dict(sorted(self.options.items())),
                "releases": {
                    label: {"number": self.releases[label], "largest_share": self.worst[label]}
                    for label in sorted(self.releases)
                },
                "failures": [failure.document for failure in self.failures],
            },
            indent=2,
        )

    def __str__(self) -> str:
        head = f"{'release':<66} {'number':>8} {'largest':>9}"
        rows = [
            f"{label[:66]:<66} {self.releases[label]:>8,} {self.worst[label]:>9.4f}"
            for label in sorted(self.releases)
        ]
        calls = [
            f"{title[:66]:<66} {self.calls[title]:>8,} {self.refused[title]:>9,}"
            for title in sorted(self.calls)
        ]
        options = ", ".join(f"{name} {k:,}" for name, k in sorted(self.options.items()))
        return "\n".join(
            [
                f"dpreg {__version__}: {self.pairs:,} pairs of neighbouring tables in "
                f"{self.seconds:,.0f} s, seed {self.seed}, the first is pair {self.first:,}",
                *(["interrupted: these are the pairs until then"] if self.interrupted else []),
                f"{self.releases.total():,} changes compared; "
                f"{len(self.failures)} failed",
                "",
                f"{'call':<66} {'pairs':>8} {'refused':>9}", *calls,
                "",
                *textwrap.wrap(f"options: {options}", 90, subsequent_indent="  "),
                "",
                head, *rows,
                "(largest change, as a share of the sensitivity)",
                *(f"\n{failure}" for failure in self.failures),
            ]
        )  # fmt: skip


def shrunk(
    case: Case, why: str, leak_of: Callable[[Case], str | None], seconds: float = 30.0
) -> tuple[Case, str]:
    """Remove rows, options and digits for as long as the case fails.

    why: what it fails with.
    leak_of: what a case fails with; None if it does not.
    seconds: how long to try.
    """
    end, smaller = time.monotonic() + seconds, _smaller(case)
    while (one := next(smaller, None)) is not None and time.monotonic() <= end:
        said = leak_of(one)
        if said is not None and _kind(said) == _kind(why):
            case, why, smaller = one, said, _smaller(one)
    return case, why


def _kind(why: str) -> str:
    """What failed, without its numbers: another failure is not followed."""
    return re.sub(r"[-+]?\d[-+\d.e]*", "", why.rpartition(": ")[2])


def _smaller(case: Case) -> Iterator[Case]:
    """Simpler cases, those that differ the most first."""
    if case.luck != AS_DRAWN:
        yield replace(case, luck=AS_DRAWN)
    rows = len(case.table)
    size = rows
    while size:
        for begin in range(0, rows, size):
            kept = case.table.drop(index=range(begin, min(begin + size, rows)))
            place = min(case.place, len(kept)) if case.place < rows else len(kept)
            yield replace(case, table=kept.reset_index(drop=True), place=place)
        size //= 2
    half = len(case.other) // 2
    for kept in (case.other.iloc[:0], case.other.iloc[half:], case.other.iloc[:half]):
        if len(kept) < len(case.other):
            yield replace(case, other=kept.reset_index(drop=True))
    for k in range(len(case.unit) if len(case.unit) > 1 else 0):
        yield replace(case, unit=case.unit.drop(index=k).reset_index(drop=True))
    call = case.call
    for simple in (replace(call, stratum=None), replace(call, container="pandas")):
        if simple != call:
            yield replace(case, call=simple)
    for name in call.options:
        if name not in ("levels", "k"):
            options = {other: value for other, value in call.options.items() if other != name}
            yield replace(case, call=replace(call, options=options))
    yield from _simpler_cells(case)


def _simpler_cells(case: Case) -> Iterator[Case]:
    """Numbers of fewer digits, a column at a time."""
    for part in ("table", "unit"):
        frame = getattr(case, part)
        for name in frame.columns:
            if frame[name].dtype != np.float64:
                continue
            values = frame[name].to_numpy()
            for simple in (np.zeros(len(values)), np.ones(len(values)), _rounded(values)):
                order = [_digits(simple), _digits(values)]
                if order[0] < order[1]:
                    yield replace(case, **{part: frame.assign(**{name: simple})})


def _rounded(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{value:.1g}") for value in values], dtype=np.float64)


def _digits(values: np.ndarray) -> int:
    """How much there is to write: 0 is the least, then 1."""
    return sum(0 if v == 0 else 1 if v == 1 else 1 + len(repr(float(v))) for v in values)
