"""Notes printed under a fitted model, from public information only."""

from __future__ import annotations

import math
import re

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import Family
from dpreg.base.text import counted
from dpreg.data.design import Terms
from dpreg.data.schema import LIST, Schema
from dpreg.estimation.releases.residuals import Extras
from dpreg.privacy.charge import Stratum

# In the text of a response: it is true or false.
_COMPARED = re.compile(r"[<>!=]=|[<>]")
# Of a term: its columns add up to 1.
_WHOLE = re.compile(r"cr\([^:]*\)")
# Above it a single record can be detected almost with certainty.
_LARGE_EPSILON = 20.0

# Of log odds.  With a larger standard error, nothing is known of the intercept.
_VAGUE = 10.0


def response(response: str, family: Family, schema: Schema) -> tuple[str, ...]:
    """Point to logistic regression for a response that is true or false.

    By the text of the formula or the declared type of the response, never by its values.
    """
    declared = response in schema and schema[response].truth
    if not family.least_squares or not (declared or _COMPARED.search(response)):
        return ()
    return (
        f"{response} is 0 or 1, so this is a linear probability model; dp_glm fits a logistic "
        "regression",
    )


def coding(response: str, family: Family, schema: Schema, error: float) -> tuple[str, ...]:
    """Ask whether a response of numbers is 0 and 1, where the released fit suggests another coding.

    error: the standard error of the intercept, as released.  It is NaN or large if the response is
    coded 1 and 2, because all values are then clipped to 1.
    """
    column = schema.columns.get(response)
    truth = not response.isidentifier() or (column is not None and column.truth)
    if family.name != "binomial" or truth or error < _VAGUE:
        return ()
    return (
        "the intercept has a large standard error or none; if "
        f"{response} is coded 1 and 2, all of its values were read as 1: write I({response} == 2)",
    )


def bases(terms: Terms) -> tuple[str, ...]:
    """Say that the columns of a basis add up to the intercept, by the text of the formula.

    Without it all coefficients of a cr() had no error, and notes asked for more rows.
    """
    whole = [term for term in terms.groups if _WHOLE.fullmatch(term)]
    if not terms.intercept or not whole:
        return ()
    return (
        f"the columns of {whole[0]} add up to the intercept, so their coefficients cannot be "
        "estimated at any eps; write '0 + ' before the terms of the formula",
    )


def gain(estimates: Doubles, covariance: Doubles, slopes: list[int]) -> tuple[str, ...]:
    """Say that predictions may be worse than those of a model without slopes.

    Slopes b with covariance C increase the mean log-likelihood by b'Ib / 2, for an information I,
    of which tr(IC) / 2 is expected from errors alone, and predictions lose as much.  With C in
    place of the inverse of I, up to a factor, the loss is larger than the gain if the Wald
    statistic is less than twice the number of slopes.  Of 51 fits of simulated classes 10 were
    worse, and 9 of these had the note, as had 8 of the 41 that were better.

    slopes: places of the k slopes among the coefficients.
    """
    if np.isnan(np.diag(covariance)).all():  # and a note says why
        return ()
    known = [j for j in slopes if np.isfinite(covariance[j, j])]
    inverse = np.linalg.pinv(covariance[np.ix_(known, known)], hermitian=True)
    square = float(estimates[known] @ inverse @ estimates[known])
    if not slopes or (known and square >= 2 * len(known)):
        return ()
    return (
        "predictions may be no better than the shares of the classes, because the errors of the "
        "slopes are as large as their effects; use fewer covariates, more rows or a larger eps",
    )


def extras(extras: Extras) -> tuple[str, ...]:
    """Say what they cost."""
    if extras.share == 0:
        return ()
    names = ("fit_stats", "diagnostics", "dispersion")
    asked = " and ".join(name for name in names if getattr(extras, name))
    wider = 100 * (1 / math.sqrt(1 - extras.share) - 1)
    return (
        f"{asked} took {100 * extras.share:.0f}% of the squared mu of the fit, which widens the "
        f"privacy component of the intervals by {wider:.1f}%",
    )


def rows(unit: str | None, rows: int, more: str = "") -> tuple[str, ...]:
    """Say how many rows of a unit were used, and more about it."""
    if unit is None:
        return ()
    verb = "is" if rows == 1 else "are"
    note = f"of each {unit!r} at most {counted(rows, 'row')} {verb} used"
    return (f"{note}; {more}" if more else note,)


def units(
    unit: str | None, method: object, used: str, purpose: str = "", option: str = "max_rows="
) -> tuple[str, ...]:
    """Say how many rows of a unit were used, where not all of them are.

    method: its option `max_rows` counts.
    option: what allows more in the call.
    """
    if used == "dpsgd":  # which has no such option
        return rows(unit, 1)
    most = getattr(method, "max_rows", None)
    # TukeyEM takes the mean of all rows of a unit.
    if most is None or used == "tukey":
        return ()
    more = f"{option} allows more, with more noise"
    return tuple(purpose + note for note in rows(unit, most, more))


def privacy(epsilon: float, delta: float, units: float | None) -> tuple[str, ...]:
    """Warn if epsilon or delta give no meaningful protection.

    units: as released; the number itself is private.
    """
    notes = []
    if epsilon > _LARGE_EPSILON:
        notes.append(
            f"eps = {epsilon:g} gives no meaningful protection (probabilities may change by a "
            f"factor of {math.exp(epsilon):.0e}); 1 is common, and 10 is large"
        )
    if units is not None and delta * units > 1:
        enough = float(f"1e-{math.ceil(math.log10(units)) + 1}")  # a tenth of 1 / units, or less
        notes.append(
            f"delta = {delta:g} is above 1 / (number of units), 1 / {units:,.0f} by the private "
            f"estimate, so that a whole record may be revealed; {enough:g} is small enough"
        )
    return tuple(notes)


def stratum(stratum: Stratum | None, unit: str | None) -> tuple[str, ...]:
    """Say which rows were used, where a budget was charged for one stratum."""
    if stratum is None:
        return ()
    note = f"only rows with {stratum} were used, which is the stratum of the budget"
    if unit is None:
        return (note,)
    return (f"{note}; each {unit!r} with rows in several strata was left out",)


def columns(schema: Schema) -> tuple[str, ...]:
    """Say which columns in use had no declared type or levels."""
    columns = schema.columns.values()
    lists = ", ".join(c.name for c in columns if c.holds == LIST and c.levels is None)
    trusted = ", ".join(c.name for c in columns if c.taken_on_trust)
    notes = []
    if lists:
        notes.append(
            f"lists have no declared type, so {lists} were read as numbers and rows with other "
            "values were dropped; give an array, or levels="
        )
    if trusted:
        notes.append(
            f"the categories of {trusted} were taken from the pandas dtype and are treated as "
            "public; astype('category') reads them from the data, so declare them with levels="
        )
    return tuple(notes)
