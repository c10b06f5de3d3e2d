"""From a formula and a schema to a design matrix; everything but the last step is public."""

from dpreg.data.formula.spec import FormulaSpec, Rows, bound_formula

__all__ = ["FormulaSpec", "Rows", "bound_formula"]
