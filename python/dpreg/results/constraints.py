"""Linear constraints on coefficients, as statsmodels writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, closest, shown

_ARGUMENT = "r_matrix"
_LIKE = "write it like 'a = 2 * b, c = 0'"


@dataclass(frozen=True, slots=True)
class Constraints:
    """`matrix` @ coefficients = `values`.

    Attributes
    ----------
    matrix : ndarray, shape (q, c)
    values : ndarray, shape (q,)
    labels : tuple of str, length q
        What each row combines, in the names of the coefficients.
    """

    matrix: Doubles
    values: Doubles
    labels: tuple[str, ...]


def read_constraints(given: Any, names: tuple[str, ...]) -> Constraints:
    """Read constraints on coefficients that are called `names`.

    Parameters
    ----------
    given : str, list of str, mapping, array, shape (c,) or (q, c), or pair of arrays
        ``"a = 2 * b, c = 0"``, ``["a = 2 * b", "c = 0"]``, ``{"a": 1, "c": 0}``; a matrix, for
        combinations that are 0; or a matrix and what each combination is.
    names : tuple of str, length c
    """
    if _is_text(given):
        matrix, values = _parsed(given, names)
    else:
        pair = isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) > 0
        matrix = _numbers(given[0] if pair else given)
        values = _numbers(given[1]) if pair else np.zeros(1)
        matrix, values = np.atleast_2d(matrix), np.atleast_1d(values)
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            raise ArgumentError(
                _ARGUMENT,
                f"needs a column for each of the {len(names)} coefficients, {', '.join(names)}; "
                f"got an array of shape {np.shape(given[0] if pair else given)}",
            )
        if values.shape not in ((1,), (len(matrix),)):
            raise ArgumentError(_ARGUMENT, "needs one value for each row, or one for all")
        values = np.broadcast_to(values, (len(matrix),)).copy()
    if len(matrix) == 0 or not matrix.any(axis=1).all():
        raise ArgumentError(_ARGUMENT, "has no coefficient in one of its rows", _LIKE)
    return Constraints(matrix, values, tuple(_label(row, names) for row in matrix))


def _is_text(given: Any) -> bool:
    if isinstance(given, str | Mapping):
        return True
    return (
        isinstance(given, Sequence)
        and len(given) > 0
        and all(isinstance(one, str) for one in given)
    )


def _parsed(given: Any, names: tuple[str, ...]) -> tuple[Doubles, Doubles]:
    from patsy import DesignInfo

    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise _no_coefficient(str(unknown[0]), names)
        rows = [[float(name == other) for other in names] for name in given]
        return np.array(rows).reshape(-1, len(names)), _numbers(list(given.values()))
    text = given if isinstance(given, str) else list(given)
    try:
        found = DesignInfo(names).linear_constraint(text)
    except Exception:  # patsy raises several kinds, on a text that is not private
        words = re.split(r"[\s=,+*/()-]+", given if isinstance(given, str) else ",".join(given))
        for word in words:
            if word and not word[0].isdigit() and not any(word in name for name in names):
                raise _no_coefficient(word, names) from None
        raise ArgumentError(_ARGUMENT, f"cannot read {shown(given)}", _LIKE) from None
    # Adding 0 makes 0 of -0.
    return _numbers(found.coefs) + 0.0, _numbers(found.constants).ravel() + 0.0


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
        raise ArgumentError(_ARGUMENT, "must be a text or finite numbers", _LIKE)
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
