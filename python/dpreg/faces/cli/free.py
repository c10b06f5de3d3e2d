"""`dpreg plan`, `predict` and `lm`: what costs no budget."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.release import read_saved, shared, taking, text_of
from dpreg.faces.cli.shell import DONE, Outputs, command, needs_writable, option, output_options
from dpreg.faces.cli.words import in_shell


@command(
    "dpreg plan --n 50000 --d 10 --eps 1",
    "dpreg plan --rows 50000 --features 10 --eps 1 --effect 0.1",
    "dpreg plan --features 10 --eps 1 --effect 0.1 --power 0.8",
    "dpreg plan --n 50000 --d 10 --eps 1 --family binomial",
    "dpreg plan --events 5000 --event-rate 0.4 --d 3 --eps 1 --family survival",
    "dpreg plan --n 20000 --d 5 --eps 1 --family ordinal --classes 4",
    "dpreg plan --n 20000 --d 5 --eps 1 --family effect --treated 0.3",
)
@click.option("--n", "--rows", "n", type=int, help="Number of units, if it is public.")
@click.option("--d", "--features", "d", type=int, required=True, help="Number of regressors.")
@option("eps", float, "Privacy parameter epsilon.")
@option("delta", float, "Privacy parameter delta.", default=1e-5)
@option("effect", float, "Slope times the sd of its regressor, over the residual sd.")
@option("power", float, "Probability that the 5% test detects such a slope.")
@option("method", str, "Method of fitting, or moments (one release, many models).", default="auto")
@option("family", str, metavar="NAME", default="gaussian", text="gaussian, binomial, poisson, "
        "gamma, negativebinomial, quantile; survival, with hazard ratios as --effect; ordinal, "
        "multinomial; effect, of a treatment.")  # fmt: skip
@option("events", int, "Number of events, for survival.")
@option("event-rate", float, "Share of persons with an event, for survival.")
@option("classes", int, "Number of classes, for ordinal and multinomial.")
@option("treated", float, "Share of treated units, for effect.")
@option("link", str, "logit, probit or cloglog, for binomial.", metavar="NAME")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(as_json: bool, **given: Any) -> int:
    """Plan a fit before any data are read: which slopes it detects.

    Without --effect and --power the plan shows the smallest slope that is detected with power 0.8.
    With both but without --n (or --eps), it shows the smallest --n (or --eps) that is enough.
    """
    found = dpreg.dp_plan(**given)
    print(found.to_json() if as_json else found)
    return DONE


@command(
    "dpreg predict fit.json new.parquet > predictions.csv",
    "dpreg predict fit.json new.parquet --interval confidence --out predictions.parquet",
)
@click.argument("model", metavar="FIT")
@click.argument("data", metavar="NEW")
@option("interval", str, "confidence: add confidence limits of the mean response.")
@option("alpha", float, "1 - coverage of the intervals.", default=0.05)
@click.option("--winsorise/--no-winsorise", default=True,
              help="Clip new rows to the limits of the fit.  [default: yes]")  # fmt: skip
@option("out", str, "Output file, .csv or .parquet.  [default: CSV to standard output]",
        metavar="FILE")  # fmt: skip
def predict(
    model: str, data: str, interval: str | None, alpha: float, winsorise: bool, out: str | None
) -> int:
    """Predict the rows of a Parquet file with a saved fit.

    FIT is a file written by dpreg fit --json; NEW is the path of the Parquet file, whose rows are
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
    try:
        head = json.loads(text)
    except ValueError:
        head = {}
    head = head if isinstance(head, dict) else {}
    if "dpreg_not_released" in head:
        raise ArgumentError("FIT", f"{path!r} says that the mechanism declined: there is no fit")
    both = (dpreg.DPOrdinal, dpreg.DPMultinomial)
    of_classes = (kind for kind in both if kind.words == head.get("model"))
    try:
        return next(of_classes, dpreg.DPResults).from_json(text)
    except ValueError as error:
        wanted = "give a file written by dpreg fit --json"
        raise ArgumentError("FIT", f"{path!r} does not hold a fit: {error}", wanted) from None


@command(
    'dpreg lm moments.json "price ~ carat"',
    'dpreg lm moments.json "carat ~ price + depth" --json fit.json',
)
@click.argument("path", metavar="MOMENTS")
@click.argument("formula")
@option("instruments", str, "Instruments for two-stage least squares, such as '~ z + a'.",
        metavar="TERMS")  # fmt: skip
@taking(*shared("alpha"))
@output_options
def lm(path: str, formula: str, instruments: str | None, alpha: float, **files: Any) -> int:
    """Fit a linear regression to saved moments, at no further cost.

    MOMENTS is a file written by dpreg moments --json; FORMULA uses its columns.
    """
    outputs = Outputs.of(files)
    if "~" in path and "~" not in formula:
        raise ArgumentError(
            "MOMENTS", f"{path!r} is a formula", f"write dpreg lm {formula} {path!r}"
        )
    saved = read_saved(
        path, "MOMENTS", dpreg.DPMoments.from_json, "moments", "dpreg moments --json"
    )
    fit = saved.lm(formula) if instruments is None else saved.iv(formula, instruments)
    return outputs.tell(fit, in_shell(fit.summary(alpha)), DONE)
