"""Fits of several rows of each record: what is public of the records is kept beside them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.documents import parsed, read_fields, reading
from dpreg.base.keywords import hinted
from dpreg.results.contrasts import errors_where_known
from dpreg.results.fit import DPResults
from dpreg.results.predict import NewRows, design_rows

_FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class StackedResults(DPResults, ABC):
    """What such fits have in common.

    A class says in `_saved` what to say of something else, the kind of document, and the name of
    the field that makes rows of records; in `_template` what that is like in a document.

    Attributes
    ----------
    columns : str
        The formula of the records.
    """

    columns: str = ""

    _saved: ClassVar[tuple[str, str, str]]
    _template: ClassVar[Mapping[str, Any]]
    _head: ClassVar[Mapping[str, str]] = {}  # What else a document says.

    @classmethod
    def of(cls, fit: DPResults, model: Any, columns: str) -> Self:
        """Return a fit of rows as what it is; `model` makes rows of records."""
        own = {each.name: getattr(fit, each.name) for each in fields(DPResults)}
        return cls(**own, **{cls._saved[2]: model}, columns=columns)

    @hinted("to_json")
    def to_json(self) -> str:
        """Return everything as JSON; `from_json` reads it."""
        _, kind, name = self._saved
        model = {each: list(getattr(getattr(self, name), each)) for each in self._template}
        found = {**self._head, "columns": self.columns, name: model}
        fit = json.loads(super().to_json())
        return json.dumps({kind: _FORMAT, **found, "fit": fit}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a ValueError if `text` is something else."""
        what, kind, name = cls._saved
        beside = {**dict.fromkeys((*cls._head, "columns"), str), name: cls._template}
        with reading(what, _FORMAT):
            data = read_fields(parsed(text, kind, _FORMAT), {**beside, "fit": Any})
            model, names = cls._model(**data[name])
            fit = DPResults.from_json(json.dumps(data["fit"]))
            same = all(data[each] == said for each, said in cls._head.items())
            if not same or fit.names != names:
                raise ValueError(f"the coefficients are not those of the {name}")
        return cls.of(fit, model, data["columns"])

    @classmethod
    @abstractmethod
    def _model(cls, **parts: Any) -> tuple[Any, tuple[str, ...]]:
        """Return what makes rows of records, and the names of their coefficients."""

    @property
    @abstractmethod
    def _of_records(self) -> tuple[str, ...]:
        """Return the columns of a record, in the order of the model."""

    def _columns_of(self, covariate: str) -> list[str]:
        """Return the names of the coefficients of a covariate."""
        return [covariate]

    def _inside(self, X: Doubles) -> Doubles:
        """Clip columns of records to the widest of their limits in rows."""
        if self.limits is None:
            return X
        known = np.where(np.isnan(self.limits), [-np.inf, np.inf], self.limits)
        columns = [name for name in self.names if name != "Intercept"]
        for j, covariate in enumerate(self._of_records):
            own = known[[columns.index(name) for name in self._columns_of(covariate)]]
            X[:, j] = np.clip(X[:, j], own[:, 0].min(), own[:, 1].max())
        return X

    def _new(self, data: Any, *, winsorise: bool) -> NewRows:
        """Return the columns of new records, in the order of the model."""
        names, schema = self._of_records, self.schema if self.columns else {}
        found = design_rows(self.columns or self.formula, schema, data, names)
        X = found.X[:, [1 + found.names.index(name) for name in names]]
        return replace(found, X=self._inside(X) if winsorise else X, names=names)

    def _errors(self, rows: Doubles) -> Doubles:
        """Return standard errors of combinations of coefficients, one a row."""
        return errors_where_known(rows, self._known_covariance)
