"""Audits, mutants and hostile input: how much of each was run, and what was found.

Run as ``python tests/benchmarks/bench_trust.py [--seconds 60] [--quick] [--json FILE]``.  The
audits are those of ``dpreg audit`` without whole fits, the mutants every fourth of tests/audit,
all of which are part of ``make test``; hostile tables are drawn as in tests/test_hostile.py for as
many seconds as are given.  ``make audit`` does more of all three.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from measure import Sheet, arguments

sys.path.insert(0, str(Path(__file__).parents[1]))

from audit.mutants import MUTANTS

import dpreg
from dpreg.audit import CHECKS, Effort, audit
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP, FrankWolfe, TukeyEM

CELLS = (0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, 1e-300, 1e300, -1e308, 1.7976931348623157e308,
         math.nan, math.inf, -math.inf, 2.0**53, 1 + 2**-52, 2.0**-128)  # fmt: skip
METHODS = (TukeyEM(models=3), AdaSSP(), BoostedAdaSSP(rounds=2), DPSGD(steps=2, rate=1.0),
           FrankWolfe(steps=3), "auto")  # fmt: skip
FORMULAS = ("y ~ a + b", "y ~ 0 + a", "y ~ a + log(b)", "y ~ a * b", "y ~ exp(a) + I(b ** 2)")
QUICK = Effort(0.1, 20260101)


def is_rejected(mutant):
    with contextlib.ExitStack() as stack:
        mutant.apply(stack)
        return any(not CHECKS[name].run(QUICK).holds for name in mutant.checks)


def hostile_table(rng):
    import pandas as pd

    n = int(rng.integers(0, 13))
    cells = np.where(
        rng.random((n, 3)) < 0.7, rng.choice(CELLS, (n, 3)), 10 * rng.standard_normal((n, 3))
    )
    return pd.DataFrame(cells, columns=list("aby"))


def hostile(seconds):
    """Return how many fits were made, and what went wrong in them."""
    rng, found, number = np.random.default_rng(7), [], 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        number += 1
        method, formula = METHODS[rng.integers(len(METHODS))], FORMULAS[rng.integers(5)]
        data, eps = hostile_table(rng), float(rng.choice([0.1, 1.0, 300.0]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                fit = dpreg.dp_lm(formula, data, eps, 1e-4, method=method,
                                  inference=bool(number % 2), rng=number)  # fmt: skip
                str(fit.summary())
                fit.to_json()
                if fit.released and np.isnan(fit.params).any():
                    found.append(f"NaN, seed {number}")
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}, seed {number}")
    return number, found


def main():
    options = arguments(__doc__, seconds=60.0)
    sheet = Sheet()
    findings = audit().findings
    lost = [f.lower / f.epsilon for f in findings if math.isfinite(f.epsilon) and f.epsilon > 0]
    sheet.add("claims", len(findings), "claims audited")
    sheet.add("claims_broken", sum(not f.holds for f in findings), "claims seen to be broken")
    blunt = [f.mechanism for f in findings if math.isfinite(f.epsilon) and not f.sharp]
    sheet.add("claims_blunt", len(blunt), "bounds below half of the claim", ", ".join(blunt))
    sheet.add("claims_lost", lost, "share of its claim that each was seen to use")
    mutants = MUTANTS[:: 12 if options.quick else 4]
    accepted = [m.name for m in mutants if not is_rejected(m)]
    sheet.add("mutants", len(mutants), "mutants tried")
    sheet.add("mutants_accepted", len(accepted), "mutants not rejected", ", ".join(accepted))
    number, wrong = hostile(options.seconds / (6 if options.quick else 1))
    sheet.add("hostile", number, "fits of hostile tables")
    sheet.add("hostile_wrong", len(wrong), "exceptions, warnings or NaN in them",
              "; ".join(wrong[:3]))  # fmt: skip
    sheet.write(options.json)


if __name__ == "__main__":
    main()
