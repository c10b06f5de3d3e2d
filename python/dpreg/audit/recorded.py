"""Fits of two neighbours in which every released number is made to agree.

Each release of the first fit is recorded and handed to the second one, so that both take the
same public path.  On it the losses of the stages can be measured one by one, and what comes
out in the end must be the same: it is a function of what was released.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpreg import _core
from dpreg.audit.recordings import AS_DRAWN, Call, Leak, Luck, Recording
from dpreg.audit.replay_calls import PublicCall
from dpreg.audit.watches import watching
from dpreg.audit.worlds import Tables
from dpreg.privacy.gdp import gdp_epsilon
from dpreg.privacy.zcdp import bounded_range_rho, pure_rho, zcdp_epsilon

# epsilon and delta
Claim = tuple[float, float]


def replayed(call: PublicCall, pair: Tables, luck: Luck = AS_DRAWN) -> tuple[Recording, Recording]:
    """Fit both sides of a pair, the second on the path of the first.

    luck: which noise the first fit draws.
    Raises Leak if the outcomes differ, if a stage is missing on one side, if public parameters of a
        mechanism differ, or if either fit raises or warns.
    """
    first = _recorded(call, pair[0], luck, None)
    second = _recorded(call, pair[1], luck, first)
    _compare_paths(first, second)
    _compare_sums(first, second)
    return first, second


def same_path(call: PublicCall, table: pd.DataFrame, first: Recording) -> None:
    """Fit any other table on the path of the first: what comes out is a function of the path.

    Raises Leak if anything but the sums differs.
    """
    _compare_paths(first, _recorded(call, table, first.luck, first))


def _recorded(
    call: PublicCall, table: pd.DataFrame, luck: Luck, script: Recording | None
) -> Recording:
    here = Recording(luck)
    with warnings.catch_warnings(), watching(here, script):
        warnings.simplefilter("error")
        try:
            here.outcome = call(table, _core.TestBits(7))
        except Leak:
            raise
        except Exception as error:
            raise Leak(f"{type(error).__name__}: {error}") from error
    return here


def _compare_paths(first: Recording, second: Recording) -> None:
    """Check that all but the sums agree."""
    if len(first.stages) != len(second.stages) or len(first.calls) != len(second.calls):
        raise Leak("the neighbours took different numbers of stages")
    for mine, theirs in zip(first.calls, second.calls, strict=True):
        if mine.public != theirs.public:
            raise Leak(f"public parameters of {mine.name} differ: {mine.public}, {theirs.public}")
    for stage, other in zip(first.stages, second.stages, strict=True):
        if (stage.label, stage.mu) != (other.label, other.mu):
            raise Leak(f"{stage.label} at mu {stage.mu!r}, and {other.label} at mu {other.mu!r}")
        if not np.array_equal(stage.scales, other.scales):
            raise Leak(f"{stage.label}: scales of the noise differ")
    if first.outcome != second.outcome:
        lines = zip(first.outcome.splitlines(), second.outcome.splitlines(), strict=False)
        said = next((f"{a.strip()} and {b.strip()}" for a, b in lines if a != b), "length")
        raise Leak(f"no function of what was released: {said}")


def _compare_sums(first: Recording, second: Recording) -> None:
    """Check that no sum of neighbours moved by more than its sensitivity."""
    for stage, other in zip(first.stages, second.stages, strict=True):
        if stage.moved(other) > stage.mu * (1 + 1e-9):
            raise Leak(
                f"{stage.label}: a release of mu {stage.mu:.6g} moved by {stage.moved(other):.6g}"
            )
    for before, after in zip(first.models, second.models, strict=True):
        changed = int((before != after).any(axis=1).sum())
        if changed > 1:
            raise Leak(f"one unit changed {changed} models")


def composed_loss(first: Recording, second: Recording, claim: Claim) -> float:
    """Loss at delta of all stages together: pure ones added up, Gaussian ones composed.

    A range or a sensitivity counts by what the unit moves.  What a test or a draw is told
    that it may lose counts as it is, its law being audited elsewhere.

    Raises Leak if what the stages are told that they may lose is more than the claim.
    """
    failure = math.fsum(_told(call)[1] for call in first.calls)

    def added_up(pure: float, mu: float) -> float:
        if failure > claim[1]:
            return math.inf
        return pure + (gdp_epsilon(mu, claim[1] - failure) if mu > 0 else 0.0)

    account = added_up(*_may_lose(first))
    if account > claim[0] * (1 + 1e-9):
        raise Leak(f"the stages may lose {account:.6g} together")
    return added_up(_used(first, second), first.mu_against(second))


def divided_loss(first: Recording, second: Recording, claim: Claim) -> float:
    """Loss where selection and fit see different units: the larger one, the other being 0."""
    pure, spent = _may_lose(first)
    if max(pure, gdp_epsilon(spent, claim[1])) > claim[0] * (1 + 1e-9):
        raise Leak(f"selection and fit may lose {pure:.6g} and a mu of {spent:.6g}")
    of_selection, mu = _used(first, second), first.mu_against(second)
    if of_selection > 0 and mu > 0:
        raise Leak("the unit is used for the selection and for the fit")
    return max(of_selection, gdp_epsilon(mu, claim[1]))


def zcdp_loss(first: Recording, second: Recording, claim: Claim) -> float:
    """Loss at delta of all stages together, by zero-concentrated privacy."""
    rho = pure_rho(first.mu_against(second))
    if [call.name for call in first.calls] != ["L1Gradient", "dp_frank_wolfe"]:
        raise Leak("one run of Frank-Wolfe was expected")
    start, run = first.calls
    public, found = run.public, run.result
    gradients = [recording.calls[0].private() for recording in (first, second)]
    active: NDArray[np.uint8] = np.ones(len(gradients[0].values()), dtype=np.uint8)
    screened = dict(zip(found["screened"], found["screened_at"], strict=True))
    for step, vertex in enumerate(found["path"], start=1):
        change = np.abs(gradients[0].values() - gradients[1].values())[active > 0]
        # Of +l1 e_j the score changes by as much as that of -l1 e_j, the other way.
        used = 2 * float(change.max()) / _core.vertex_score_range(start.public["l1"])
        rho += bounded_range_rho(used * public["epsilon_step"])
        for gradient in gradients:
            gradient.step(abs(int(vertex)) - 1, vertex > 0)
        for after in public["after"]:
            if after == step:
                rho += _screening_rho(gradients, active, public["epsilon_screen"])
        for column, when in screened.items():
            if when == step:
                active[column] = 0
                for gradient in gradients:
                    gradient.drop(int(column))
    return zcdp_epsilon(rho, claim[1])


def _screening_rho(gradients: list[Any], active: NDArray[np.uint8], epsilon: float) -> float:
    scores = [_core.screening_scores(gradient, active)[active > 0] for gradient in gradients]
    change = np.append(scores[1] - scores[0], 0.0)  # that of the dummy
    return bounded_range_rho(epsilon * float(np.ptp(change)) / _core.SCREENING_RANGE)


def _may_lose(recording: Recording) -> tuple[float, float]:
    """Return what all calls are told that they may lose, and the mu of all stages together."""
    told = math.fsum(_told(call)[0] for call in recording.calls)
    return told, math.sqrt(math.fsum(stage.mu**2 for stage in recording.stages))


def _used(first: Recording, second: Recording) -> float:
    """Return how much of what they are told all calls lose."""
    calls = zip(first.calls, second.calls, strict=True)
    return math.fsum(_told(mine)[0] * _share_used(mine, theirs) for mine, theirs in calls)


def _told(call: Call) -> tuple[float, float]:
    """Return epsilon and delta of one call, for the ranges that the proofs give."""
    public = call.public
    if call.name == "tukey_em":
        draw = 0.0 if call.result is None else public["epsilon_sample"]
        return public["epsilon_test"] + draw, public["delta"]
    if call.name == "dp_kendall":
        ranges = [_core.KENDALL_LABEL_RANGE / public["first_range"]]
        ranges += [_core.KENDALL_SCORE_RANGE / public["later_range"]] * (public["k"] - 1)
        return public["epsilon_round"] * sum(ranges), 0.0
    if call.name in SCORED:
        return public["epsilon"], 0.0
    if call.name in ("assign_to_slots", "assign_independently"):
        return 0.0, 0.0
    raise Leak(f"{call.name} has no account here")


# Calls of which `share_of_range` can be asked.
SCORED = ("peel", "canonical_lipschitz", "sub_lasso", "dp_kendall", "noisy_counts")


def _share_used(mine: Call, theirs: Call) -> float:
    """Return how much of the range that the noise is made for the scores use."""
    if mine.name == "dp_kendall":
        return 0.0 if np.array_equal(mine.private, theirs.private) else 1.0
    return share_of_range(mine, theirs) if mine.name in SCORED else 1.0


def share_of_range(mine: Call, theirs: Call) -> float:
    """Return the range of the changes of all scores, as a share of what the noise is made for.

    Of counts it is the sum of all changes.
    """
    if mine.name == "noisy_counts":
        return float(np.abs(theirs.private - mine.private).sum()) / float(mine.public["most"])
    if mine.name == "dp_kendall":
        change = theirs.private - mine.private
        shares = [np.ptp(change[-1, :-1]) / mine.public["first_range"]]
        for chosen in range(len(change) - 1 if mine.public["k"] > 1 else 0):
            later = np.delete(change[-1] - change[chosen], [chosen, len(change) - 1])
            shares.append(np.ptp(later) / mine.public["later_range"] if len(later) else 0.0)
        return float(max(shares))
    made_for = float(mine.public.get("range", _core.VOTE_RANGE))
    return float(np.ptp(mine.private - theirs.private)) / made_for
