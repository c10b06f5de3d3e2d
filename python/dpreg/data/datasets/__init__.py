"""Public example data."""

from __future__ import annotations

from importlib import resources

from dpreg.base.later import pd

# Worst to best, except color: best to worst.
_LEVELS = {
    "cut": "Fair,Good,Very Good,Premium,Ideal",
    "color": "D,E,F,G,H,I,J",
    "clarity": "I1,SI2,SI1,VS2,VS1,VVS2,VVS1,IF",
}


def load_diamonds() -> pd.DataFrame:
    """Prices and qualities of 53,940 diamonds (`diamonds` of the R package ggplot2, MIT).

    Returns
    -------
    DataFrame
        price (US dollars), carat, cut, color, clarity (ordered categories, worst to best except
        color, best to worst), depth, table, x, y, z (millimetres and ratios).

    Examples
    --------
    >>> import dpreg
    >>> dpreg.load_diamonds().shape
    (53940, 10)
    """
    table = resources.files("dpreg.data.datasets").joinpath("diamonds.parquet")
    with resources.as_file(table) as path:
        diamonds = pd.read_parquet(path)
    for name, levels in _LEVELS.items():
        declared = pd.CategoricalDtype(levels.split(","), ordered=True)
        diamonds[name] = diamonds[name].astype(declared)
    return diamonds
