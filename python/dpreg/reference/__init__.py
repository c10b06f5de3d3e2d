"""Mechanisms exactly as published, to reproduce the papers' tables.

Where the printed guarantee does not hold, results say "published calibration, guarantee
not claimed"; for data that matter use `dpreg.mechanisms`.
"""

from __future__ import annotations

from dpreg.reference._published import PublishedSelection
from dpreg.reference.canonical_lipschitz import canonical_lipschitz
from dpreg.reference.selection import dp_kendall, dp_sis, peel, sis, sub_lasso, two_stage

__all__ = [
    "PublishedSelection",
    "canonical_lipschitz",
    "dp_kendall",
    "dp_sis",
    "peel",
    "sis",
    "sub_lasso",
    "two_stage",
]
