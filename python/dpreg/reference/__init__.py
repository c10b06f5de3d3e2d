"""Mechanisms exactly as published, to reproduce the papers' tables.

Their noise scales are the printed ones.  Where the printed guarantee does not hold, results
say "published calibration, guarantee not claimed"; for data that matter use
`dpreg.mechanisms`.
"""

from __future__ import annotations

from dpreg.reference._published import PublishedFit, PublishedSelection
from dpreg.reference.frank_wolfe import (
    PublishedRun,
    adp_screen,
    dp_frank_wolfe,
    np_frank_wolfe,
    raj_scores,
    rnm_screen,
    screening_sensitivity,
)
from dpreg.reference.selection import (
    canonical_lipschitz,
    dp_kendall,
    dp_sis,
    peel,
    sis,
    sub_lasso,
    two_stage,
)
from dpreg.reference.sums import (
    adassp,
    boosted_adassp,
    iterative_hessian_mixing,
    objective_perturbation,
)
from dpreg.reference.tukey import (
    PublishedTukeyEM,
    model_fits,
    tukey_distance,
    tukey_em,
    tukey_em_of_models,
)

__all__ = [
    "PublishedFit",
    "PublishedRun",
    "PublishedSelection",
    "PublishedTukeyEM",
    "adassp",
    "adp_screen",
    "boosted_adassp",
    "canonical_lipschitz",
    "dp_frank_wolfe",
    "dp_kendall",
    "dp_sis",
    "iterative_hessian_mixing",
    "model_fits",
    "np_frank_wolfe",
    "objective_perturbation",
    "peel",
    "raj_scores",
    "rnm_screen",
    "screening_sensitivity",
    "sis",
    "sub_lasso",
    "tukey_distance",
    "tukey_em",
    "tukey_em_of_models",
    "two_stage",
]
