"""The public tables and constants of `dp_plan`, for the planner that runs in a browser."""

from __future__ import annotations

import json
import math
from typing import Any

from dpreg.estimation.planning import auto, forecast, plan, tabulated, tukey
from dpreg.estimation.planning.grids import LIKELY, WIDEST

__all__ = ["tables"]


def _finite(values: Any) -> Any:
    """Return nested lists in which what is not a number is None."""
    if isinstance(values, list):
        return [_finite(value) for value in values]
    return None if math.isnan(values) else values


def tables() -> str:
    """Return, as JSON, what planner.js interpolates: that of the installed package."""
    grids = {
        method: {
            design: {
                "axes": [axis.tolist() for axis in grid.axes],
                "loss": _finite(grid.loss.tolist()),
                "excess": _finite(grid.excess.tolist()),
                "released": _finite(grid.released.tolist()),
                "declined": _finite(grid.declined.tolist()),
            }
            for design in auto._DESIGNS
            for grid in [auto._grid(method, design)]
        }
        for method in (*auto.TABULATED, *auto.OTHERS)
    }
    table = auto.inference_table()
    models = {}
    for of in (tabulated.HazardModel, tabulated.OrdinalModel, tabulated.MultinomialModel,
               tabulated.EffectModel):  # fmt: skip
        grid = tabulated.table(of.name, of.axes)
        models[of.name] = {
            "axes": [axis.tolist() for axis in grid.axes],
            "excess": grid.excess.tolist(),
            "released": grid.released.tolist(),
        }
    (dimensions, deltas, multiples), entries = tukey._table()
    return json.dumps(
        {
            "grids": grids,
            "inference": {
                "axes": [axis.tolist() for axis in table.axes],
                "excess": table.excess.tolist(),
                "released": table.released.tolist(),
                "declined": table.declined.tolist(),
            },
            "models": models,
            "intervals": tabulated.INTERVALS,
            "tabulated": auto.TABULATED,
            "same": auto._SAME,
            "withInference": auto.WITH_INFERENCE,
            "methods": [method for method in plan._METHODS if method != "auto"],
            "tableDelta": auto._DELTA,
            "tukey": {
                "dimensions": dimensions.tolist(),
                "deltas": deltas.tolist(),
                "multiples": multiples.tolist(),
                "entries": [
                    [
                        [
                            {name: float(of[i, j, k]) for name, of in entries.items()}
                            for k in range(len(multiples))
                        ]
                        for j in range(len(deltas))
                    ]
                    for i in range(len(dimensions))
                ],
                "tried": tukey._MULTIPLES.tolist(),
                "safety": tukey._SAFETY,
                "leastSpare": tukey._LEAST_SPARE,
                "mostUnits": [tukey._MOST_UNITS, tukey._MOST_OF_NOISE, tukey._NOISY],
                "mostOverlap": forecast._MOST_OVERLAP,
                "countShare": forecast._COUNT_TUKEY,
                "asideShare": forecast._ASIDE_TUKEY,
            },
            "countAuto": forecast._COUNT_AUTO,
            "likely": LIKELY,
            "widest": WIDEST,
            "mostUnits": forecast.MOST_UNITS,
        },
        allow_nan=False,
        separators=(",", ":"),
    )
