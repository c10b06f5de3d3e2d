"""Help that ends with examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click


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
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")
