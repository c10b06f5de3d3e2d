"""What commands are made of: help that ends with examples, and exit codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

DONE = 0
# An audit found a broken claim, or a ledger is not what it was.
BROKEN = 1
# Wrong use: nothing was read and nothing charged.
REFUSED = 2
# The mechanism did not release; the charge was made.
DECLINED = 3
# The charge was made, and then a source could not be read or a result not be written; or there
# was no entropy.
FAILED = 4
# The reader of the output went away, as for any SIGPIPE.
CUT_OFF = 141
# Somebody pressed Ctrl-C; a charge that was made stays.
INTERRUPTED = 130

# Characters in a line of an example, without its margin.
_WIDEST = 90


class Documented(click.Command):
    """A command whose help has examples, and a section that is put together when it is read.

    Parameters
    ----------
    details : tuple of str and callable, optional
        Title and text.
    """

    def __init__(
        self,
        *arguments: Any,
        examples: Sequence[str] = (),
        details: tuple[str, Callable[[], str]] | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._examples = examples
        self._details = details

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write details and examples."""
        if self._details is not None:
            title, text = self._details
            with formatter.section(title):
                for paragraph in text().split("\n\n"):
                    formatter.write_text(paragraph)
        if self._examples:
            with formatter.section("Examples"):
                for example in self._examples:
                    for line in _folded(example):
                        formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def _folded(example: str) -> list[str]:
    """Return the lines of an example, which a shell reads as one; options stay whole."""
    first, *options = example.split(" --")
    lines = [first]
    for option in (f" --{option}" for option in options):
        if len(lines[-1]) + len(option) > _WIDEST:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += option
    return lines
