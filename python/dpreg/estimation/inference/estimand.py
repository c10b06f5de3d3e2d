"""What the coefficients of a fit estimate, and how much clipping is likely to have changed them."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Begins the name of an estimand that clipping has changed.
CLIPPED = "clipped "
# Ends it where the user gave bounds: values beyond them were clipped first, and are not counted.
_WITHIN = " within bounds"
# Standard errors; a smaller effect of clipping is negligible beside the interval.
_NEGLIGIBLE = 0.5


@dataclass(frozen=True, slots=True)
class Estimand:
    """What the coefficients estimate."""

    # Such as ``"least squares"``, or ``"clipped least squares"`` where influential rows were
    # clipped with an effect of half a standard error or more; ``"... within bounds"`` is that of
    # values clipped to the bounds that were given.
    name: str
    # row_limit, score_limit: clipping thresholds of the norms of rows and of scores (row times
    # residual), as multiples of the typical norm.
    row_limit: float | None = None
    score_limit: float | None = None
    # At most so many units had their score clipped, by two deviations of noisy counts.
    units_clipped: float | None = None
    # Largest estimated effect of clipping scores on a coefficient that has an error, in standard
    # errors, compared with the same estimand without it, of values within bounds if there are any;
    # None: not estimated, or no coefficient has an error.  Not a bound: it is what noisy counts
    # expect of clipped rows, all in one direction; a few far from all others may do more, and
    # responses of a log link that were clipped to a limit are not counted.
    # `DPResults.clipping` has it by coefficient, in the coefficient's unit.
    clipping_effect: float | None = None
    # At least so many units had their score clipped, by the same counts; 0: perhaps none had.
    surely_clipped: float | None = None

    def within_bounds(self) -> Estimand:
        """Return the same estimand, of values that were clipped to bounds."""
        return replace(self, name=self.name + _WITHIN)

    @property
    def clipped(self) -> bool:
        """Whether clipping changes the estimand by more than a negligible amount."""
        return self.name.startswith(CLIPPED)

    @property
    def effect(self) -> str:
        """The largest estimated effect, as a summary prints it; empty: no clipping."""
        if self.clipping_effect is None:
            return "unknown" if self.clipped else ""
        shown = f"{self.clipping_effect:.1f}" if self.clipping_effect >= 0.05 else "< 0.1"
        return f"{shown} std. errors"


def named(target: str, effect: float | None) -> str:
    """Name an estimand, given what is estimated without clipping and the effect of clipping."""
    negligible = effect is not None and effect < _NEGLIGIBLE
    return target if negligible else CLIPPED + target


def clipping_note(estimand: Estimand | None, response: str) -> tuple[str, ...]:
    """Return the note for a fit whose estimand was changed by clipping, if it was.

    response: as the formula has it.
    """
    if estimand is None or not estimand.clipped or estimand.clipping_effect is None:
        return ()
    target = estimand.name.removeprefix(CLIPPED)
    least_squares = target.removesuffix(_WITHIN) == "least squares"
    target = f"{'ordinary ' if least_squares else ''}{target}"
    most, least = (_rounded(n) for n in (estimand.units_clipped, estimand.surely_clipped))
    of = "influential row" if most == 1 else "influential rows"
    if estimand.surely_clipped:
        rows = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        note = f"about {rows} {of} {'was' if most == 1 else 'were'} clipped"
        note += f", so these are Huber-type estimates; {target} may differ by"
    else:
        # Fits of 2,000 normal rows say 5 standard errors, where what clipping did is below 1.
        note = f"up to about {most:,} {of} may have been clipped, perhaps none"
        note += f"; if all point in one direction, {target} differs by"
    bounded = ", not counting values clipped to bounds" if _WITHIN in target else ""
    note += (
        f" {estimand.clipping_effect:.1f} standard errors (see fit.clipping){bounded}, and by more "
        "where a few rows lie far from all others"
    )
    if estimand.surely_clipped and least_squares and response.isidentifier():
        note += f".  Heavy tails? Try log({response})"
    return (note,)


def _rounded(units: float | None) -> int:
    return max(1, round(float(f"{units or 0.0:.1e}")))
