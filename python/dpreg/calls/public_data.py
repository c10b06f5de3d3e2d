"""`public_start`: where a private fit may start, from public data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpreg.base.errors import ArgumentError
from dpreg.base.levels import Level
from dpreg.base.text import counted
from dpreg.calls.starts import levels_of
from dpreg.data.changed_rows import without_offsets
from dpreg.data.observations import default_memory
from dpreg.data.problem import pose
from dpreg.estimation.inference.start import Start
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.privacy.sealed import opened
from dpreg.results.predict import schema_to_dict

# Least eigenvalue of a correlation matrix, and rows for each column; the share of rows, or the
# number, that may be longer than `longest`.
_COLLINEAR, _ROWS, _FAR_SHARE, _FAR = 1e-8, 2, 0.01, 5
_LEAST_RESIDUAL = 1e-6


def public_start(
    formula: str,
    data: Any,
    *,
    levels: Mapping[str, Iterable[Level]] | None = None,
    unit: str | None = None,
) -> Start:
    """Fit public data exactly, so that a private fit of the same formula can start there.

    Public data need no protection: published microdata, a synthetic table, a simulation.  They need
    not be from the same population: the fit checks for changes, see ``start`` of `dp_lm`.

    Parameters
    ----------
    formula : str
        As for `dp_lm`; it must be that of the private fit.
    data : data frame, dict of arrays, or path of a Parquet file
        **Public**: nothing here is protected.
    levels, unit
        As for `dp_lm`.

    Returns
    -------
    Start
        For ``dp_lm(start=)``.

    Raises
    ------
    ValueError
        For a formula that `dp_lm` would refuse, too few rows, and columns that are constant or
        collinear with others.

    Privacy
    -------
    guarantee : none; no noise is added.  **Never use private records here**: every fit that starts
        from the result would reveal something about them.

    Examples
    --------
    >>> import dpreg
    >>> start = dpreg.public_start("price ~ carat", dpreg.load_diamonds().head(2000))
    >>> start.names
    ('carat',)
    """
    problem = pose(formula, data, levels, unit)
    design = without_offsets(problem.design(default_memory()))
    terms, (X, y, *_) = design.terms, opened(design.arrays())  # which are public
    n, width = len(y), X.shape[1] + int(terms.intercept)
    if n < max(_ROWS * width, 3):
        few = f"has {counted(n, 'complete row')} for {counted(width, 'coefficient')}"
        raise ArgumentError("data", few)
    columns = np.column_stack([X, y])
    centre, scale = columns.mean(axis=0), columns.std(axis=0)
    _check_varying((*terms.names, terms.response), centre, scale)
    about = centre if terms.intercept else np.zeros_like(centre)
    sizes = scale if terms.intercept else np.hypot(scale, centre)
    standard = (columns - about) / sizes
    rows = np.hstack([np.ones((n, int(terms.intercept))), standard[:, :-1]])
    moments = rows.T @ rows / n
    _check_collinear(moments, terms.names, intercept=terms.intercept)
    change = symmetric_root(moments, centred=terms.intercept)
    coordinates = rows @ change
    theta = np.linalg.lstsq(coordinates, standard[:, -1])[0]
    left = standard[:, -1] - coordinates @ theta
    norms = np.linalg.norm(coordinates, axis=1)
    return Start(
        response=terms.response,
        names=terms.names,
        intercept=terms.intercept,
        low=columns.min(axis=0),
        high=columns.max(axis=0),
        centre=centre,
        scale=scale,
        constant=np.zeros(len(centre), dtype=bool),
        change=change,
        unseen=np.zeros((width, 0)),
        theta=theta,
        residual=max(float(left @ left) / n, _LEAST_RESIDUAL),
        deviation=np.zeros((width, width)),
        sizes=np.ones(width),
        longest=float(np.quantile(norms, 1 - min(_FAR / n, _FAR_SHARE))),
        units=float(n),
        within=terms.within,
        offsets=problem.terms.offsets,
        levels=levels_of(schema_to_dict(problem.schema)),
        source=f"public data of {formula!r}, {counted(n, 'row')}",
    )


def _check_varying(names: tuple[str, ...], centre: Any, scale: Any) -> None:
    flat = [name for name, c, s in zip(names, centre, scale, strict=True) if not s > 1e-9 * abs(c)]
    if flat:
        raise ArgumentError(
            "data",
            f"has constant columns: {', '.join(flat)}",
            "use more public data, or leave them out",
        )


def _check_collinear(moments: Any, names: tuple[str, ...], *, intercept: bool) -> None:
    values, vectors = np.linalg.eigh(moments)
    if len(values) and values[0] < _COLLINEAR:
        weight = np.abs(vectors[int(intercept) :, 0])
        such = [name for name, w in zip(names, weight, strict=True) if w > 0.1]
        raise ArgumentError("data", f"has collinear columns: {', '.join(such)}", "leave one out")
