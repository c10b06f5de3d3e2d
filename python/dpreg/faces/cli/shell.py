"""What commands are made of: exit codes, help, and where results go."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from dpreg.base.errors import ArgumentError
from dpreg.base.passes import progress
from dpreg.faces.cli.words import in_shell, shell

Command = Callable[..., Any]

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
# Seconds before the progress of long work is shown.
_PATIENCE = 2.0


class Documented(click.Command):
    """A command whose help has examples, and a section that is put together when it is read."""

    examples: Sequence[str]
    details: tuple[str, Callable[[], str]] | None  # Title and text.

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write details and examples."""
        if self.details is not None:
            title, text = self.details
            with formatter.section(title):
                for paragraph in text().split("\n\n"):
                    formatter.write_text(paragraph)
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    for line in _folded(example):
                        formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def command(
    *examples: str,
    name: str | None = None,
    of: click.Group | None = None,
    details: tuple[str, Callable[[], str]] | None = None,
) -> Callable[[Command], click.Command]:
    """Return a decorator that makes a `Documented` command, in a group if there is one."""

    def decorate(function: Command) -> click.Command:
        made = click.command(name, cls=Documented)(function)
        made.examples, made.details = examples, details
        if of is not None:
            of.add_command(made)
        return made

    return decorate


def option(name: str, kind: Any, text: str, **more: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds an option of a kind of values; its default is shown."""
    return click.option(f"--{name}", type=kind, help=text, show_default="default" in more, **more)


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


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files that a result goes to; ``-`` is the standard output, and then nothing else is there."""

    json: str | None
    html: str | None
    latex: str | None
    quiet: bool

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Take what `output_options` added out of the options of a command.

        Refuses files that cannot be written, before anything is charged.
        """
        for name in ("json", "html", "latex"):
            needs_writable(given[name], f"--{name}")
        return cls(**{name: given.pop(name) for name in ("json", "html", "latex", "quiet")})

    def tell(self, result: Any, summary: Any, code: int) -> int:
        """Write and print what was paid for; if one output fails, the others are still made."""
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
    command = click.option("--quiet", is_flag=True, help="Do not print the table.")(command)
    written = {"latex": "table as LaTeX", "html": "table as HTML", "json": "whole result as JSON"}
    for name, what in written.items():
        text = f"Write the {what}; - for standard output."
        command = click.option(f"--{name}", metavar="FILE", help=text)(command)
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
    text = error.told(shell) if isinstance(error, ArgumentError) else str(error)
    print(f"dpreg: {text}", file=sys.stderr)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show `text`, passes over the rows and the time on stderr, after two seconds, on a terminal.

    Of how far the work has come, `dpreg.base.passes` says what may be shown.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(text, total=None)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        with progress(lambda found: bar.update(task, description=f"{text}, {found}")):
            yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def release_and_tell(
    call: Callable[..., Any], given: dict[str, Any], outputs: Outputs, doing: str = "fitting"
) -> int:
    """Make a release, and print its outcome.

    given: arguments of `call`; ``alpha`` and ``exp``, if they are there, are those of the table.
    """
    from dpreg.estimation.inference.law import check_alpha

    shown = {name: given.pop(name) for name in ("alpha", "exp") if name in given}
    if "alpha" in shown:
        check_alpha(shown["alpha"])
    with working(doing):
        found = call(**given)
    if not found.released:
        return outputs.tell(found, found.summary(shell), DECLINED)
    return outputs.tell(found, in_shell(found.summary(**shown)), DONE)
