"""One call from its arguments to its certificate: checked, charged, run and settled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.errors import BudgetError, Options, Value, a_kind, unusable
from dpreg.base.passes import starting
from dpreg.calls.request import Request
from dpreg.data.observations import check_memory
from dpreg.data.problem import Problem, pose
from dpreg.data.roles import Weights, check_weights
from dpreg.data.source import SourceError
from dpreg.estimation.base import Allowance
from dpreg.estimation.releases.residuals import Extras
from dpreg.privacy.bits import bit_source
from dpreg.privacy.budget import DELTA, Budget
from dpreg.privacy.certificate import Certificate, Part, unit_of
from dpreg.privacy.charge import Status
from dpreg.privacy.checks import check_delta, check_epsilon
from dpreg.privacy.cost import Cost
from dpreg.privacy.partition import Partition, StratumBudget
from dpreg.version import __version__

Payer = Budget | StratumBudget

# What is public of a call on arrays.
_ARRAYS = ("number of columns", "eps, delta and all options")
_SPENT = ": the budget is spent and there is no result"
_FAILED = (
    f"the computation failed after the charge{_SPENT}.  The error may contain records and is not "
    "shown; it is shown only with a seed, whose result is not private"
)


@dataclass(frozen=True, slots=True)
class Session:
    """A call whose arguments have been checked; no record has been read."""

    request: Request
    data: Any  # As it was given.
    payer: Payer  # What is charged.
    allowance: Allowance  # All that the call may spend.
    memory: float  # Bytes that rows may take.
    weights: Weights | None

    def pose(self, formula: Any = None) -> Problem:
        """Check the formula against the schema of the data; see `dpreg.data.problem.pose`.

        formula: in place of that of the request.
        """
        asked, stratum = self.request, self.payer.stratum
        formula = asked.formula if formula is None else formula
        return pose(
            formula, self.data, asked.levels, asked.unit, stratum, self.weights, asked.bounds
        )

    def pay(self, method: str, most: Cost, max_rows: int | None = None) -> Receipt:
        """Charge the call, before a record is read.

        max_rows: the option that says how many rows a unit may give; None: there is none.
        Raises BudgetError if the budget cannot cover it; nothing is charged then.
        """
        asked, described = self.request, self.request.to_dict()
        label = f"{asked.call}({asked.formula!r}, method={method!r})"
        unit = unit_of(asked.unit)
        if asked.unit is not None and max_rows is not None:
            unit += f", max_rows={max_rows}"
        number = self.payer.account.reserve(
            label, most, self.payer.stratum, data=_described(self.data), formula=asked.formula,
            method=method, unit=unit,
        )  # fmt: skip
        return Receipt(self, number, most, described)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made before a record was read, waiting for its outcome."""

    session: Session
    number: int  # Of the charge in the ledger.
    most: Cost  # What was charged.
    # The request in plain data, before a record was read: a method of somebody else's may keep what
    # it has read.
    asked: dict[str, Any]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Say that the budget is charged, if the release is stopped or fails.

        The text, place and cause of an exception may contain records, so they are withheld, unless
        the bits are from a seed, whose results are not private either.

        Raises KeyboardInterrupt, MemoryError and RuntimeError, each with a fixed text, and a
            `SourceError` with its own.
        """
        try:
            starting()
            # What numpy warns of is about a cell, and raises where the caller has asked for that.
            with np.errstate(all="ignore"):
                yield
            return
        except KeyboardInterrupt:
            failure: BaseException = KeyboardInterrupt()
            failure.add_note(f"dpreg: stopped after the charge{_SPENT}")
        except SourceError as error:  # which says so itself
            failure = SourceError(*error.args)
        except MemoryError:
            # numpy says what the shape was to be, and so how many rows there are.
            failure = MemoryError("there is not enough memory")
            failure.add_note(f"dpreg: this failed after the charge{_SPENT}")
        except BaseException as error:  # a panic of polars is no Exception
            if self.session.allowance.bits.seeded and isinstance(error, Exception):
                error.add_note(f"dpreg: this failed after the charge{_SPENT}")
                raise
            failure = RuntimeError(_FAILED)
        try:
            raise failure
        finally:
            # Of the caller, who handles what was put away, and `from None` would leave it there.
            failure.__context__ = None

    def settle(
        self,
        mechanism: str,
        composition: str,
        parts: tuple[Part, ...],
        public: tuple[str, ...],
        *,
        declined: bool = False,
        paid: Cost | None = None,
    ) -> tuple[Certificate, tuple[str, ...]]:
        """Record the outcome of the release, and its final cost, in the ledger.

        Returns: a note for the result if the ledger can no longer be written: a result that was
        paid for must not be lost, and the charge stays as it was.
        """
        session = self.session
        privacy = certified(
            session.allowance, mechanism, composition, parts, public, session.request.unit,
            self.asked,
        )  # fmt: skip
        # Of two bounds the first is as good, if the second is not below it throughout.
        cost = paid if paid is not None and paid.within(self.most) else self.most
        status: Status = "declined" if declined else "released"
        document = json.dumps(privacy.to_dict())
        try:
            session.payer.account.settle(self.number, status, cost, document)
        except BudgetError as error:
            return privacy, (
                f"the ledger has the charge but could not record the outcome: {error}",
            )
        return privacy, ()


def begin(request: Request, data: Any) -> Session:
    """Check the arguments of a call that do not depend on its method or data."""
    epsilon = check_epsilon(request.eps)
    payer, delta = _budget_for(request.budget, epsilon, request.delta)
    for name in ("inference", "fit_stats", "diagnostics"):
        if not isinstance(value := getattr(request, name), (bool, np.bool_)):
            raise unusable(name, "True or False", value)
    memory, bits = check_memory(request.memory), bit_source(request.rng)
    weights = check_weights(request.weights, request.weight_limit)
    extras = Extras(request.fit_stats, request.diagnostics)
    return Session(request, data, payer, Allowance(epsilon, delta, bits, extras), memory, weights)


def certified(
    allowance: Allowance,
    mechanism: str,
    composition: str,
    parts: tuple[Part, ...],
    public: tuple[str, ...] = _ARRAYS,
    unit: str | None = None,
    asked: dict[str, Any] | None = None,
) -> Certificate:
    """Return the certificate of a release that spent its whole allowance."""
    start = allowance.start
    return Certificate(
        mechanism=mechanism,
        epsilon=allowance.epsilon,
        delta=allowance.delta,
        unit=unit_of(unit),
        composition=composition,
        parts=parts,
        public=public,
        seeded=allowance.bits.seeded or (start is not None and start.seeded),
        version=__version__,
        request=asked or {},
    )


def _budget_for(budget: object, epsilon: float, delta: float | None) -> tuple[Payer, float]:
    """Return the budget that a call is charged to, one of its own if there is none; and delta."""
    if budget is None:
        delta = check_delta(DELTA if delta is None else delta)
        return Budget(epsilon, delta), delta
    if isinstance(budget, Partition):
        level = next(iter(budget))
        problem = ("must be that of one level, such as ", Value(level), f" of {budget.column!r}")
        raise BudgetError("budget", problem)
    if not isinstance(budget, Payer):
        example = Options("budget", "", "Budget", {"eps": 2.0, "delta": 1e-5})
        given = f", not {a_kind(budget)}"
        # A path, unless it is so long that it may be of something else.
        opened = "open the ledger: budget=dpreg.Budget.open(path)"
        advice = [opened] if isinstance(budget, (str, os.PathLike)) else []
        raise BudgetError("budget", ("must be a budget, such as ", example, given), *advice)
    if delta is None:
        # A budget without delta is to say itself that it has none.
        delta = budget.delta_for(epsilon) or DELTA
    return budget, check_delta(delta)


def _described(data: object) -> str:
    """Return the path of a file, and the type of anything else."""
    if isinstance(data, (str, os.PathLike)):
        return os.path.abspath(os.fsdecode(data))
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"
