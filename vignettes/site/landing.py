"""The first page: a fit, its picture beside the exact one, and what both say, made at build."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import dpreg
from dpreg.faces.cli.demo import FORMULA, conclusion, least_squares
from dpreg.faces.plots import plot_beside

# Kept short: these terms are enough to see what privacy costs.
TERMS = ("log(carat)", "color[T.G]", "color[T.J]", "clarity[T.SI1]", "clarity[T.VS1]",
         "clarity[T.IF]")  # fmt: skip
CALL = f'''import dpreg

diamonds = dpreg.load_diamonds()
fit = dpreg.dp_lm(
    "{FORMULA}",
    diamonds, eps=1.0, delta=1e-6,
)
'''
ALT = (
    "Coefficients of the log price of diamonds with 95% intervals, private (eps = 1) beside least "
    "squares, for " + ", ".join(TERMS)
)
PICTURE = "first_fit.png"


def stage(index: Path) -> None:
    """Run the call that is shown on the page; put code, picture and conclusion into the page."""
    names: dict[str, object] = {}
    exec(compile(CALL, "index.md", "exec"), names)
    fit, exact = names["fit"], least_squares(dpreg.load_diamonds())
    if not isinstance(fit, dpreg.DPResults):
        raise SystemExit(f"the fit of the first page was not released:\n{fit}")
    # As wide as on a phone, so that its letters are as large as those around it.
    figure = Figure(figsize=(4.6, 3.6), layout="constrained")
    both = {"least squares, not private": exact, "dpreg, eps = 1": fit}
    ax = plot_beside(both, figure.subplots(), terms=TERMS)
    ax.set_xlabel("change of log(price), with 95% interval")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    figure.savefig(index.with_name(PICTURE), dpi=160)
    said = " ".join(conclusion(fit.params, exact["coef"]).split())
    text = index.read_text()
    for mark, found in (
        ("<!-- call -->", f"```python\n{CALL}```"),
        ("<!-- picture -->", f"![{ALT}]({PICTURE})"),
        ("<!-- conclusion -->", f"{said[0].upper()}{said[1:]}"),
    ):
        if text.count(mark) != 1:
            raise SystemExit(f"{index.name} has no place for {mark}")
        text = text.replace(mark, found)
    index.write_text(text)
