"""Every defect is rejected by the audit, and what has none passes the same checks."""

from __future__ import annotations

import contextlib
import re

import pytest
from audit.mutants import MUTANTS
from audit.mutants.tukey import composed_tukey

from dpreg.audit import CHECKS, Effort

QUICK = Effort(0.1, 20260101)
# A mutant that does not run is rejected for nothing.
BROKEN = re.compile(r": (Name|Type|Attribute|Index|Key|UnboundLocal)Error")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_mutant_is_rejected(mutant):
    with contextlib.ExitStack() as stack:
        mutant.apply(stack)
        findings = []
        for name in mutant.checks:
            findings.append(CHECKS[name].run(QUICK))
            if not findings[-1].holds:
                assert not BROKEN.search(findings[-1].remark), findings[-1].remark
                return
    pytest.fail("\n".join(f"{f}\n  {f.remark}" for f in findings))


@pytest.mark.parametrize("check", ["tukey runs", "tukey law", "unsafe runs", "tukey"])
def test_the_composition_without_a_defect_passes(check):
    with contextlib.ExitStack() as stack:
        composed_tukey()(stack)
        finding = CHECKS[check].run(QUICK)
    assert finding.holds, finding.remark


def test_every_check_of_a_mutant_is_run_on_the_package_too():
    """test_audit.py runs all checks; a mutant may not rely on one that is not there."""
    assert {name for mutant in MUTANTS for name in mutant.checks} <= set(CHECKS)
