"""How soon a replay finds each mutant of a sensitivity, a limit, a stopping rule or an account."""

from __future__ import annotations

import contextlib
import re

from audit.mutants import MUTANTS

from dpreg.audit import replay
from dpreg.audit.replay import drawn

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


# Titles of the calls that checks are about; a mutant of no others is replayed in those alone.
TITLES = {
    "auto": "auto",
    "block test": "dp_test",
    "classes": "dp_ordinal|dp_multinomial",
    "dpsgd": "dpsgd",
    "effects": "dp_effect",
    "effects of units": "dp_effect",
    "exits": "dp_curve",
    "frank_wolfe": "frank_wolfe",
    "pipelines": "kendall|sis|sub_lasso|two_stage",
    "split": "kendall|sis",
    "survival": "dp_survival",
    "tukey": "tukey",
}


def reached(mutant, pairs, seed):
    """Yield the numbers of the pairs whose calls reach it."""
    every = [TITLES.get(check, "") for check in mutant.checks]
    titles = re.compile("|".join(every) if all(every) else "")
    for number in range(1, pairs + 1):
        _, call = drawn(seed, number)
        if titles.search("dp_test()" if call is None else call.title):
            yield number


def found_after(mutant, pairs, seed=20260101):
    """Return the number of the pair that finds it, and how; None if none does."""
    for number in reached(mutant, pairs, seed):
        with contextlib.ExitStack() as stack:
            mutant.apply(stack)
            report = replay(number, first=number, seed=seed, shrink=False)
        if not report.holds:
            (failure,) = report.failures
            return failure.pairs, failure.why
    return None
