"""How soon a replay finds each mutant of a sensitivity, a limit, a stopping rule or an account."""

from __future__ import annotations

import contextlib
import re

from audit.mutants import MUTANTS

from dpreg.audit import replay

# What a replay does not see: laws of the noise, the order of events, and files.
LAWS = re.compile(r"worlds| (runs|law|scores)$|^(grid|fresh noise|charged first|release test)$")
FILES = {"neighbours", "unread", "refused before", "no surprises"}
SEEN = [
    mutant
    for mutant in MUTANTS
    if any(not LAWS.search(check) and check not in FILES for check in mutant.checks)
]
# A mutant that does not run is found for nothing.
BROKEN = re.compile(r"(Name|Type|Attribute|Index|Key|UnboundLocal)Error: ")


def found_after(mutant, pairs, seed=20260101):
    """Return the number of the pair that finds it, and how; None if none does."""
    with contextlib.ExitStack() as stack:
        mutant.apply(stack)
        report = replay(pairs, seed=seed, shrink=False)
    if report.holds:
        return None
    (failure,) = report.failures
    return failure.pairs, failure.why
