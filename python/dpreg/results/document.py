"""Results as JSON, and back: what a document has to be like follows from its class."""

from __future__ import annotations

import functools
import json
import math
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from dpreg.base.families import CLOGLOG, FAMILIES, PROBIT, Family, NegativeBinomial, Quantile
from dpreg.base.keywords import hinted
from dpreg.estimation.inference.residuals import FitStats
from dpreg.privacy.certificate import Certificate
from dpreg.results.described import why_absent
from dpreg.results.summary import Shown

_COLUMN = {"kind": str, "levels": ([(str, float, bool)], None), "ordered": bool}
# With bounds where a term makes a basis of the column.
COLUMN = (_COLUMN, {**_COLUMN, "bounds": [float]})
_KINDS = ("residual", "pearson", "response")
_FAMILY = {"name": str, "link": str, "loss": str, "level": (float, None)}


class Saved(Shown):
    """A result that is saved as JSON, and shown as its summary.

    A class says in `_document` what to say of something else, the kind, and the number of the
    format; `_blank`: numbers in its arrays may be missing; `_older`: which other field is what one
    was that older documents do not have.
    """

    __slots__ = ()
    _document: ClassVar[tuple[str, str, int]]
    _blank: ClassVar[bool] = False
    _older: ClassVar[Mapping[str, str]] = {}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(why_absent(name, type(self)))

    @property
    def released(self) -> bool:
        """True; False for `NotReleased`."""
        return True

    @hinted("to_json")
    def to_json(self) -> str:
        """Return everything as JSON; `from_json` reads it."""
        of = next(each for each in type(self).__mro__ if "_document" in vars(each))
        found = {name: _plain(getattr(self, name)) for name in _hints(of)}
        _, kind, number = self._document
        return json.dumps({kind: number, **found}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a ValueError if `text` is something else."""
        what, kind, number = cls._document
        with reading(what, number):
            wanted = {kind: float, **_template_of(typing.cast(Any, cls), cls._blank)}
            data = _fields_from(text, wanted, number, cls)
            cls._check(data)
        return cls(**data)

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        """Raise a ValueError that names the first field which does not go with the others."""


def _plain(value: Any) -> Any:
    """Return plain data; None for NaN, which JSON does not have."""
    if isinstance(value, np.ndarray):
        objects = value.astype(object)
        objects[np.isnan(value)] = None
        return objects.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if not is_dataclass(value):
        return value
    found = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Family) and value.alpha is None:
        del found["alpha"]
    if isinstance(value, FitStats):
        return {name: None if math.isnan(v) else v for name, v in found.items()}
    return found


@contextmanager
def reading(what: str, number: int) -> Iterator[None]:
    """Say `what` a text is, and of which format, to whoever finds something else in it."""
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what} of format {number}: {error}") from None


def _fields_from(text: str, document: Mapping[str, Any], number: int, cls: Any) -> dict[str, Any]:
    data, hints = parsed(text, document, number, cls._older), _hints(cls)
    for name, value in data.items():
        try:
            data[name] = _made(value, hints[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if "schema" in data:
        _check_bounds(data["schema"])
    return data


def parsed(
    text: str, document: Mapping[str, Any], number: int, older: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return what is in JSON, but for the number of the format.

    document: what has to be there; the number of the format comes first.  A type, a tuple of
        alternatives, [of entries], {key: of value}, or {str: of any value}.
    number: of the format.
    older: see `Saved`.
    """
    if isinstance(text, str) and not text.lstrip().startswith("{"):
        raise ValueError("no JSON; give the text of a file, not its path: Path(name).read_text()")
    data: dict[str, Any] = json.loads(text)
    for name, other in (older or {}).items():
        if isinstance(data, dict) and other in data:
            data.setdefault(name, data[other])
    _check(data, document, "")
    if data.pop(next(iter(document))) != number:
        raise ValueError("another format")
    return data


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    found = typing.get_type_hints(cls)
    return {each.name: found[each.name] for each in fields(cls)}


@functools.cache
def _template_of(cls: type, blank: bool = False) -> dict[str, Any]:
    return {name: template(hint, blank) for name, hint in _hints(cls).items()}


def template(hint: Any, blank: bool = False) -> Any:
    """Return what a value of a type has to be like in a document; see `parsed`."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if hint in _TYPES:
        return _TYPES[hint]
    if hint is Family:
        return (_FAMILY, {**_FAMILY, "alpha": float})
    if hint is FitStats:
        return {each.name: (float, None) for each in fields(FitStats)}
    if is_dataclass(hint):
        claim = {"claim": str} if hint is Certificate else {}
        return claim | _template_of(typing.cast(type, hint))
    if origin is Literal:
        return str
    if origin is np.ndarray:
        array: list[Any] = []
        array.append((bool if _dtype(hint) is np.bool_ else float, array, *[None] * blank))
        return array
    if origin is tuple:
        return [template(inside[0])]
    if origin is Mapping:
        return {str: COLUMN if typing.get_origin(inside[1]) is Mapping else template(inside[1])}
    return tuple(template(one, blank) for one in inside)


_TYPES: dict[Any, Any] = {
    str: str, bool: bool, int: float, float: float, types.NoneType: None, Any: object,
    object: (str, float, bool),
}  # fmt: skip


def _dtype(hint: Any) -> Any:
    return typing.get_args(typing.get_args(hint)[1])[0]


def _made(value: Any, hint: Any) -> Any:
    """Return a value of a type from what is in a document."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if value is None:
        return math.nan if hint is float else None
    if origin is types.UnionType:
        chosen = next((one for one in inside if _fits(value, template(one))), inside[0])
        return _made(value, chosen)
    if origin is np.ndarray:
        return np.asarray(value, dtype=_dtype(hint))
    if origin is tuple:
        return tuple(value)
    if hasattr(hint, "from_dict"):
        return hint.from_dict(value)
    if is_dataclass(hint):
        hints = _hints(typing.cast(type, hint))
        return typing.cast(Any, hint)(**{k: _made(v, hints[k]) for k, v in value.items()})
    return int(value) if hint is int else value


def _check_bounds(schema: Mapping[str, Any]) -> None:
    """Raise a ValueError for bounds of a column that are not two increasing numbers."""
    for name, column in schema.items():
        bounds = column.get("bounds")
        if bounds is not None and (len(bounds) != 2 or not bounds[0] < bounds[1]):
            raise ValueError(f"schema.{name}.bounds must be two increasing numbers")


def check_fit(data: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first field of a fit which does not go with the others."""
    size, law, found = len(data["names"]), data["law"], data["diagnostics"]
    columns = size + 1 - (data["names"][:1] == ("Intercept",))
    for name, shape in {"estimates": (size,), "sampling": (size,), "clipping": (size,),
                        "covariance": (size, size), "limits": (columns, 2)}.items():  # fmt: skip
        if data[name] is not None and data[name].shape != shape:
            raise ValueError(f"{name}: an array of shape {shape} is needed")
    if data["covariance"] is not None and (np.diag(data["covariance"]) < 0).any():
        raise ValueError("covariance: a variance is below 0")
    if data["limits"] is not None and (data["limits"][:, 0] > data["limits"][:, 1]).any():
        raise ValueError("limits: the first of two is not above the second")
    family = data["family"]
    known = (
        [*FAMILIES.values(), PROBIT, CLOGLOG] if family.level is None else [Quantile(family.level)]
    )
    if family not in (known if family.alpha is None else [NegativeBinomial(family.alpha)]):
        raise ValueError("family: there is no such family")
    if found is not None:
        ends = found.fitted, found.residual
        shaped = found.counts.shape == tuple(len(each) - 1 for each in ends)
        if not shaped or found.kind not in _KINDS or found.deviation < 0:
            raise ValueError(f"diagnostics: counts between the ends of bins, of a kind {_KINDS}")
        if not all(each.ndim == 1 and (np.diff(each) > 0).all() for each in ends):
            raise ValueError("diagnostics: the ends of bins must rise")
    tail, critical = np.array(law.tail), np.array(law.critical)
    falling = ((tail > 0) & (tail < 1)).all() and (np.diff(tail) < 0).all()
    rising = (np.diff(critical, prepend=0.0) > 0).all()
    if len(tail) != len(critical) or len(tail) == 1 or not (falling and rising):
        raise ValueError("law: tail must fall and critical must rise, at two places or more")


def _check(value: Any, wanted: Any, path: str) -> None:
    if not _fits(value, wanted):
        raise ValueError(f"{path or 'the document'} is not as in a result")
    choices = wanted if isinstance(wanted, tuple) else (wanted,)
    chosen = next((one for one in choices if _fits(value, one)), None)
    if isinstance(chosen, list):
        for number, entry in enumerate(value):
            _check(entry, chosen[0], f"{path}[{number}]")
    elif isinstance(chosen, dict):
        for key, entry in value.items():
            _check(entry, chosen.get(str, None) or chosen[key], f"{path}.{key}".lstrip("."))


def _fits(value: Any, wanted: Any) -> bool:
    """Whether the outermost of `value` is as wanted."""
    if isinstance(wanted, tuple):
        return any(_fits(value, one) for one in wanted)
    if wanted is None:
        return value is None
    if isinstance(wanted, dict):
        return isinstance(value, dict) and (str in wanted or value.keys() == wanted.keys())
    if isinstance(wanted, list):
        return isinstance(value, list)
    if wanted is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    return isinstance(value, wanted)
