"""Models among columns whose second moments were released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.base.errors import ArgumentError, FormulaError, closest
from dpreg.data.formula import bound_formula
from dpreg.estimation.inference.covariance import hidden_note, one_sided, user_errors
from dpreg.estimation.inference.estimand import CLIPPED, Estimand
from dpreg.estimation.inference.joint_moments import JointMoments, Regression, SquaredNorm
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.privacy.certificate import Certificate
from dpreg.results.fit import DPResults
from dpreg.results.predict import schema_from_dict


@dataclass(frozen=True, slots=True)
class Model:
    """A response and regressors, all of them columns of the release."""

    response: str
    names: tuple[str, ...]
    intercept: bool
    formula: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Models:
    """Fields of `DPMoments`, and its models: vectors of their columns, and the user's units."""

    formula: str
    names: tuple[str, ...]
    deviation: float
    reach: float
    kurtosis: float
    units: float
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    used: Integers
    trusted: Flags
    centre: Doubles
    scale: Doubles
    basis: Doubles
    matrix: Doubles
    limits: Doubles
    privacy: Certificate

    @property
    def joint(self) -> JointMoments:
        """The matrix, for regressions on vectors."""
        return JointMoments(self.basis, self.matrix, self.deviation, self.units, self.kurtosis)

    def model(self, formula: str) -> Model:
        """Read a formula; all columns that it makes must be in the release."""
        if not self.schema:
            why = "these moments were made from a matrix, which has no columns of data"
            raise FormulaError(why, "use regress")
        spec = bound_formula(formula, schema_from_dict(self.schema))
        return self.checked(Model(spec.response, spec.names, spec.intercept, formula))

    def regress(
        self, response: str, regressors: Iterable[str], *, intercept: bool = True
    ) -> DPResults:
        """Fit a linear model of one column of `names` by others, as `lm` does."""
        names = tuple(regressors)
        label = f"{response} ~ {' + '.join(names) or '1'}" + ("" if intercept else " - 1")
        return self.fitted(self.checked(Model(response, names, intercept, label)))

    def checked(self, model: Model) -> Model:
        """Return `model` if its columns are in the release."""
        for name in (model.response, *model.names):
            if name not in self.names:
                meant = closest(name, self.names)
                other = f"write {meant!r}" if meant else f"the columns are {', '.join(self.names)}"
                problem = f"needs the column {name!r}, which was not released"
                more = "name it in a new call of dp_moments, which costs budget"
                raise ArgumentError("formula", problem, other, more)
        return model

    def regression(self, model: Model) -> tuple[Regression, StandardUnits]:
        """Regress in standard units; return also the way back from them."""
        units = self.standard_units(model)
        found = self.joint.regression(self.regressors(model), self.vector(model.response, model))
        return found, units

    def standard_units(self, model: Model) -> StandardUnits:
        """Units in which `vector` has the columns of a model."""
        place = [self.place(name) for name in model.names]
        columns = np.array([j for j, p in enumerate(place) if p is not None], dtype=np.int64)
        used = [p for p in place if p is not None]
        y = self.place(model.response)
        if y is None:
            problem = f"the scale of {model.response!r} is not estimable at this eps"
            advice = "release with a larger eps, fewer columns or bounds for it"
            raise ArgumentError("formula", problem, advice)
        centre, scale = self.centre, self.scale
        if not model.intercept:
            centre, scale = np.zeros_like(centre), np.hypot(centre, scale)
        return StandardUnits(
            columns, centre[used], scale[used], float(centre[y]), float(scale[y]), model.intercept
        )

    def regressors(self, model: Model) -> Doubles:
        """Vectors of the regressors in which a spread was found, the 1 first if it is there."""
        found = [self.vector(n, model) for n in model.names if self.place(n) is not None]
        ones = [self.basis[:, 0]] * model.intercept
        return np.array([*ones, *found]).reshape(-1, len(self.basis)).T

    def vector(self, name: str, model: Model) -> Doubles:
        """Vector of a column in standard units: those through the origin without intercept."""
        place = self.place(name)
        assert place is not None
        vector = self.basis[:, 1 + place]
        if model.intercept:
            return np.asarray(vector)
        centre, scale = self.centre[place], self.scale[place]
        return np.asarray((scale * vector + centre * self.basis[:, 0]) / np.hypot(centre, scale))

    def place(self, name: str) -> int | None:
        """Place of a column in `used`, or None."""
        found = np.flatnonzero(self.used == self.names.index(name))
        return int(found[0]) if len(found) else None

    def total(self, response: str) -> SquaredNorm:
        """Squares of a column about its mean."""
        found, _ = self.regression(Model(response, (), True, ""))
        return found.residual

    def fitted(self, model: Model) -> DPResults:
        """Return the fit of a model."""
        found, units = self.regression(model)
        return self.fit_of(model, found, units, ())

    def fit_of(
        self, model: Model, found: Regression, units: StandardUnits, more: tuple[str, ...]
    ) -> DPResults:
        """Bring a regression into the user's units."""
        d = len(model.names)
        to_user = units.to_user(d)
        every = [self.names.index(name) for name in (*model.names, model.response)]
        far = one_sided(*self.limits[every[:-1]].T) & units.intercept
        covariance, sampling, hidden = user_errors(found.error, to_user, self.trusted[every], far)
        coefficients = (("Intercept",) if model.intercept else ()) + model.names
        rows = "independent rows and " if self.privacy.unit != "one row" else ""
        tails = f"{self.kurtosis:.3g}"
        why = "to allow for heavy tails in the columns"
        wider = "" if tails == "1" else f"; the sampling variance is multiplied by {tails} {why}"
        return DPResults(
            formula=model.formula,
            response=model.response,
            names=coefficients,
            method="moments",
            estimates=to_user @ found.theta + units.offset(d),
            covariance=covariance,
            sampling=sampling,
            units=self.units,
            privacy=self.privacy,
            schema=self.schema,
            notes=(
                *hidden_note(hidden, coefficients, inference=True),
                *more,
                "computed from the second moments that dp_moments released; further models cost "
                "no more privacy",
                f"standard errors assume {rows}errors of constant variance{wider}",
            ),
            limits=self.limits[every],
            estimand=Estimand(CLIPPED + "least squares", row_limit=self.reach),
        )
