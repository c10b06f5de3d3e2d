"""`dpreg predict`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.release import text_of
from dpreg.faces.cli.shell import DONE, command, needs_writable


@command(
    "dpreg predict fit.json new.parquet > predictions.csv",
    "dpreg predict fit.json new.parquet --interval confidence --out predictions.parquet",
)
@click.argument("model", metavar="FIT")
@click.argument("data", metavar="NEW")
@click.option("--interval", help="confidence: add confidence limits of the mean response.")
@click.option("--alpha", type=float, default=0.05, show_default=True,
              help="1 - coverage of the intervals.")  # fmt: skip
@click.option("--winsorise/--no-winsorise", default=True,
              help="Clip new rows to the limits of the fit.  [default: yes]")  # fmt: skip
@click.option("--out", metavar="FILE",
              help="Output file, .csv or .parquet.  [default: CSV to standard output]")  # fmt: skip
def predict(
    model: str, data: str, interval: str | None, alpha: float, winsorise: bool, out: str | None
) -> int:
    """Predict the rows of a Parquet file with a saved fit.

    FIT is a file that dpreg fit --json wrote; NEW is the path of the Parquet file, whose rows are
    not protected.
    """
    needs_writable(out, "--out")
    fit = _read(model, data)
    found: Any = fit.predict(data, winsorise=winsorise, interval=interval, alpha=alpha)
    frame = found.to_frame() if found.ndim == 1 else found
    if out is not None and out.endswith(".parquet"):
        frame.to_parquet(out, index=False)
    else:
        frame.to_csv(sys.stdout if out in (None, "-") else out, index=False)
    return DONE


def _read(path: str, data: str) -> dpreg.DPResults:
    text = text_of(path, "FIT")
    if text.startswith("PAR1"):
        problem = f"{path!r} is a Parquet file; the fit comes first"
        raise ArgumentError("FIT", problem, f"write dpreg predict {data} {path}")
    head = _head(text)
    if "dpreg_not_released" in head:
        raise ArgumentError("FIT", f"{path!r} says that the mechanism declined: there is no fit")
    both = (dpreg.DPOrdinal, dpreg.DPMultinomial)
    of_classes = (kind for kind in both if kind.words == head.get("model"))
    try:
        return next(of_classes, dpreg.DPResults).from_json(text)
    except ValueError as error:
        wanted = "give a file that dpreg fit --json wrote"
        raise ArgumentError("FIT", f"{path!r} does not hold a fit: {error}", wanted) from None


def _head(text: str) -> dict[str, Any]:
    """Return the object that a text holds; an empty one where it holds something else."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
