"""Private regressions: with `selection`, the only Python that reads records and draws noise."""

from __future__ import annotations

from dpreg.base.errors import Argument, ArgumentError, Setting, leave_out, write
from dpreg.base.families import BINOMIAL, POISSON, Family
from dpreg.data.design import Terms
from dpreg.estimation.base import Method, options_from
from dpreg.estimation.methods.adassp import AdaSSP
from dpreg.estimation.methods.auto import Auto
from dpreg.estimation.methods.boosted_adassp import BoostedAdaSSP
from dpreg.estimation.methods.dpsgd import DPSGD
from dpreg.estimation.methods.frank_wolfe import FrankWolfe
from dpreg.estimation.methods.tukey_em import TukeyEM
from dpreg.estimation.planning.auto import WITH_INFERENCE
from dpreg.estimation.releases.residuals import Extras

__all__ = [
    "DPSGD",
    "METHODS",
    "AdaSSP",
    "Auto",
    "BoostedAdaSSP",
    "FrankWolfe",
    "TukeyEM",
    "check_extras",
    "method_for",
    "method_from",
]

METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (Auto, TukeyEM, AdaSSP, BoostedAdaSSP, DPSGD, FrankWolfe)
}
# Families that TukeyEM fits.
_FIRTH = (BINOMIAL, POISSON)


def method_from(method: str | Method) -> Method:
    """Return the method given by a name or an options object.

    Raises ValueError if it is neither.
    """
    return options_from("method", method, METHODS, "release", "tukey")


def method_for(family: Family, method: Method) -> Method:
    """Return the method for a family; `auto` means the method that supports all families.

    Raises ValueError if the method does not fit the family.
    """
    if family.least_squares or isinstance(method, BoostedAdaSSP):
        return method
    if isinstance(method, TukeyEM) and family in _FIRTH:
        return method
    if isinstance(method, Auto):
        return BoostedAdaSSP(max_rows=method.max_rows)
    others = ("probit", "cloglog")
    link = f" with a {family.link} link" if family.link in others else ""
    problem = f"{method.name!r} does not fit a {family.name} family{link}"
    raise ArgumentError("method", problem, ("write ", Setting("method", "auto")))


def check_extras(extras: Extras, method: Method, terms: Terms, *, inference: bool) -> None:
    """Refuse extras that the method or the family does not support.

    Raises ValueError naming the argument.
    """
    if extras.share == 0:
        return
    name = "fit_stats" if extras.fit_stats else "diagnostics"
    sums = isinstance(method, BoostedAdaSSP | AdaSSP)
    if isinstance(method, Auto):
        sums = inference and WITH_INFERENCE in method.candidates
    if not sums:
        problem = f"{method.name!r} releases only coefficients"
        if isinstance(method, Auto):
            problem = "'auto' may choose a method that releases only coefficients"
        raise ArgumentError(name, problem, write("method", "boosted_adassp"), leave_out(name))
    if extras.fit_stats and not terms.family.least_squares:
        problem = f"a {terms.family.name} family has neither R squared nor a residual scale"
        raise ArgumentError("fit_stats", problem, leave_out("fit_stats"))
    if terms.weight is not None:
        # Inverse variance weights need sum(w r^2) / n, and intervals for new rows by their weight;
        # survey weights need sum(w r^2) / sum(w), and equal intervals for all rows.
        why = (
            "is not supported with weights: inverse-variance weights and survey weights need "
            "different estimates of sigma, and ",
            Argument("weights"), " does not distinguish them",
        )  # fmt: skip
        raise ArgumentError(name, why, leave_out(name), leave_out("weights"))
