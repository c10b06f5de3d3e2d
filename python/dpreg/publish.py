"""From what a method released to what a user gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpreg.data.design import Terms
from dpreg.inference.estimand import clipping_note
from dpreg.methods.base import Declined, Release
from dpreg.privacy.certificate import Certificate
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.selection.stage import Chosen
from dpreg.starts import completed

__all__ = ["publish"]


def publish(
    outcome: Release | Declined,
    privacy: Certificate,
    terms: Terms,
    *,
    formula: str,
    method: str,
    schema: Mapping[str, Mapping[str, Any]],
    selection: Chosen,
    warnings: tuple[str, ...] = (),
    remarks: tuple[str, ...] = (),
) -> DPResults | NotReleased:
    """Put the released numbers, their certificate and what is public together.

    Parameters
    ----------
    outcome : Release or Declined
    privacy : Certificate
    terms : Terms
        Of the columns that were fitted.
    formula : str
    method : str
        What was asked for; `outcome` may name another one that was used.
    schema : mapping
        For `predict`; empty when there was no table.
    selection : Chosen
        What a selection before the fit released.
    warnings, remarks : tuple of str
        Notes that come before all others, and after.
    """
    if isinstance(outcome, Declined):
        return NotReleased(
            formula=formula,
            method=outcome.method or method,
            reason=outcome.reason,
            advice=outcome.advice,
            units=outcome.units,
            privacy=privacy,
            selected=selection.names,
        )
    return DPResults(
        formula=formula,
        response=terms.response,
        names=terms.coefficients,
        method=outcome.method or method,
        estimates=outcome.params,
        covariance=outcome.covariance,
        sampling=outcome.sampling,
        units=outcome.units,
        privacy=privacy,
        schema=schema,
        law=outcome.law,
        notes=(
            *warnings,
            *selection.notes,
            *clipping_note(outcome.estimand, terms.response),
            *outcome.notes,
            *remarks,
        ),
        selected=selection.names,
        limits=outcome.limits,
        no_errors=outcome.no_errors,
        family=terms.family,
        stats=outcome.stats,
        diagnostics=outcome.diagnostics,
        clipping=outcome.clipping,
        estimand=outcome.estimand,
        start=completed(outcome.start, terms, schema, formula, privacy),
    )
