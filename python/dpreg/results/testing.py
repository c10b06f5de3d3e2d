"""Tests on every result that has coefficients with a covariance, as statsmodels writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, add, closest, shown
from dpreg.base.later import pd
from dpreg.results.contrasts import (
    Contrasts,
    WaldTest,
    combination_errors,
    covariances_known,
    joint_test,
)
from dpreg.results.fitted import Fitted, is_offset
from dpreg.results.predict import term_columns

_ARGUMENT = "r_matrix"
_LIKE = "write it like 'a = 2 * b, c = 0'"


class LinearTests(Fitted):
    """Tests and contrasts from released numbers: they cost nothing and read no records."""

    def t_test(self, r_matrix: Any) -> Contrasts:
        """Estimate linear combinations of the coefficients, and test each by itself.

        Parameters
        ----------
        r_matrix : str, list of str, dict, array of shape (c,) or (q, c), or pair of arrays
            ``"carat = 8000, depth = 0"`` or ``"cut[T.Ideal] - cut[T.Good]"``; a matrix, for
            combinations that are 0; or a matrix and what each combination is.

        Returns
        -------
        Contrasts
            With `effect`, `sd`, `pvalue`, `conf_int()`, `summary_frame()` and `summary()`.

        Raises
        ------
        ArgumentError
            If a coefficient that is needed has no standard error, or the text cannot be read.

        Notes
        -----
        Standard errors have sampling error and privacy noise.  Where the method releases no
        covariances (`method="tukey"`), they are upper bounds, and a note says so.
        """
        constraints = read_constraints(r_matrix, self.names)
        covariance = self._covariance_for(constraints)
        related = covariances_known(covariance, self.names)
        errors, notes = combination_errors(constraints.matrix, covariance, related=related)
        return Contrasts(
            labels=constraints.labels,
            effect=constraints.matrix @ self.estimates,
            sd=errors,
            null=constraints.values,
            law=self.law,
            notes=notes,
        )

    def wald_test(self, r_matrix: Any, *, use_f: bool = False) -> WaldTest:
        """Test several linear combinations of the coefficients at once.

        Parameters
        ----------
        r_matrix
            As for `t_test`.
        use_f : bool, default False
            Report the chi-squared statistic over its degrees of freedom, an F statistic whose
            second degrees of freedom are infinite; the p-value is the same.

        Returns
        -------
        WaldTest
            Where the method releases no covariances (`method="tukey"`) and there are several
            rows, a Bonferroni test.

        Raises
        ------
        ArgumentError
            As for `t_test`, and if one row is a combination of others.
        """
        constraints = read_constraints(r_matrix, self.names)
        covariance = self._covariance_for(constraints)
        test = self._joint(constraints.matrix, constraints.values, covariance, use_f=use_f)
        if test is None:
            why = "has a row that is a combination of the others, or whose standard error is 0"
            raise ArgumentError("r_matrix", why, "leave it out")
        return test

    def f_test(self, r_matrix: Any) -> WaldTest:
        """Return `wald_test` with an F statistic, whose second degrees of freedom are infinite."""
        return self.wald_test(r_matrix, use_f=True)

    def anova(self) -> pd.DataFrame:
        """Test each term of the formula, given all the others.

        Returns
        -------
        DataFrame
            One row for each term but the intercept: df, statistic and P>chi2.  Coefficients
            without a standard error are left out and do not count; a term of only such is NaN.
            With interactions the tests of main effects depend on the contrasts, as those of
            type III do.  Where the method releases no covariances (`method="tukey"`), tests of
            terms with several coefficients are Bonferroni's, on the largest ``|z|``.

        Raises
        ------
        ArgumentError
            If the fit has no standard errors, or was not made from a formula on columns.
        """
        terms = self._terms()
        covariance = self._any_covariance()
        rows = []
        for columns in terms.values():
            known = [j for j in columns if not np.isnan(covariance[j, j])]
            matrix = np.eye(len(self.names))[known]
            test = self._joint(matrix, np.zeros(len(known)), covariance) if known else None
            blank = (np.nan, np.nan, "")
            found = (test.statistic, test.pvalue, test.distribution) if test else blank
            rows.append((len(known), *found))
        return pd.DataFrame(
            rows, columns=["df", "statistic", "P>chi2", "test"], index=pd.Index(terms, name="term")
        )

    def wald_test_terms(self) -> pd.DataFrame:
        """Return `anova`, as statsmodels names it."""
        return self.anova()

    def _terms(self) -> dict[str, list[int]]:
        """Return the places of the coefficients of each term of the formula."""
        return term_columns(self.formula, self.schema, self.names)

    def _joint(
        self, matrix: Doubles, values: Doubles, covariance: Doubles, *, use_f: bool = False
    ) -> WaldTest | None:
        gap = matrix @ self.estimates - values
        related = covariances_known(covariance, self.names)
        return joint_test(gap, matrix, covariance, self.law, use_f=use_f, related=related)

    def _any_covariance(self) -> Doubles:
        if self.covariance is None:
            why = f", because {self.no_errors}" if self.no_errors else ""
            advice = () if self.no_errors else ((*add("inference", True), " to the fit"),)
            raise ArgumentError(
                "r_matrix", f"needs standard errors, and the fit has none{why}", *advice
            )
        return self.covariance

    def _covariance_for(self, constraints: Constraints) -> Doubles:
        covariance = self._any_covariance()
        used = (constraints.matrix != 0).any(axis=0)
        blank = [
            name for j, name in enumerate(self.names) if used[j] and np.isnan(covariance[j, j])
        ]
        if blank:
            problem = (
                f"needs coefficients that have no standard error at this eps: {', '.join(blank)}"
            )
            advice = "leave them out", "fit with a larger eps, more rows or fewer columns"
            raise ArgumentError("r_matrix", problem, *advice)
        return covariance


@dataclass(frozen=True, slots=True)
class Constraints:
    """`matrix` @ coefficients = `values`."""

    matrix: Doubles  # Shape (q, c).
    values: Doubles  # Shape (q,).
    labels: tuple[str, ...]  # What each row combines, in the names of the coefficients.


def read_constraints(given: Any, names: tuple[str, ...]) -> Constraints:
    """Read constraints on coefficients that are called `names`.

    given: ``"a = 2 * b, c = 0"``, ``["a = 2 * b", "c = 0"]``, ``{"a": 1, "c": 0}``; a matrix, for
        combinations that are 0; or a matrix and what each combination is.
    """
    if _is_text(given):
        matrix, values = _parsed(given, names)
    else:
        pair = isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) > 0
        matrix = _numbers(given[0] if pair else given)
        values = _numbers(given[1]) if pair else np.zeros(1)
        matrix, values = _with_offsets(np.atleast_2d(matrix), names), np.atleast_1d(values)
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            found = f"got an array of shape {np.shape(given[0] if pair else given)}"
            own = [name for name in names if not is_offset(name)]
            wanted = f"a column for each of the {len(own)} coefficients, {', '.join(own)}"
            raise ArgumentError(_ARGUMENT, f"needs {wanted}; {found}")
        if values.shape not in ((1,), (len(matrix),)):
            raise ArgumentError(_ARGUMENT, "needs one value for each row, or one for all")
        values = np.broadcast_to(values, (len(matrix),)).copy()
    if len(matrix) == 0 or not matrix.any(axis=1).all():
        raise ArgumentError(_ARGUMENT, "has no coefficient in one of its rows", _LIKE)
    return Constraints(matrix, values, tuple(_label(row, names) for row in matrix))


def _with_offsets(matrix: Doubles, names: tuple[str, ...]) -> Doubles:
    """Give a matrix that has a column for each of `params` columns of 0 for offsets."""
    own = np.array([not is_offset(name) for name in names])
    if matrix.ndim != 2 or matrix.shape[1] != own.sum():
        return matrix
    whole = np.zeros((len(matrix), len(names)))
    whole[:, own] = matrix
    return whole


def _is_text(given: Any) -> bool:
    if isinstance(given, str | Mapping):
        return True
    several = isinstance(given, Sequence) and len(given) > 0
    return several and all(isinstance(one, str) for one in given)


def _parsed(given: Any, names: tuple[str, ...]) -> tuple[Doubles, Doubles]:
    from patsy import DesignInfo

    texts = given if isinstance(given, str | Mapping) else list(given)
    try:
        found = DesignInfo(names).linear_constraint(texts)
    except Exception:  # patsy raises several kinds, on a text that is not private
        known = {piece for name in names for piece in (name, *_pieces(name))}
        text = given if isinstance(given, str) else ",".join(map(str, given))
        for word in map(str, given) if isinstance(given, Mapping) else _pieces(text):
            if word not in known and any(map(str.isalpha, word)) and not word[0].isdigit():
                raise _no_coefficient(word, names) from None
        raise ArgumentError(_ARGUMENT, f"cannot read {shown(given)}", _LIKE) from None
    # Adding 0 makes 0 of -0.
    return _numbers(found.coefs) + 0.0, _numbers(found.constants).ravel() + 0.0


def _pieces(text: str) -> list[str]:
    """Return the words of a text of constraints, or of the name of a coefficient."""
    return [word for word in re.split(r"[\s=,+*/()-]+", text) if word]


def _no_coefficient(word: str, names: tuple[str, ...]) -> ArgumentError:
    meant = closest(word, names)
    advice = f"write {meant!r}" if meant else f"the coefficients are {', '.join(names)}"
    return ArgumentError(_ARGUMENT, f"there is no coefficient {word!r}", advice)


def _numbers(given: Any) -> Doubles:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise ArgumentError(_ARGUMENT, "must be a string or finite numbers", _LIKE)
    return numbers


def _label(row: Doubles, names: tuple[str, ...]) -> str:
    """Write a combination: ``a - 2 * b``."""
    text = ""
    for weight, name in zip(row, names, strict=True):
        if weight == 0:
            continue
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        times = "" if abs(weight) == 1 else f"{abs(weight):.4g} * "
        text += sign + times + name
    return text
