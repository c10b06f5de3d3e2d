"""What an audit says about one claim."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

How = Literal["exact", "black box", "grey box"]
# Laws that are computed may be off by this, relatively.
_ROUNDING = 1e-6
# Share of the runs of a full audit that a quick one makes.
QUICK = 0.1


@dataclass(frozen=True, slots=True)
class Effort:
    """How much an audit may do."""

    scale: float  # 1 for the full audit, less for a quick one: runs are multiplied by it.
    seed: int  # Of the samples, so that a report can be repeated.
    first: int = 0  # Of the pairs of a replay: those before it are left out.

    def runs(self, full: int, least: int = 200) -> int:
        """Return how many runs to make of a check that makes `full` in the full audit."""
        return max(least, round(full * self.scale))


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, and a lower bound on the privacy loss that was observed.

    Attributes
    ----------
    mechanism : str
    how : {"exact", "black box", "grey box"}
    epsilon, delta : float
        Claimed.
    lower : float
        Lower bound on the epsilon that is lost at `delta`; infinite if the results violate every
        epsilon.
    runs : int
        Runs of the mechanism, or pairs of neighbours that were compared.
    remark : str
        The worst pair, or what was found.
    """

    mechanism: str
    how: How
    epsilon: float
    delta: float
    lower: float = 0.0
    runs: int = 0
    remark: str = ""

    @property
    def holds(self) -> bool:
        """Whether no more is lost than claimed."""
        return self.lower <= self.epsilon * (1 + _ROUNDING)

    @property
    def sharp(self) -> bool:
        """Whether at least half of the claim is lost: the check would detect a factor of 2."""
        return self.lower >= self.epsilon / 2

    def after(self, lost: float, remark: str) -> Self:
        """Return what is found after one more run, which lost so much."""
        more = replace(self, runs=self.runs + 1)
        return more if lost <= self.lower else replace(more, lower=lost, remark=remark)

    def __str__(self) -> str:
        verdict = "" if self.holds else "  VIOLATED"
        short = "" if self.sharp or math.isinf(self.epsilon) else "  (below half of the claim)"
        return (
            f"{self.mechanism:<46} {self.how:<9} {self.epsilon:>8.4g} {self.delta:>8.2g} "
            f"{self.lower:>8.4g} {self.runs:>9,}{verdict}{short}"
        )


@dataclass(frozen=True, slots=True)
class Check:
    """One audit of one claim."""

    name: str
    run: Callable[[Effort], Finding]


Cases = Iterable[tuple[float, str]]


def each_case(
    name: str, mechanism: str, how: How, epsilon: float = 0.0, delta: float = 0.0
) -> Callable[[Callable[[Effort], Cases]], Check]:
    """Return a decorator: what it decorates yields what is lost in each case, and a remark.

    It stops where more is lost than claimed.
    """

    def checked(cases: Callable[[Effort], Cases]) -> Check:
        def run(effort: Effort) -> Finding:
            found = Finding(mechanism, how, epsilon, delta)
            for lost, remark in cases(effort):
                found = found.after(lost, remark)
                if not found.holds:
                    break
            return found

        return Check(name, run)

    return checked


def nothing_lost(name: str, mechanism: str) -> Callable[[Callable[[int], Iterable[str]]], Check]:
    """Return a decorator: nothing at all is lost in any case.

    What it decorates says of a seed what is wrong with each case; empty where nothing is.
    """

    def checked(said: Callable[[int], Iterable[str]]) -> Check:
        def cases(effort: Effort) -> Iterator[tuple[float, str]]:
            for fault in said(effort.seed):
                yield math.inf if fault else 0.0, fault[:300]

        return each_case(name, mechanism, "grey box")(cases)

    return checked


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of an audit."""

    findings: tuple[Finding, ...]
    note: str = ""  # About all of them.

    @property
    def holds(self) -> bool:
        """No claim was seen to be broken."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        head = f"{'mechanism':<46} {'how':<9} {'claim':>8} {'delta':>8} {'at least':>8} {'runs':>9}"
        lines = []
        for finding in self.findings:
            lines.append(str(finding))
            if finding.remark:
                lines.append(f"    {finding.remark}")
        broken = sum(not finding.holds for finding in self.findings)
        sharp = sum(finding.sharp for finding in self.findings)
        foot = (
            f"{len(self.findings)} claims, {broken} broken; "
            f"{sharp} of the lower bounds are at least half the claim"
        )
        notes = [self.note] if self.note else []
        return "\n".join([head, "-" * len(head), *lines, foot, *notes])
