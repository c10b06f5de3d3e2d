"""What all results are: saved as JSON, and shown as their summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpreg.base.documents import Document, read_fields
from dpreg.base.families import CLOGLOG, FAMILIES, PROBIT, NegativeBinomial, Quantile
from dpreg.results.described import why_absent
from dpreg.results.summary import Shown

# Of a column of a schema; with bounds where a term makes a basis of it.
_COLUMN = {
    "kind": str, "levels": tuple[object, ...] | None, "ordered": bool, "bounds": tuple[float, ...]
}  # fmt: skip
_KINDS = ("residual", "pearson", "response")


class Saved(Document, Shown):
    """A result that is saved as JSON, and shown as its summary."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(why_absent(name, type(self)))

    @property
    def released(self) -> bool:
        """True; False for `NotReleased`."""
        return True


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first column which is not as a schema has columns."""
    for name, column in schema.items():
        found = read_fields(column, _COLUMN, f"schema.{name}", may_lack="bounds")
        bounds = found.get("bounds", (0.0, 1.0))
        if len(bounds) != 2 or not bounds[0] < bounds[1]:
            raise ValueError(f"schema.{name}.bounds must be two increasing numbers")


def check_fit(data: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first field of a fit which does not go with the others."""
    check_schema(data["schema"])
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
