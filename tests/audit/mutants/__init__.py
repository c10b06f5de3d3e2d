"""Defects of published papers and codes, and others that are easy to make."""

from __future__ import annotations

from audit.mutants.boundary import BOUNDARY
from audit.mutants.composed import COMPOSED
from audit.mutants.data import DATA
from audit.mutants.frank_wolfe import FRANK_WOLFE
from audit.mutants.gaussian import GAUSSIAN
from audit.mutants.newton import NEWTON
from audit.mutants.randomness import RANDOMNESS
from audit.mutants.rows_made import ROWS_MADE
from audit.mutants.selection import SELECTION
from audit.mutants.tukey import TUKEY

MUTANTS = [
    *BOUNDARY,
    *TUKEY,
    *GAUSSIAN,
    *NEWTON,
    *DATA,
    *RANDOMNESS,
    *SELECTION,
    *FRANK_WOLFE,
    *COMPOSED,
    *ROWS_MADE,
]
