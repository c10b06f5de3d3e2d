"""Private Frank-Wolfe for sparse least squares, on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import shown
from dpreg.calls.session import certified
from dpreg.estimation.base import Allowance
from dpreg.estimation.methods.frank_wolfe_run import (
    L1,
    UnitRows,
    allowed_rho,
    plan_parts,
    run_plan,
)
from dpreg.estimation.planning.frank_wolfe import STEPS, Screen, plan_frank_wolfe
from dpreg.mechanisms._inputs import doubles, response_of
from dpreg.privacy.bits import bit_source
from dpreg.privacy.certificate import Certificate
from dpreg.privacy.checks import check_delta, check_epsilon
from dpreg.privacy.sealed import Sealed

_MAX_COLUMNS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class FrankWolfeFit:
    """A released run of private Frank-Wolfe.

    Attributes
    ----------
    weights : ndarray, shape (d,)
        In the l1 ball; 0 is exactly 0.
    path : ndarray of int, shape (steps,)
        The vertices: j + 1 for +l1 e_j, -(j + 1) for -l1 e_j.
    screened, screened_at : ndarray of int
        Columns that were screened, and the steps after which.
    privacy : Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import dp_frank_wolfe
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> fit = dp_frank_wolfe(X, X[:, 2], eps=1.0, delta=1e-6, l1=1.0, steps=20)
    >>> fit.weights.shape
    (3,)
    """

    weights: Doubles
    path: Integers
    screened: Integers
    screened_at: Integers
    privacy: Certificate

    @property
    def support(self) -> Integers:
        """The columns with a weight other than 0."""
        return np.flatnonzero(self.weights)


def dp_frank_wolfe(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    l1: float,
    steps: int,
    screen: Screen | Literal["rnm", "adp"] | None = None,
    start: Literal["zero", "random"] = "zero",
    rng: int | _core.BitSource | None = None,
) -> FrankWolfeFit:
    """Minimise the sum of squares (Xw - y)^2 over ||w||_1 <= l1 with private Frank-Wolfe steps.

    Parameters
    ----------
    X : array, data frame of numpy types, or scipy.sparse matrix or array, shape (n, d)
        Private.  Cells are clipped to [-1, 1] and rounded to multiples of 2**-14; NaN
        counts as 0.  Entries of the same cell of a sparse matrix are added first.
    y : array, shape (n,)
        Private.  Clipped to [-l1, l1] and rounded to multiples of l1 * 2**-16; NaN counts as 0.
    eps : float
        Privacy loss in nats.  Values above 100 do not increase accuracy.
    delta : float
        In (0, 1), below 1 / (number of rows).
    l1 : float
        Radius of the l1 ball.
    steps : int
        Public, like all that follows.  Step t has size 2 / (t + 2), t = 1, 2, ...
    screen : {None, "rnm", "adp"} or Screen
        Also screen coordinates whose weight is 0 at the optimum.
    start : {"zero", "random"}
        0, or a uniformly random point of the l1 ball.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    FrankWolfeFit

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one row of (X, y)
    public : d, the kind of X, eps, delta and all options; not the number of rows
    proof : cpp/src/mechanisms/frank_wolfe.md, section 4

    Notes
    -----
    Without screening the time of a step is about that of updating the entries of the chosen column,
    and a pass over some hundred bounds: columns with few entries are evaluated only when they are
    proposed, which changes no probability.  Screening needs all gradients at its iterations, so all
    columns are then updated.  The arrays of a sparse X are used without a copy if they are
    compressed rows of doubles with increasing 32-bit column indices; 6 bytes per entry are needed
    in addition, 8 at the start.

    References
    ----------
    Talwar, Thakurta and Zhang (2015), "Nearly-optimal private LASSO"; Khanna, Lu and Raff
    (2025), "Differentially private iterative screening rules for linear regression", with
    the corrections listed in frank_wolfe.md and cpp/src/stats/screening.md; for steps that cost
    what they touch, Raff, Khanna and Lu (2023), "Scaling up differentially private LASSO
    regularized logistic regression via faster Frank-Wolfe iterations": here for the squared
    loss, where it is exact (frank_wolfe.md, "Other losses").

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import dp_frank_wolfe
    >>> X = np.eye(4)[np.arange(20_000) % 4]
    >>> fit = dp_frank_wolfe(X, X[:, 2], eps=1.0, delta=1e-6, l1=1.0, steps=20)
    >>> 2 in fit.support
    True
    """
    epsilon, delta = check_epsilon(eps), check_delta(delta)
    rho = allowed_rho(epsilon, delta)
    if start not in ("zero", "random"):
        raise ValueError(f"start must be 'zero' or 'random', got {shown(start)}")
    STEPS.check("steps", steps)
    L1.check("l1", l1)
    bits = bit_source(rng)
    spending = Allowance(epsilon, delta, bits)
    design = _unit_design(X)
    rows = Sealed(UnitRows(design, response_of(y, design.rows)))
    plan = plan_frank_wolfe(rho, design.cols, steps, screen)
    first = _core.random_start(design.cols, bits) if start == "random" else None
    run = run_plan(rows, l1, plan, bits, first)
    parts = plan_parts(plan, l1)
    public = ("number and kind of columns", "eps, delta and all options")
    privacy = certified(spending, "dp_frank_wolfe", "zCDP", parts, public=public)
    return FrankWolfeFit(**run, privacy=privacy)


def rnm_screen(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    l1: float,
    steps: int,
    share: float = 0.25,
    after: tuple[int, ...] | None = None,
    false_screens: float = 0.05,
    start: Literal["zero", "random"] = "zero",
    rng: int | _core.BitSource | None = None,
) -> FrankWolfeFit:
    """Run private Frank-Wolfe with the sound rule, at most one coordinate per iteration.

    A coordinate is drawn by the exponential mechanism on the scores T_i of
    cpp/src/stats/screening.md, against a dummy candidate.  See `dpreg.mechanisms.dp_frank_wolfe`
    for `X`, `y`, `eps`, `delta`, `l1`, `steps`, `start` and `rng`, and `dpreg.mechanisms.Screen`
    for the others.  The rule screens coordinates when n * eps_screen * (D_i / n)^2 is well above 20
    l1^2 log(d * iterations), which needs many rows.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one row of (X, y)
    public : d, the kind of X, eps, delta and all options; not the number of rows
    proof : cpp/src/mechanisms/frank_wolfe.md, section 4

    References
    ----------
    Khanna, Lu and Raff (2025), Algorithm 2, with another score, another noise scale and a
    dummy candidate; as published in `dpreg.reference.rnm_screen`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import rnm_screen
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> rnm_screen(X, X[:, 2], 1.0, 1e-6, l1=1.0, steps=20).weights.shape
    (3,)
    """
    screen = Screen(rule="rnm", share=share, after=after, false_screens=false_screens)
    return dp_frank_wolfe(X, y, eps, delta, l1=l1, steps=steps, screen=screen, start=start, rng=rng)


def adp_screen(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    l1: float,
    steps: int,
    share: float = 0.25,
    after: tuple[int, ...] | None = None,
    false_screens: float = 0.05,
    start: Literal["zero", "random"] = "zero",
    rng: int | _core.BitSource | None = None,
) -> FrankWolfeFit:
    """Run private Frank-Wolfe with the sound rule, every coordinate by itself.

    Each coordinate is screened with probability 1 / (1 + exp(margin - T_i / scale)), the scores T_i
    as in cpp/src/stats/screening.md.  An iteration makes d choices, so the noise is sqrt(d) times
    that of `rnm_screen`, which has the same arguments and guarantee; this function is for
    comparison.

    References
    ----------
    Khanna, Lu and Raff (2025), Algorithm 1, with another score, logistic noise instead of
    Gaussian noise, and a margin; as published in `dpreg.reference.adp_screen`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import adp_screen
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> adp_screen(X, X[:, 2], 1.0, 1e-6, l1=1.0, steps=20).weights.shape
    (3,)
    """
    screen = Screen(rule="adp", share=share, after=after, false_screens=false_screens)
    return dp_frank_wolfe(X, y, eps, delta, l1=l1, steps=steps, screen=screen, start=start, rng=rng)


def _unit_design(X: Any) -> _core.UnitDesign:
    """Return X, dense or scipy.sparse, clipped to [-1, 1] on the grid of cells."""
    sparse = hasattr(X, "tocsr")
    values = X if sparse else doubles("X", X, 2)
    axes = len(values.shape)
    if axes != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, not {axes}")
    columns = values.shape[1]
    if not 1 <= columns <= _MAX_COLUMNS:
        raise ValueError(f"X must have at least one column and fewer than 2**31, got {columns}")
    if not sparse:
        return _core.DenseUnitDesign(values)
    from scipy.sparse import csr_array

    given = X.tocsr()
    cells = doubles("X.data", given.data, 1)
    # New, as a matrix may have been changed since it last saw whether it has a cell twice.
    rows = csr_array((cells, given.indices, given.indptr), shape=values.shape)
    rows.check_format()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return _core.SparseUnitDesign(rows.indptr, rows.indices, rows.data, columns)
