"""Black-box audits of whole calls: thousands of results on two tables that differ in one row.

The attacker knows the code, every row but one, and what is published.  From the results it guesses
whether the row, the canary, is there; how often it is right bounds epsilon from below, as in Nasr
et al. (2023) and Steinke et al. (2023).  A bound near the claim shows that the audit would have
noticed a breach.
"""

from __future__ import annotations

from collections.abc import Callable

from dpreg.audit._finding import Effort, Report
from dpreg.audit.attacks import attacked
from dpreg.audit.black_box_calls import ATTACKS

_QUICK = 0.1


def black_box(
    *,
    eps: float = 1.0,
    full: bool = False,
    error: float = 0.01,
    seed: int = 20260101,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Bound the privacy loss of one call of each method from below, by its results alone.

    Parameters
    ----------
    eps : float, default 1.0
        Claimed by each call.
    full : bool, default False
        Make thousands of calls of each method, which takes about an hour, instead of hundreds.
    error : float, default 0.01
        Probability that a lower bound is wrong, for each method.
    seed : int
        Of the runs, so that a report can be repeated.
    progress : callable, optional
        Called with the name of each attack before it starts.

    Returns
    -------
    Report
        Printable; `Report.holds` says whether every claim was above its lower bound.

    Notes
    -----
    For Gaussian noise, and for what is accounted as nearly such (DP-SGD), the bound is of mu, which
    the share of right guesses gives, and is converted to epsilon at delta; for choices composed by
    zCDP (Frank-Wolfe) it is of rho.  For other noise it is of the probabilities of one event.

    References
    ----------
    Nasr et al. (2023), "Tight auditing of differentially private machine learning"; Steinke, Nasr
    and Jagielski (2023), "Privacy auditing with one (1) training run".
    """
    effort = Effort(1.0 if full else _QUICK, seed)
    findings = []
    for name, attack in ATTACKS.items():
        if progress is not None:
            progress(name)
        findings.append(attacked(attack, eps, effort.runs(attack.runs), seed, error))
    return Report(tuple(findings), f"each lower bound holds with probability {1 - error:g}")
