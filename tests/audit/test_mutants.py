"""Every defect is rejected by the audit, and what has none passes the same checks."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace

import pytest
from audit.first_pairs import FILE, found_by
from audit.mutants import MUTANTS
from audit.mutants.tukey import composed_tukey

from dpreg.audit import CHECKS, Effort

pytestmark = pytest.mark.usefixtures("coarse_losses")

QUICK = Effort(0.1, 20260101)
# A fifth of the runs; a loss that they show is one, with the same probability of an error.
QUICKER = Effort(0.02, 20260101)
FIRST = json.loads(FILE.read_text())
# A mutant that does not run is rejected for nothing.
BROKEN = re.compile(r": (Name|Type|Attribute|Index|Key|UnboundLocal)Error")


def efforts(mutant):
    """Return efforts of a quick audit, the last of which is all of it."""
    first = FIRST.get(mutant.name)
    return (QUICKER if first is None else replace(QUICK, first=first), QUICK)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_mutant_is_rejected(mutant):
    for effort in efforts(mutant):
        *_, last = findings = found_by(mutant, effort)
        if not last.holds:
            assert not BROKEN.search(last.remark), last.remark
            return
    pytest.fail("\n".join(f"{f}\n  {f.remark}" for f in findings))


def test_pairs_are_those_of_mutants():
    assert set(FIRST) <= {mutant.name for mutant in MUTANTS}


@pytest.mark.parametrize("check", ["tukey runs", "tukey law", "unsafe runs", "tukey"])
def test_the_composition_without_a_defect_passes(check):
    with contextlib.ExitStack() as stack:
        composed_tukey()(stack)
        finding = CHECKS[check].run(QUICK)
    assert finding.holds, finding.remark


def test_every_check_of_a_mutant_is_run_on_the_package_too():
    """test_audit.py runs all checks; a mutant may not rely on one that is not there."""
    assert {name for mutant in MUTANTS for name in mutant.checks} <= set(CHECKS)
