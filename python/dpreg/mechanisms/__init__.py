"""The mechanisms on arrays, one function for each published one, with correct privacy.

`dpreg.reference` has them as published.
"""

from __future__ import annotations

from dpreg.estimation.planning.frank_wolfe import Screen
from dpreg.mechanisms.frank_wolfe import FrankWolfeFit, adp_screen, dp_frank_wolfe, rnm_screen
from dpreg.mechanisms.regressions import adassp, boosted_adassp, dpsgd, tukey_em
from dpreg.mechanisms.scores import canonical_lipschitz, peel
from dpreg.mechanisms.selections import dp_kendall, dp_sis, sub_lasso

__all__ = [
    "FrankWolfeFit",
    "Screen",
    "adassp",
    "adp_screen",
    "boosted_adassp",
    "canonical_lipschitz",
    "dp_frank_wolfe",
    "dp_kendall",
    "dp_sis",
    "dpsgd",
    "peel",
    "rnm_screen",
    "sub_lasso",
    "tukey_em",
]
