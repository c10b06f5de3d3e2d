"""`dpreg curve`."""

from __future__ import annotations

from typing import Any

import click

from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.release import levels_from, payer_from, shared, taking
from dpreg.faces.cli.shell import DONE, Documented, Outputs, output_options, working


@click.command(
    cls=Documented,
    examples=(
        'dpreg curve "Surv(days, died) ~ arm" trial.parquet --eps 1 --cuts 90,180,365,730 '
        "--levels arm=placebo,drug",
        'dpreg curve "Surv(entry, exit, status == 2) ~ 1" cohort.parquet --eps 0.5 --start 40 '
        "--cuts 50,60,70,80 --unit person --json curve.json",
    ),
)
@taking(
    click.argument("formula"),
    click.argument("data"),
    *shared("eps", "cuts", "start", "levels", "unit"),
    click.option("--max-rows", type=int, default=1, show_default=True,
                 help="Maximum number of rows used per unit."),
    *shared("budget", "stratum", "rng", "alpha"),
    click.option("--simultaneous", is_flag=True, help="Limits for all times of a group together."),
    click.option("--concordance", is_flag=True,
                 help="Print the concordance of groups, whose levels are from the least risk to "
                      "the most."),
    click.option("--event-cuts", type=click.IntRange(1), metavar="COUNT",
                 help="Last print cuts for `dpreg survival`, at most so many, between which there "
                      "are about equally many events; --quiet prints nothing else."),
)  # fmt: skip
@output_options
def curve(
    formula: str,
    data: str,
    alpha: float,
    simultaneous: bool,
    concordance: bool,
    event_cuts: int | None,
    **given: Any,
) -> int:
    """Estimate survival curves by group, with a log-rank test.

    FORMULA is 'Surv(time, event) ~ group', or ~ 1 for one curve; DATA is the path of a Parquet
    file.  Restricted means are estimated too.
    """
    outputs = Outputs.of(given)
    from dpreg.calls.curve import dp_curve
    from dpreg.estimation.inference.law import check_alpha

    check_alpha(alpha)
    read = {
        "cuts": times_from(given["cuts"]),
        "levels": levels_from(given["levels"], data),
        "budget": payer_from(given["budget"], given.pop("stratum")),
    }
    with working("estimating curves"):
        found = dp_curve(formula, data, **{**given, **read})
    code = outputs.tell(found, found.summary(alpha, simultaneous=simultaneous), DONE)
    if concordance:
        of = found.concordance(alpha)
        print(f"Concordance: {of.estimate:.4f} ({of.lower:.4f} to {of.upper:.4f})")
    if event_cuts is not None:
        print(",".join(f"{cut:.17g}" for cut in found.event_cuts(event_cuts)))
    return code


def times_from(text: str) -> list[float]:
    """Return the times that ``--cuts`` lists."""
    try:
        return [float(time) for time in text.split(",")]
    except ValueError:
        raise ArgumentError("--cuts", f"must be TIME,TIME,..., got {text!r}") from None
