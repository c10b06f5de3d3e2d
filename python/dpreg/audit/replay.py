"""Replays: random calls on random neighbouring tables, the second on the path of the first.

Of each pair the first fit releases what it releases; the second one is given the same released
numbers.  Each exact sum must then be as near to the other's as its sensitivity says, and all that
is not a sum must agree: which releases there are, their noise, and whatever comes out in the end.
All of that must agree for a third table too, which has nothing in common with the first: what is
computed from exact numbers in the place of noisy ones shows at once.
"""

from __future__ import annotations

import contextlib
import io
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dpreg.audit._finding import Check, Effort, each_case
from dpreg.audit.counts import counted_pair
from dpreg.audit.recorded import (
    SCORED,
    Claim,
    composed_loss,
    divided_loss,
    replayed,
    same_path,
    share_of_range,
    zcdp_loss,
)
from dpreg.audit.recordings import Leak, Recording
from dpreg.audit.replay_calls import Generator, PublicCall, one_of
from dpreg.audit.replay_models import random_classes, random_curve, random_effect, random_hazards
from dpreg.audit.replay_options import (
    boosted,
    random_adassp,
    random_auto,
    random_boosted,
    random_call,
    random_dpsgd,
    random_family,
    random_fit,
    random_frank_wolfe,
    random_moments,
    random_rare,
    random_selected,
    random_tukey,
)
from dpreg.audit.replay_report import Failure, ReplayReport, shrunk
from dpreg.audit.replay_tables import MOSTLY_ZERO, Case, random_case
from dpreg.audit.sampled_steps import moved_share, sampled_loss
from dpreg.base.families import NegativeBinomial

# Of the cases 3 of 100 are of `dp_test`.
_TESTS = 0.03
_ROUNDING = 1e-9
# Losses of sampled steps are added up on a coarse grid, which rounds them up by less.
_ADDED_UP = 1e-3
_WHOLE = "all releases of a call together, of eps"


# Label of each release, and how far it moved, as a share of its sensitivity.
Moves = list[tuple[str, float]]


def measure(case: Case) -> Moves | None:
    """Fit both tables of a case; None: the call was refused, with the same words for both.

    Raises Leak if a sum moved by more than its sensitivity, if the fits differ in anything else, or
        if the releases together may lose more than epsilon.
    """
    claim = case.call.claim
    # A call that fails says on stderr that its budget is spent.
    with contextlib.redirect_stderr(io.StringIO()):
        first, second = replayed(case.call, case.pair, case.luck)
        same_path(case.call, case.other, first)
    if first.outcome.startswith("refused"):
        if first.stages or first.calls:
            raise Leak(f"refused after a record was read: {first.outcome}")
        return None
    moves: Moves = []
    for stage, other in zip(first.stages, second.stages, strict=True):
        moved = stage.moved(other)
        moves.append((stage.label, moved / stage.mu if moved else 0.0))
    for mine, theirs in zip(first.calls, second.calls, strict=True):
        if mine.name in SCORED:
            share = share_of_range(mine, theirs)
            if share > 1 + _ROUNDING:
                raise Leak(f"scores of {mine.name} moved by {share:.6g} of their range")
            moves.append((f"scores of {mine.name}", share))
    names = {call.name for call in first.calls}
    if case.call.function == "dp_select" and claim[1] > 0:
        # Rounds may be composed by zCDP, which is audited by itself.
        return moves
    if "dpsgd" in names:
        moves.append(("gradients of sampled steps", moved_share(first, second)))
    loss = _loss_of(case, names)(first, second, claim)
    rounding = _ADDED_UP if "dpsgd" in names else _ROUNDING
    if loss > claim[0] * (1 + rounding):
        raise Leak(f"{_WHOLE}: {loss:.6g} of {claim[0]:.6g}")
    return [*moves, (_WHOLE, loss / claim[0])]


def _loss_of(case: Case, names: set[str]) -> Callable[[Recording, Recording, Claim], float]:
    if "dp_frank_wolfe" in names:
        return zcdp_loss
    if "dpsgd" in names:
        return sampled_loss
    return divided_loss if "split" in case.call.options else composed_loss


def replay(
    pairs: int = 1000,
    *,
    seconds: float = float("inf"),
    seed: int = 20260101,
    first: int = 1,
    shrink: bool = True,
    progress: Callable[[int], None] | None = None,
) -> ReplayReport:
    """Call the public functions on pairs of neighbouring tables, and compare all releases.

    Parameters
    ----------
    pairs : int, default 1000
        The number of the last one; about 20,000 an hour.
    seconds : float, optional
        Stop after so many seconds.
    seed : int
        Of calls and tables, so that a report can be repeated.
    first : int, default 1
        The number of the first pair, to go on where another replay was stopped: what a pair is
        depends on seed and number alone.
    shrink : bool, default True
        Reduce a failing pair to a small one, which takes up to half a minute.
    progress : callable, optional
        Called with the number of each pair before it is replayed.

    Returns
    -------
    ReplayReport
        Printable; `ReplayReport.holds` says whether every sum moved by its sensitivity at most and
        nothing else differed.  It stops at the first failure, which is shrunk, and when it is
        interrupted; the report is of the pairs until then.

    Examples
    --------
    >>> from dpreg.audit import replay
    >>> replay(3, seed=1).holds
    True
    """
    start = time.monotonic()
    report = ReplayReport(seed, first)
    for number in range(first, pairs + 1):
        if report.failures or time.monotonic() - start > seconds:
            break
        if progress is not None:
            progress(number)
        try:
            _add(report, number, shrink=shrink)
        except KeyboardInterrupt:
            report.interrupted = True
            break
    report.seconds = time.monotonic() - start
    return report


def _add(report: ReplayReport, number: int, *, shrink: bool) -> None:
    rng, call = drawn(report.seed, number)
    if call is None:
        lost, what = counted_pair(rng, number - 1)
        if lost > 1:
            report.failures.append(Failure(None, f"dp_test: {what}", number))
        report.add("dp_test()", {}, [("blocks with a small p-value", lost)])
        return
    case = random_case(rng, call)
    moves: Moves | None = []
    try:
        moves = measure(case)
    except Leak as leak:
        # Before it is shrunk, which may be interrupted.
        report.failures.append(Failure(case, str(leak), number))
        if shrink:
            report.failures[-1] = Failure(*shrunk(case, str(leak), _leak_of), number)
    report.add(case.call.title, case.call.options, moves)


def drawn(seed: int, number: int) -> tuple[np.random.Generator, PublicCall | None]:
    """Return the call of a pair, None for `dp_test`, and what draws its tables."""
    rng = np.random.default_rng([seed, number - 1])
    return rng, None if rng.random() < _TESTS else random_call(rng)


def _leak_of(case: Case) -> str | None:
    try:
        measure(case)
    except Leak as leak:
        return str(leak)
    return None


# At so much tables of a replay reach all stages.
_EPSILON = 100.0

Calls = Callable[[Generator], PublicCall]


def _replays(
    name: str, of: str, calls: Calls, quick: int, *, full: int = 300, delta: float = 1e-2,
    mostly_zero: float = MOSTLY_ZERO,
) -> Check:  # fmt: skip
    """A unit more, with all of its rows: no other row changes, and sums move as stated.

    quick, full: pairs of a quick audit, seven tenths of which find every mutant of tests/audit, and
        of a full one.
    """

    @each_case(name, of, "grey box", _EPSILON, delta)
    def pairs(effort: Effort) -> Iterator[tuple[float, str]]:
        for number in range(effort.first, quick if effort.scale < 1 else full):
            rng = np.random.default_rng([effort.seed, number])
            call = replace(calls(rng), claim=(_EPSILON, delta))
            try:
                moves = measure(random_case(rng, call, mostly_zero))
            except Leak as leak:
                yield math.inf, f"pair {number}, {call}: {leak}"
            else:
                if moves is not None:
                    # Losses of sampled steps are rounded up; that they are not more was seen to.
                    yield min(moves[-1][1], 1.0) * _EPSILON, str(call)

    return pairs


def _dispersed(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_glm", boosted(rng), NegativeBinomial())


def _having(calls: Calls, *names: str) -> Calls:
    """Draw calls until one has one of these options."""

    def drawn(rng: Generator) -> PublicCall:
        while True:
            call = calls(rng)
            if not call.options.keys().isdisjoint(names):
                return call

    return drawn


def _any_fit(rng: Generator) -> PublicCall:
    calls: Calls = one_of(rng, (random_adassp, random_boosted, random_family))
    return calls(rng)


_EXTRAS = ("fit_stats", "diagnostics", "weights")
CHECKS = (
    _replays("adassp", "adassp", random_adassp, 43),
    _replays("boosted_adassp", "boosted_adassp", _having(random_boosted, "inference"), 12),
    _replays("least squares", "least squares with errors", random_boosted, 30),
    _replays("families", "families", random_family, 12),
    _replays("dispersion", "dispersions of counts", _dispersed, 10, full=100),
    _replays("extras and weights", "extras and weights", _having(_any_fit, *_EXTRAS), 10),
    _replays("limits of predictions", "limits of predictions",
             _having(random_adassp, "inference"), 42),
    _replays("dpsgd", "dpsgd: what its stages ask for", random_dpsgd, 10, full=60),
    _replays("units", "units of several rows", _having(_any_fit, "unit"), 20),
    _replays("tukey", "tukey: what its stages ask for", random_tukey, 38, full=100),
    _replays("auto", "auto: what its stages ask for", random_auto, 52),
    _replays("pipelines", "selection, then a fit", random_selected, 29),
    _replays("split", "selection and fit on different units",
             _having(random_selected, "split"), 10),
    _replays("moments", "dp_moments", random_moments, 10),
    _replays("frank_wolfe", "frank_wolfe", random_frank_wolfe, 10),
    _replays("exits", "dp_curve: tables of exits and entries", random_curve, 10, delta=0.0),
    _replays("survival", "dp_survival: rows of persons and periods", random_hazards, 49),
    _replays("classes", "dp_ordinal, dp_multinomial: rows of classes", random_classes, 10),
    _replays("effects", "dp_effect: rows and scores of arms", random_effect, 25),
    _replays("effects of units", "dp_effect: units of several rows",
             _having(random_effect, "unit"), 10, full=100),
    _replays("rare columns", "columns that are mostly 0", random_rare, 42, full=100,
             mostly_zero=1.0),
)  # fmt: skip
