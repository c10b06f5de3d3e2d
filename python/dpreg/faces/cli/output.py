"""Where results go: to a terminal, to files, and never nowhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.command import FAILED
from dpreg.faces.cli.face import SHELL

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files that a result goes to; ``-`` is the standard output, and then nothing else is there."""

    json: str | None
    html: str | None
    latex: str | None
    quiet: bool

    @classmethod
    def of(cls, given: dict[str, Any]) -> Outputs:
        """Take what `output_options` added out of the options of a command.

        Refuses files that cannot be written, before anything is charged.
        """
        for name in ("json", "html", "latex"):
            needs_writable(given[name], f"--{name}")
        return cls(**{name: given.pop(name) for name in ("json", "html", "latex", "quiet")})

    def tell(self, result: Any, summary: Any, code: int) -> int:
        """Write and print what was paid for: whatever fails, nothing of it is lost."""
        document, failures, piped = result.to_json(), [], False
        for name, text in (("json", lambda: document), ("html", summary.as_html),
                           ("latex", summary.as_latex)):  # fmt: skip
            path = getattr(self, name)
            if path == "-":
                print(text())
                piped = True
            elif path is not None:
                try:
                    Path(path).write_text(text() + "\n", encoding="utf-8")
                except OSError as error:
                    failures.append(f"--{name}: cannot write {path!r}: {error.strerror}")
        if not (self.quiet or piped):
            print(summary)
        if not failures:
            return code
        if not piped:
            print(document)
        print(f"dpreg: {'; '.join(failures)}; the result is printed as JSON", file=sys.stderr)
        return FAILED


def output_options(command: Command) -> Command:
    """Add the options that say where a result goes."""
    for option in (
        click.option("--quiet", is_flag=True, help="Do not print the table."),
        click.option(
            "--latex", metavar="FILE", help="Write the table as LaTeX; - for standard output."
        ),
        click.option(
            "--html", metavar="FILE", help="Write the table as HTML; - for standard output."
        ),
        click.option(
            "--json", metavar="FILE", help="Write the whole result as JSON; - for standard output."
        ),
    ):
        command = option(command)
    return command


def needs_writable(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written, and leave it as it was."""
    if path is None or path == "-":
        return
    new = not os.path.lexists(path)
    try:
        with open(path, "a", encoding="utf-8"):
            pass
        if new:
            os.unlink(path)
    except OSError as error:
        raise ArgumentError(option, f"cannot write {path!r}: {error.strerror}") from None


def refused(error: Exception) -> None:
    """Print a refusal in the words of the shell."""
    text = error.told(SHELL) if isinstance(error, ArgumentError) else str(error)
    print(f"dpreg: {text}", file=sys.stderr)


def close_quietly() -> None:
    """Let nothing be written to a pipe that was closed, not even when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
