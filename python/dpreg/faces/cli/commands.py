"""All commands, and the meaning of their exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from dpreg.base.errors import told
from dpreg.base.keywords import meant_by
from dpreg.faces.cli import fit, free, models
from dpreg.faces.cli.audit import audit
from dpreg.faces.cli.budget import budget
from dpreg.faces.cli.demo import demo_command
from dpreg.faces.cli.shell import CUT_OFF, FAILED, INTERRUPTED, REFUSED, refused
from dpreg.faces.cli.words import know_options, shell
from dpreg.version import __version__

_EPILOG = """\
Exit codes: 0 done; 1 an audit or a ledger check failed; 2 refused, nothing charged; 3 the
mechanism declined, and the budget is charged; 4 failed after the charge; 130 interrupted,
possibly charged.

Completion: put  eval "$(_DPREG_COMPLETE=bash_source dpreg)"  into ~/.bashrc; zsh_source and
fish_source likewise.
"""


class Commands(click.Group):
    """All of them; click itself would make an error of a reader that went away."""

    def invoke(self, ctx: click.Context) -> int:
        """Run one command and return its exit code."""
        try:
            code: int = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Nothing may be written to a pipe that was closed, not even when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return CUT_OFF
        return code


@click.group(cls=Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpreg", message="%(prog)s %(version)s")
def dpreg() -> None:
    """Differentially private regression: a formula, a table and an epsilon."""


for _command in (
    fit.fit, fit.glm, models.ordinal, models.multinomial, models.survival, models.moments, free.lm,
    fit.select, models.block_test, models.curve, models.effect, free.predict, free.plan, budget,
    audit, demo_command,
):  # fmt: skip
    dpreg.add_command(_command)
know_options(dpreg)


def _hint(error: click.NoSuchOption) -> None:
    """Return the name that an option of another package, or of Python, has here."""
    known = [] if error.ctx is None else [str(option.name) for option in error.ctx.command.params]
    name = error.option_name.lstrip("-").replace("-", "_")
    advice = meant_by(name, known)
    if error.ctx is not None:
        advice = _ELSEWHERE.get((str(error.ctx.info_name), name), advice)
    if advice is not None:
        print(f"dpreg: {error.option_name}: {told(advice, shell)}", file=sys.stderr)


# Of an option that another command has.
_ELSEWHERE = {
    ("lm", "eps"): "saved moments cost nothing; for a table write dpreg fit",
    ("fit", "family"): "write dpreg glm, which has families",
    **dict.fromkeys(
        (("fit", "quantile"), ("fit", "tau")), "write dpreg glm --family quantile --option q=0.9"
    ),
}
_EXAMPLES = {
    "eps": "--eps 1, a common choice; smaller is more private, or see dpreg plan",
    "cuts": "--cuts 90,180,365, in the units of the times", "k": "--k 5", "d": "--d 10",
    "treatment": "--treatment arm", "data": "the path of a Parquet file after the formula",
    "formula": "the formula first, in quotes: 'y ~ x'",
    "fit": "the path of a saved fit first, such as fit.json",
    "moments": "the path of saved moments first, such as moments.json",
    "new": "the path of a Parquet file after that of the fit",
}  # fmt: skip


def _missing(error: click.MissingParameter) -> None:
    """Say what to write for an argument that is missing."""
    option = isinstance(error.param, click.Option)
    shown = None if error.param is None or option else error.param.metavar
    name = (shown or "").lower() or ("" if error.param is None else str(error.param.name))
    if name in _EXAMPLES:
        label = f"--{name}" if option else name.upper()
        print(f"dpreg: {label}: write {_EXAMPLES[name]}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        code: int = dpreg.main(arguments, prog_name="dpreg", standalone_mode=False)
    except click.NoSuchOption as error:
        error.show()
        _hint(error)
        return REFUSED
    except click.ClickException as error:
        error.show()
        if isinstance(error, click.MissingParameter):
            _missing(error)
        if "~" in (sys.argv[1:] if arguments is None else arguments):
            print("dpreg: FORMULA: write it in quotes: 'y ~ x'", file=sys.stderr)
        elif "unexpected extra" in error.format_message():
            print("dpreg: write the values of an option as one: --cuts 90,180", file=sys.stderr)
        return REFUSED
    except click.Abort as stop:
        for note in getattr(stop.__cause__, "__notes__", ()):
            print(note, file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        # With a note: of a release from a seed, after the charge.
        if isinstance(error, (ValueError, RuntimeError)) and not hasattr(error, "__notes__"):
            refused(error)
            return REFUSED if isinstance(error, ValueError) else FAILED
        # Of dpreg itself: to be seen whole, and to be told from a ledger that does not hold.
        traceback.print_exc()
        return FAILED
    return code
