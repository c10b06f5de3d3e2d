"""`dpreg budget`: for those who keep the data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

import dpreg
from dpreg.base.errors import ArgumentError, BudgetError
from dpreg.base.text import counted
from dpreg.faces.cli.release import listed, number, pair, stratum_of
from dpreg.faces.cli.shell import BROKEN, DONE, command, needs_writable, refused

_PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Privacy budget</title></head>
<body>
{body}
</body>
</html>
"""


@click.group()
def budget() -> None:
    """Make a budget, and see who spent what.

    FILE is the ledger, which all analysts charge and none should be able to delete.  It must be
    on a local file system: locks of network file systems may not hold.
    """


@command(
    "dpreg budget new visits.ledger --eps 3 --name visits",
    "dpreg budget new visits.ledger --eps 3 --delta 1e-5 --accounting gdp",
    "dpreg budget new visits.ledger --mu 0.5",
    of=budget,
)
@click.argument("file")
@click.option("--eps", type=float, help="Total epsilon.")
@click.option("--delta", type=float, help="Total delta.  [default: 1e-5]")
@click.option("--accounting", help="How releases add up: basic, gdp or zcdp.  [default: basic]")
@click.option("--mu", type=float, help="Total mu of gdp accounting, instead of --eps.")
@click.option("--rho", type=float, help="Total rho of zcdp accounting, instead of --eps.")
@click.option("--name", default="", help="Name of the data set.")
def new(file: str, **totals: Any) -> int:
    """Make a budget in a new file."""
    if Path(file).exists():
        raise ArgumentError("FILE", f"{file!r} already exists", f"try dpreg budget show {file}")
    print(dpreg.Budget(ledger=file, **totals))
    return DONE


@command(
    "dpreg budget partition visits.ledger region=north,south",
    "dpreg budget partition visits.ledger year=2024,2025",
    "dpreg fit 'minutes ~ age' visits.parquet --eps 1 --budget visits.ledger "
    "--stratum region=north",
    of=budget,
)
@click.argument("file")
@click.argument("strata", metavar="COLUMN=A,B,...")
@click.option(
    "--text", is_flag=True, help="Read the levels as text even if they look like numbers."
)
def partition(file: str, strata: str, text: bool) -> int:
    """Divide the units by a column, permanently.

    Releases from all strata then cost as much as the most expensive stratum, not the sum, because
    each unit is in one stratum.  A unit with several of the levels, or with none, is left out.
    The levels are public, and must not be read from the data.
    """
    column, typed = pair("COLUMN=A,B,...", strata, "the name of a column and its levels")
    levels: list[Any] = listed(typed)
    numbers = [number(level) for level in levels]
    if not text and not any(isinstance(level, str) for level in numbers):
        levels = numbers
    try:
        print(dpreg.Budget.open(file).partition(column, levels))
    except ArgumentError as error:
        if error.argument != "levels":
            raise
        raise ArgumentError("COLUMN=A,B,...", error.problem) from None
    return DONE


@command("dpreg budget show visits.ledger --html report.html", of=budget)
@click.argument("file")
@click.option("--html", metavar="FILE", help="Write a report with all charges.")
@click.option("--plot", metavar="FILE", help="Plot it to a .png, .svg or .pdf file.")
def show(file: str, html: str | None, plot: str | None) -> int:
    """Say what is left, and who spent what."""
    needs_writable(html, "--html")
    needs_writable(plot, "--plot")
    if plot is not None:
        _needs_matplotlib()
    kept = dpreg.Budget.open(file)
    print(kept)
    for column in kept.partitions:
        print(kept.partition(column))
    frame = kept.to_frame()
    if len(frame):
        columns = ["eps", "delta"] if kept.accounting == "basic" else ["mu", "rho", "failure"]
        squared = frame.assign(mu=frame["mu"] ** 2)
        table = squared.groupby("user")[columns].sum().rename(columns={"mu": "mu^2"})
        table.insert(0, "charges", frame.groupby("user").size())
        print(table.to_string())
    if html is not None:
        Path(html).write_text(_PAGE.format(body=kept._repr_html_()), encoding="utf-8")
    if plot is not None:
        figure: Any = kept.plot().figure
        figure.savefig(plot)
    return DONE


def _needs_matplotlib() -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        advice = "run pip install 'dpreg[plots]'"
        raise ArgumentError("--plot", "needs matplotlib", advice) from None
    mpl.use("Agg")


@command("dpreg budget charges visits.ledger > charges.csv", of=budget)
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with costs and certificates.")
def charges(file: str, as_json: bool) -> int:
    """List the charges as CSV, or with all details as JSON."""
    kept = dpreg.Budget.open(file)
    if as_json:
        print(json.dumps([charge.to_dict() for charge in kept.charges], indent=2))
    else:
        kept.to_frame().to_csv(sys.stdout, index=False)
    return DONE


@command('dpreg budget spend visits.ledger "counts by ward, OpenDP" --eps 0.1', of=budget)
@click.argument("file")
@click.argument("label")
@click.option("--eps", type=float, help="Epsilon of the release.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta of it.")
@click.option("--mu", type=float, help="mu of a mu-GDP release, instead of --eps.")
@click.option("--stratum", metavar="COLUMN=LEVEL", help="Charge one stratum only.")
def spend(
    file: str, label: str, eps: float | None, delta: float, mu: float | None, stratum: str | None
) -> int:
    """Charge a release made elsewhere; LABEL says what it is."""
    kept = dpreg.Budget.open(file)
    payer = kept if stratum is None else stratum_of(kept, file, stratum)
    payer.spend(label, eps, delta, mu=mu)
    print(payer)
    return DONE


@command("dpreg budget verify visits.ledger --seal 5f2c...", of=budget)
@click.argument("file")
@click.option("--seal", metavar="HASH", help="Seal noted earlier; its charges must still be there.")
def verify(file: str, seal: str | None) -> int:
    """Verify the chain of hashes; exit code 1 if it is broken.

    Print the seal: keep it where those who can write FILE cannot change it.
    """
    if not Path(file).exists():
        dpreg.Budget.open(file)
    try:
        kept = dpreg.Budget.open(file)
        entries = kept.verify(seal)
    except BudgetError as error:
        refused(error)
        return BROKEN
    print(f"{counted(entries, 'entry') if entries == 1 else f'{entries:,} entries'}, whole")
    print(f"seal: {kept.seal}")
    return DONE
