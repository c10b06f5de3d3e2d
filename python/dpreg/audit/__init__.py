"""Audits of every privacy claim of this package.

Three kinds: *exact* (distributions over all neighbours of small worlds), *black box* (runs of the
shipped function on two neighbours, and a lower bound on the privacy loss) and *grey box* (the loss
of each stage of a random call on neighbouring tables, given equal results of the stages before).
``dpreg audit`` runs them.  ``dpreg audit --replay`` runs the last kind for calls of all functions,
``dpreg audit --black-box`` the second for whole calls.  Audits replace functions of this process
while they run: do not fit anything at the same time.
"""

from __future__ import annotations

from collections.abc import Callable

from dpreg.audit import behaviour, containers, counts, exact, sampled, selections
from dpreg.audit._finding import QUICK, Check, Effort, Finding, Report
from dpreg.audit.black_box_calls import black_box
from dpreg.audit.replay import CHECKS as REPLAYED
from dpreg.audit.replay import replay
from dpreg.audit.replay_report import ReplayReport

__all__ = [
    "CHECKS",
    "Check",
    "Effort",
    "Finding",
    "ReplayReport",
    "Report",
    "audit",
    "black_box",
    "replay",
]

CHECKS: dict[str, Check] = {
    check.name: check
    for module in (exact, counts, containers, behaviour, sampled, selections)
    for check in vars(module).values()
    if isinstance(check, Check)
} | {check.name: check for check in REPLAYED}


def audit(
    *, full: bool = False, seed: int = 20260101, progress: Callable[[str], None] | None = None
) -> Report:
    """Check the privacy claims of this installation.

    Parameters
    ----------
    full : bool, default False
        Take minutes instead of seconds: ten times the runs.
    seed : int
        Of the audited runs, so that a report can be repeated.
    progress : callable, optional
        Called with the name of each check before it starts.

    Returns
    -------
    Report
        Printable; `Report.holds` says whether every claim was above its lower bound.
    """
    effort = Effort(1.0 if full else QUICK, seed)
    findings = []
    for name, check in CHECKS.items():
        if progress is not None:
            progress(name)
        findings.append(check.run(effort))
    return Report(tuple(findings))
