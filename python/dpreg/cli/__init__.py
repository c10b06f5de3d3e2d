"""The command line."""

from dpreg.cli.commands import main

__all__ = ["main"]
