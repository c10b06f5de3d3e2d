"""From a formula and a schema to a design matrix; all steps except the last are public."""

from dpreg.data.formula.spec import FormulaSpec, Rows, bound_formula

__all__ = ["FormulaSpec", "Rows", "bound_formula"]
