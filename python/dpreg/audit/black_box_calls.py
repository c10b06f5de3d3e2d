"""Black-box audits of whole calls: thousands of results on two tables that differ in one row.

The attacker knows the code, every row but one, and what is published.  From the results it guesses
whether the row, the canary, is there; how often it is right bounds epsilon from below, as in Nasr
et al. (2023) and Steinke et al. (2023).  A bound near the claim shows that the audit would have
noticed a breach.  For each method here are a table, and the row that it shows best.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpreg import _core, mechanisms
from dpreg.audit._finding import QUICK, Effort, Report
from dpreg.audit.attacks import Attack, attacked, first_coefficient
from dpreg.audit.black_box_models import MODELS
from dpreg.audit.worlds import Tables, joined, one_column
from dpreg.base.arrays import Doubles
from dpreg.calls.block_test import dp_test
from dpreg.calls.lm import dp_lm
from dpreg.calls.moments import dp_moments
from dpreg.calls.select import dp_select
from dpreg.estimation.base import Method
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP, TukeyEM
from dpreg.estimation.selection import TwoStage

_DELTA = 1e-5


def _lm(
    name: str, formula: str, method: Method | str, tables: Tables,
    *, inference: bool = True, runs: int = 10_000,
) -> Attack:  # fmt: skip
    """Attack the first coefficient of `dp_lm` with public bounds."""
    bounds = dict.fromkeys(tables[0].columns, (-1.0, 1.0))
    asked = partial(dp_lm, formula, method=method, bounds=bounds, inference=inference)
    return Attack(name, asked, tables, first_coefficient, _DELTA, runs)


def _mean() -> Attack:
    """Attack by a response far from others, which are so near 0 that its score is cut."""
    tables = one_column(np.resize([-0.3, 0.3], 1000), 1.0)
    return _lm("dp_lm()", "y ~ 1", "auto", tables, runs=3000)


def _adassp() -> Attack:
    """Attack a slope near 1 by a row that is long in the regressor and against the slope.

    The slope is S_ay / S_aa, of sums with noise of variances v / 2 and v.  A row (a, y) of the
    largest norm r moves S_ay - b S_aa by r^2 (b + sqrt(1 + b^2)) / 2 if a / y is
    -(b + sqrt(1 + b^2)): at b = 0.8 that is .97 of what r^2 would be in noise of variance v.
    Limits of rows by their regressors and by their response are those of this row.
    """
    slope, size, rows = 0.8, 0.2, 4000
    a = size * np.resize([1.0, 1.0, -1.0, -1.0], rows)
    y = slope * a + size * np.sqrt(1 - slope**2) * np.resize([1.0, -1.0], rows)
    tables = joined({"a": a, "y": y}, {"a": 1.0, "y": -1.0})
    method = AdaSSP(row_factor=4.0, response_limit=2.0)
    name = "dp_lm(AdaSSP(row_factor=4), inference=False)"
    return _lm(name, "y ~ 0 + a", method, tables, inference=False, runs=6000)


def _boosted() -> Attack:
    method = BoostedAdaSSP(rounds=1, average=1, gram_share=0.1, row_factor=1.0)
    name = "dp_lm(BoostedAdaSSP(rounds=1), inference=False)"
    tables = one_column(np.zeros(1000), 1.0)
    return _lm(name, "y ~ 1", method, tables, inference=False, runs=6000)


def _dpsgd() -> Attack:
    """Attack where no row but the canary moves a line through the origin from 0."""
    tables = joined({"y": np.zeros(1000), "a": np.resize([-0.5, 0.5], 1000)}, {"y": 1.0, "a": 1.0})
    method = DPSGD(steps=20, rate=0.5, clip=0.1, learning_rate=1e-3)
    return _lm("dp_lm(DPSGD(steps=20))", "y ~ 0 + a", method, tables, runs=4000)


def _tukey() -> Attack:
    """Attack by the noisy number of rows, of too few for more."""
    method = TukeyEM(count_share=0.9, limits_share=0.0)
    return Attack(
        "dp_lm(TukeyEM(count_share=0.9))", partial(dp_lm, "y ~ 1", method=method),
        one_column(np.zeros(3), 1.0), lambda found: (float(found.units),), _DELTA,
        bound="events", remark="the number of rows alone",
    )  # fmt: skip


def _two_stage() -> Attack:
    """Attack by a row so large that its model votes for the other column."""
    y = np.resize([-1.0, 1.0, 2.0], 90)
    tables = joined({"a": np.zeros(90), "b": y, "y": y}, {"a": 1e6, "b": 0.0, "y": 1e6})
    method = TwoStage(models=6, partition="independent")

    def chosen(data: Any, epsilon: float, rng: Any) -> Any:
        return dp_select("y ~ a + b", data, 1, epsilon, method=method, rng=rng)

    return Attack(
        "dp_select(TwoStage(models=6))", chosen, tables,
        lambda found: (float("a" in found.selected),), 0.0, bound="events", runs=12_000,
    )  # fmt: skip


def _moments() -> Attack:
    """Attack by what the matrix of moments has beyond the exact one of all rows but the canary."""
    known = np.resize([-0.3, 0.3], 1000)
    tables = one_column(known, 1.0)
    without, having = (table["y"].to_numpy() for table in tables)

    def seen(found: Any) -> tuple[float, ...]:
        if len(found.used) == 0:
            return (0.0,)
        base, more = _exact_moments(without, found), _exact_moments(having, found)
        moved = more - base
        # A log-likelihood ratio: the noise of an entry and of its mirror image is one number.
        gain = np.sum(moved * (found.matrix - base)) - np.sum(moved**2) / 2
        return (float(gain / found.deviation**2),)

    return Attack(
        "dp_moments()", partial(dp_moments, "~ y", bounds={"y": (-1.0, 1.0)}), tables, seen, _DELTA,
        runs=5000,
        remark="the matrix alone, which gets 90% of the squared mu",
    )  # fmt: skip


def _exact_moments(y: Doubles, found: Any) -> Doubles:
    """Return the moments of a table by the released basis, without noise."""
    rows = np.column_stack([np.ones(len(y)), (y - found.centre) / found.scale])
    rows = rows @ np.linalg.inv(found.basis)
    limit, norms = found.reach * np.sqrt(rows.shape[1]), np.linalg.norm(rows, axis=1)
    rows *= np.minimum(1.0, limit / norms)[:, None]
    step = limit / _core.ROW_STEPS
    rows = step * np.rint(rows / step)
    return np.asarray(rows.T @ rows)


def _test() -> Attack:
    return Attack(
        "dp_test()", partial(dp_test, lambda block: float((block["y"] <= 0).all()), blocks=2),
        one_column([0.0], 1.0), lambda found: (float(found.count),), 0.0, bound="events",
    )  # fmt: skip


def _frank_wolfe() -> Attack:
    """Twenty rows hold the first step in place; the second then shows what one row asks for.

    Of all numbers of like rows and responses this is the best by exact enumeration, and whether any
    vertex is positive the best event.
    """
    y = np.append(np.full(20, -0.725), 1.0)
    x = np.ones((21, 1))
    return Attack(
        "mechanisms.dp_frank_wolfe()",
        lambda rows, epsilon, delta, rng: mechanisms.dp_frank_wolfe(
            x[:rows], y[:rows], epsilon, delta, l1=1.0, steps=2, rng=rng
        ),
        (20, 21), lambda fit: (float((fit.path > 0).any()),), 1e-5, 250_000, "concentrated",
        "of the rho of its composition: on these two tables it loses 0.22 at most",
    )  # fmt: skip


def _selected(name: str, asked: Callable[..., Any], tables: tuple[Any, Any]) -> Attack:
    """Attack a selection by whether it is of the first columns."""
    seen = lambda chosen: (float(max(chosen) < len(chosen)),)  # noqa: E731
    return Attack(name, asked, tables, seen, 0.0, 20_000, "events")


def _kendall() -> Attack:
    """Attack by a row in which one column starts to agree with y, and eight stop."""
    y = np.arange(4.0)
    X = np.column_stack([[0.0, 0.0, 0.0, 1.0], *[[0.0, 1.0, 2.0, -1.0]] * 8])
    return _selected(
        "mechanisms.dp_kendall()",
        lambda n, epsilon, rng: mechanisms.dp_kendall(X[:n], y[:n], 1, epsilon, rng=rng),
        (3, 4),
    )


def _sis() -> Attack:
    """Attack by a row that raises two sums of products and lowers four."""
    X = np.ones((3, 6))
    X[0, 0], X[2, 2:] = 0.0, -1.0
    return _selected(
        "mechanisms.dp_sis(k=2)",
        lambda n, epsilon, rng: mechanisms.dp_sis(
            X[:n], np.ones(n), 2, epsilon, x_bounds=(-1.0, 1.0), y_bounds=(-1.0, 1.0), rng=rng
        ),
        (2, 3),
    )


def _sub_lasso() -> Attack:
    """Attack by a row so large that its model votes for the other column."""
    y = np.resize([-1.0, 1.0, 2.0], 90)
    X = np.column_stack([np.zeros(90), y])
    tables = (X, y), (np.vstack([X, [1e6, 0.0]]), np.append(y, 1e6))
    return _selected(
        "mechanisms.sub_lasso()",
        lambda table, epsilon, rng: mechanisms.sub_lasso(
            table[0], table[1], 1, epsilon, models=6, partition="independent", rng=rng
        ),
        tables,
    )


KENDALL = _kendall()
ATTACKS: dict[str, Attack] = {
    attack.name: attack
    for attack in (
        _mean(), _adassp(), _boosted(), _dpsgd(), _tukey(), *MODELS, _frank_wolfe(),
        KENDALL, _sis(), _sub_lasso(), _two_stage(), _moments(), _test(),
    )
}  # fmt: skip


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
    effort = Effort(1.0 if full else QUICK, seed)
    findings = []
    for name, attack in ATTACKS.items():
        if progress is not None:
            progress(name)
        findings.append(attacked(attack, eps, effort.runs(attack.runs), seed, error))
    return Report(tuple(findings), f"each lower bound holds with probability {1 - error:g}")
