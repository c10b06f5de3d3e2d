"""`dpreg audit`."""

from __future__ import annotations

import sys

import click

from dpreg.cli.codes import BROKEN, DONE

__all__ = ["audit"]


@click.command()
@click.option("--full", is_flag=True, help="Run the full audit, which takes minutes.")
@click.option(
    "--seed", type=int, default=20260101, show_default=True, help="Random seed of the runs."
)
def audit(full: bool, seed: int) -> int:
    """Check the privacy claims of this installation; exit code 1 if one is broken."""
    from dpreg.audit import audit

    report = audit(
        full=full,
        seed=seed,
        progress=lambda name: print(f"dpreg: {name}", file=sys.stderr),
    )
    print(report)
    return DONE if report.holds else BROKEN
