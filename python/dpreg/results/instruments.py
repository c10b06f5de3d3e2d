"""Two-stage least squares from released second moments."""

from __future__ import annotations

import numpy as np

from dpreg.base.errors import ArgumentError, unusable
from dpreg.results.fit import DPResults
from dpreg.results.models import Model, Models

# A first stage with a smaller F is called weak (Staiger and Stock, 1997).
_WEAK = 10.0


def exogenous_model(moments: Models, model: Model, instruments: str) -> Model:
    """Read the instruments: the response of `model` by them."""
    if not isinstance(instruments, str):
        raise unusable("instruments", "a text such as '~ z + a'", instruments)
    right = instruments.partition("~")[2] if "~" in instruments else instruments
    return moments.model(f"{model.formula.partition('~')[0]} ~ {right}")


def two_stage_fit(moments: Models, model: Model, exogenous: Model) -> DPResults:
    """Fit `model` with the regressors of `exogenous` as instruments: see `DPMoments.iv`."""
    units = moments.standard_units(model)
    if model.intercept != exogenous.intercept:
        raise ArgumentError("instruments", "must have an intercept just as the formula does")
    missing = [n for n in (*model.names, *exogenous.names) if moments.place(n) is None]
    if missing:
        why = f"the scale is not estimable at this eps: {', '.join(missing)}"
        raise ArgumentError("instruments", why, "leave them out")
    if len(exogenous.names) < len(model.names):
        raise ArgumentError(
            "instruments",
            f"are {len(exogenous.names)} columns, fewer than the {len(model.names)} regressors",
            "name the exogenous regressors too: '~ z + a'",
        )
    found = moments.joint.two_stages(
        moments.regressors(model),
        moments.regressors(exogenous),
        moments.vector(model.response, model),
    )
    more = ["two-stage least squares, instruments " + ", ".join(exogenous.names)]
    excluded = [name for name in exogenous.names if name not in model.names]
    for name in model.names:
        if name in exogenous.names:
            continue
        first = moments.regress(name, exogenous.names, intercept=model.intercept)
        assert first.covariance is not None
        told = np.isfinite(np.diag(first.covariance))
        known = [z for z in excluded if told[first.names.index(z)]]
        rows = [[float(c == z) for c in first.names] for z in known]
        if not known:
            more.append(f"the first stage of {name} is not estimable at this eps")
            continue
        f = first.f_test(rows).fvalue
        weak = ", which is weak: intervals may be much too narrow" if f < _WEAK else ""
        more.append(f"first stage of {name}: F = {f:.4g} on {len(known)} instruments{weak}")
    return moments.fit_of(model, found, units, tuple(more))
