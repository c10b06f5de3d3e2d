"""How privacy losses add up.  Arithmetic on public numbers; every rounding is against us."""

from __future__ import annotations

from dpreg.privacy.zcdp import (
    bounded_range_epsilon,
    bounded_range_rho,
    pure_epsilon,
    pure_rho,
    zcdp_delta,
    zcdp_rho,
)

__all__ = [
    "bounded_range_epsilon",
    "bounded_range_rho",
    "pure_epsilon",
    "pure_rho",
    "zcdp_delta",
    "zcdp_rho",
]
