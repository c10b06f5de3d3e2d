"""The command line: arguments in, one call, text out.

Exit codes: 0 released, 1 an audit found a broken claim, 2 wrong use, 3 not released, 4 released
but not written to --json, 141 the reader of the output went away (as for any SIGPIPE).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpreg import Budget, DPResults, NotReleased, SelectionResult

from dpreg.cli.progress import working
from dpreg.cli.shell import close_quietly, in_shell, needs_writable

__all__ = ["main"]

RELEASED, CLAIM_BROKEN, WRONG_USE, NOT_RELEASED, NOT_WRITTEN, CUT_OFF = 0, 1, 2, 3, 4, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except ValueError as error:
        print(f"dpreg: {in_shell(str(error))}", file=sys.stderr)
        return WRONG_USE
    except BrokenPipeError:
        close_quietly()
        return CUT_OFF
    return code


def _parser() -> argparse.ArgumentParser:
    from dpreg import __version__

    parser = argparse.ArgumentParser(
        prog="dpreg", description="Differentially private linear regression."
    )
    parser.add_argument("--version", action="version", version=f"dpreg {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_fit(commands)
    _add_select(commands)
    _add_predict(commands)
    _add_plan(commands)
    demo = commands.add_parser("demo", help="fit the diamonds that come with the package")
    demo.set_defaults(run=_demo)
    audit = commands.add_parser("audit", help="check the privacy claims of this installation")
    audit.add_argument("--full", action="store_true", help="take minutes instead of seconds")
    audit.add_argument("--seed", type=int, default=20260101, help="of the runs (%(default)s)")
    audit.set_defaults(run=_audit)
    return parser


def _add_fit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fit = commands.add_parser("fit", help="fit a model to a Parquet file")
    fit.add_argument("formula", help="such as 'price ~ carat + cut'")
    fit.add_argument("data", help="path of a Parquet file")
    fit.add_argument("--eps", type=float, required=True, help="privacy loss in nats")
    fit.add_argument("--delta", type=float, default=1e-5, help="failure probability (%(default)s)")
    fit.add_argument(
        "--method",
        default="auto",
        help="auto, boosted_adassp, adassp, tukey, dpsgd, frank_wolfe (%(default)s)",
    )
    fit.add_argument("--select", help="choose columns first: kendall, two_stage, sub_lasso or sis")
    fit.add_argument("--k", type=int, help="how many columns --select keeps")
    fit.add_argument("--split", type=float, help="share of the units for --select alone")
    _add_common(fit)
    fit.add_argument("--no-inference", action="store_true", help="release coefficients only")
    fit.set_defaults(run=_fit)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--unit", help="column that names the protected unit")
    command.add_argument(
        "--levels",
        action="append",
        default=[],
        metavar="COLUMN=A,B,...",
        help="public levels of a text column; may be given several times",
    )
    command.add_argument(
        "--bounds",
        action="append",
        default=[],
        metavar="COLUMN=LOW,HIGH",
        help="public bounds of a column or of the response, for sis",
    )
    command.add_argument("--ledger", help="file that keeps a budget over many calls")
    command.add_argument("--total-eps", type=float, help="epsilon of the ledger")
    command.add_argument("--total-delta", type=float, default=1e-5, help="delta of the ledger")
    command.add_argument("--json", metavar="FILE", help="write the result to this file")


def _add_select(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    select = commands.add_parser("select", help="choose columns of a Parquet file")
    select.add_argument("formula", help="such as 'price ~ .'")
    select.add_argument("data", help="path of a Parquet file")
    select.add_argument("--k", type=int, required=True, help="how many columns")
    select.add_argument("--eps", type=float, required=True, help="privacy loss in nats")
    select.add_argument(
        "--delta", type=float, default=0.0, help="failure probability (%(default)s)"
    )
    select.add_argument(
        "--method", default="kendall", help="kendall, two_stage, sub_lasso or sis (%(default)s)"
    )
    _add_common(select)
    select.set_defaults(run=_select)


def _add_predict(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    predict = commands.add_parser("predict", help="predict with a saved model, as CSV")
    predict.add_argument("model", help="file written by dpreg fit --json")
    predict.add_argument("data", help="path of a Parquet file; it is not protected")
    predict.set_defaults(run=_predict)


def _add_plan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plan = commands.add_parser("plan", help="say what to expect, before any data is touched")
    plan.add_argument("--rows", type=int, required=True, help="number of units, as far as public")
    plan.add_argument("--features", type=int, required=True, help="number of regressors")
    plan.add_argument("--eps", type=float, required=True, help="privacy loss in nats")
    plan.add_argument("--delta", type=float, default=1e-5, help="failure probability (%(default)s)")
    plan.add_argument("--method", default="auto", help="(%(default)s)")
    plan.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> int:
    from dpreg import dp_plan

    print(
        dp_plan(options.rows, options.features, options.eps, options.delta, method=options.method)
    )
    return RELEASED


def _fit(options: argparse.Namespace) -> int:
    from dpreg import dp_lm

    needs_writable(options.json, "--json")
    selector = _selector(options.select, options, "--select")
    with working("fitting"):
        fit = dp_lm(
            options.formula,
            options.data,
            options.eps,
            options.delta,
            method=options.method,
            select=selector,
            k=options.k,
            split=options.split,
            levels=_levels(options.levels),
            unit=options.unit,
            budget=_budget(options),
            inference=not options.no_inference,
        )
    return _tell(fit, options.json, RELEASED if fit.released else NOT_RELEASED)


def _select(options: argparse.Namespace) -> int:
    from dpreg import dp_select

    needs_writable(options.json, "--json")
    selector = _selector(options.method, options, "--method")
    with working("choosing columns"):
        found = dp_select(
            options.formula,
            options.data,
            options.k,
            options.eps,
            options.delta,
            method=selector,
            levels=_levels(options.levels),
            unit=options.unit,
            budget=_budget(options),
        )
    return _tell(found, options.json, RELEASED)


def _selector(name: str | None, options: argparse.Namespace, option: str) -> Any:
    if name != "sis":
        if options.bounds:
            raise ValueError(f"--bounds is for {option} sis only; add that, or leave it out")
        return name
    from dpreg import DPSIS

    return DPSIS(bounds=_bounds(options.bounds))


def _budget(options: argparse.Namespace) -> Budget | None:
    from dpreg import Budget

    if options.ledger is None:
        return None
    if options.total_eps is None:
        raise ValueError("--ledger needs --total-eps, the epsilon of the whole ledger")
    return Budget(options.total_eps, options.total_delta, ledger=options.ledger)


def _tell(result: DPResults | NotReleased | SelectionResult, path: str | None, code: int) -> int:
    """Write and print what was paid for: whatever fails, nothing of it is lost."""
    document, failure = result.to_json(), None
    if path is not None:
        try:
            Path(path).write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            failure = f"--json: cannot write {path!r}: {error.strerror}; it is printed instead"
    text = str(result.summary())
    print(text.replace("inference=False", "--no-inference"))
    if failure is None:
        return code
    print(document)
    print(f"dpreg: {failure}", file=sys.stderr)
    return NOT_WRITTEN


def _bounds(declarations: Sequence[str]) -> dict[str, tuple[float, float]]:
    bounds = {}
    for declaration in declarations:
        column, _, values = declaration.rpartition("=")
        try:
            low, high = (float(v) for v in values.split(","))
        except ValueError:
            raise ValueError(f"--bounds must be COLUMN=LOW,HIGH, got {declaration!r}") from None
        bounds[column] = (low, high)
    return bounds


def _levels(declarations: Sequence[str]) -> dict[str, list[str]]:
    levels = {}
    for declaration in declarations:
        column, equals, values = declaration.partition("=")
        if not equals:
            raise ValueError(f"--levels must be COLUMN=A,B,..., got {declaration!r}")
        levels[column] = values.split(",")
    return levels


def _predict(options: argparse.Namespace) -> int:
    from dpreg import DPResults

    try:
        text = Path(options.model).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"cannot read {options.model!r}: {error.strerror}") from None
    prediction = DPResults.from_json(text).predict(options.data)
    prediction.to_csv(sys.stdout, index=False)
    return RELEASED


def _demo(options: argparse.Namespace) -> int:
    from dpreg.cli.demo import demo

    return RELEASED if demo(sys.stdout) else NOT_RELEASED


def _audit(options: argparse.Namespace) -> int:
    from dpreg.audit import audit

    report = audit(
        full=options.full,
        seed=options.seed,
        progress=lambda name: print(f"dpreg: {name}", file=sys.stderr),
    )
    print(report)
    return RELEASED if report.holds else CLAIM_BROKEN
