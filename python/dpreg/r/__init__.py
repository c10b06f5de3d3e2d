"""dpreg for an R session embedded in Python, through rpy2 (``pip install 'dpreg[r]'``).

Importing it puts `dp_lm`, `dp_select`, `dp_plan`, `dp_budget`, the options and `load_diamonds`
on R's search path, as ``library(dpreg)`` does in R: a ``%%R`` cell can call them on its own
data frames.  The R package itself is not needed; its sources are used.  Imported in a notebook,
``%%R -i fit`` hands a result to R, and ``%%R -o fit`` brings one back.

Functions
---------
to_r : make the R object of a result
from_r : make a pandas data frame of an R data frame, or a result of a fit
converter : the same both ways, for ``(rpy2.robjects.default_converter + converter).context()``
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from dpreg.base.later import pd

try:
    import rpy2.rinterface as ri
except Exception as error:
    raise ImportError(
        "dpreg.r needs rpy2 and a version of R that it supports; with R older than 4.5 write\n"
        "  pip install 'rpy2==3.6.6' 'rpy2-rinterface==3.6.5' 'rpy2-robjects==3.6.6'\n"
        f"({type(error).__name__}: {error})"
    ) from error

import rpy2.robjects as ro

from dpreg import DPMultinomial, DPOrdinal, DPResults, DPSurvival, NotReleased
from dpreg.faces.bridge import call as bridge
from dpreg.faces.bridge.answers import fields
from dpreg.faces.bridge.words import told_in_r
from dpreg.r._convert import frame_from_r, from_sexp, in_notebooks, to_sexp

__all__ = ["converter", "from_r", "to_r"]


def _answer(name: Any, request: Any) -> Any:
    """Answer a call from R; see `dpreg.faces.bridge.call.call`."""
    try:
        return to_sexp(bridge.call(from_sexp(name), from_sexp(request)))
    except Exception as error:  # rpy2 would print it and hand NULL to R
        return to_sexp({"error": {"kind": "python", "message": str(error)}})


# R holds a bare pointer to this object: were it collected, the next call would end the process.
_CALL_PYTHON = ri.rternalize(_answer)


def _environment() -> Any:
    """Load the sources of the R package, which are installed beside this file."""
    files = {file.name: file for file in resources.files("dpreg.r").iterdir()}
    texts = {n: files[n].read_text(encoding="utf-8") for n in sorted(files) if n.endswith(".R")}
    embed = texts.pop("embed.R")
    namespace = files["NAMESPACE"].read_text(encoding="utf-8")
    sources = ri.StrSexpVector(list(texts.values()))
    return ro.r(embed)(sources, ri.StrSexpVector([namespace]), _CALL_PYTHON)


_ENVIRONMENT = _environment()


def to_r(fit: DPResults | NotReleased) -> Any:
    """Make the R object that `dp_lm` in R would have made of `fit`.

    Returns
    -------
    rpy2 object
        Of class ``dp_lm`` or ``dp_not_released``.  Assign it with
        ``rpy2.robjects.globalenv["fit"] = to_r(fit)``.  It predicts in R when R reads the
        formula as formulaic does.

    Raises
    ------
    TypeError
        When `fit` is something else: selections and plans are made in R by `dp_select` and
        `dp_plan` there.
    """
    if not isinstance(fit, (DPResults, NotReleased)):
        raise TypeError(
            "to_r takes what dp_lm returned, DPResults or NotReleased, not "
            f"{type(fit).__name__}; call dp_select, dp_plan and dp_budget in R itself"
        )
    # Past all converters.
    made = ri.SexpEnvironment.find(_ENVIRONMENT, "fit_from_python")
    return ro.vectors.ListVector(made(to_sexp(told_in_r(fields(fit)))))


# What R's objects are here, the first of their classes deciding.
_RESULTS: dict[str, Any] = {
    "dp_survival": DPSurvival, "dp_ordinal": DPOrdinal, "dp_multinomial": DPMultinomial,
    "dp_lm": DPResults, "dp_not_released": NotReleased,
}  # fmt: skip


def from_r(value: Any) -> pd.DataFrame | DPResults | NotReleased:
    """Make a pandas data frame of an R data frame, or a result of a fit that R made.

    Parameters
    ----------
    value : rpy2 object, or str
        A data frame or a fit; a string is the name of one in R.

    Returns
    -------
    DataFrame, DPResults or NotReleased
        In data frames factors are categories with their levels and order, missing values of any
        type are missing, logical columns are booleans, dates are dates.  A fit that R made from a
        formula of its own predicts in R only.

    Raises
    ------
    TypeError
        When it is neither, or a column is a list, a matrix or of class POSIXlt.
    ValueError
        When two columns have the same name, or R has nothing of that name.
    """
    if isinstance(value, str):
        if value not in ro.globalenv:
            raise ValueError(f"from_r: there is no {value!r} in R's global environment")
        value = ro.globalenv[value]
    for kind in getattr(value, "rclass", ()):
        if kind in _RESULTS:
            text = value[list(value.names).index("json")][0]
            found: DPResults | NotReleased = _RESULTS[kind].from_json(text)
            return found
    return frame_from_r(value)


converter = in_notebooks(from_r, to_r)
