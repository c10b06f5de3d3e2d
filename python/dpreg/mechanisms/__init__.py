"""The mechanisms on arrays, one function for each published one, with correct privacy.

`dpreg.reference` has them as printed.
"""

from __future__ import annotations

from dpreg.estimation.planning.frank_wolfe import Screen
from dpreg.mechanisms.adassp import adassp
from dpreg.mechanisms.adp_screen import adp_screen
from dpreg.mechanisms.boosted_adassp import boosted_adassp
from dpreg.mechanisms.canonical_lipschitz import canonical_lipschitz
from dpreg.mechanisms.dp_kendall import dp_kendall
from dpreg.mechanisms.dp_sis import dp_sis
from dpreg.mechanisms.dpsgd import dpsgd
from dpreg.mechanisms.frank_wolfe import FrankWolfeFit, dp_frank_wolfe
from dpreg.mechanisms.peel import peel
from dpreg.mechanisms.rnm_screen import rnm_screen
from dpreg.mechanisms.sub_lasso import sub_lasso
from dpreg.mechanisms.tukey_em import tukey_em

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
