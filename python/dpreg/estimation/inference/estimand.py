"""What the coefficients of a fit estimate, and how much clipping is likely to have changed them."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Begins the name of an estimand of which scores or rows are clipped.
CLIPPED = "clipped "
# Ends it if the user gave bounds: values beyond them were clipped first, and are not counted.
_WITHIN = " within bounds"
# Standard errors; a smaller effect of clipping is negligible beside the interval.
_NEGLIGIBLE = 0.5


@dataclass(frozen=True, slots=True)
class Estimand:
    """What the coefficients estimate."""

    # Such as ``"clipped least squares"``, where influential rows and scores are clipped as in a
    # Huber regression; ``"... within bounds"`` is that of values clipped to the bounds that were
    # given.
    name: str
    # row_limit, score_limit: clipping thresholds of the norms of rows and of scores (row times
    # residual), as multiples of the typical norm.
    row_limit: float | None = None
    score_limit: float | None = None
    # At most so many units had their score clipped, by two deviations of noisy counts.
    units_clipped: float | None = None
    # Largest estimated effect of clipping scores on a coefficient that has an error, in standard
    # errors, compared with the same estimand without it, of values within bounds if there are any;
    # None: not estimated, or no coefficient has an error.  Not a bound: it is estimated from noisy
    # counts, as if all clipped rows point in one direction; a few extreme rows may have a larger
    # effect, and responses of a log link that were clipped to a limit are not counted.
    # `DPResults.clipping` has it by coefficient, in the coefficient's unit.
    clipping_effect: float | None = None
    # At least so many, by three deviations of the same counts; 0: perhaps none had.
    surely_clipped: float | None = None

    def within_bounds(self) -> Estimand:
        """Return the same estimand, of values that were clipped to bounds."""
        return replace(self, name=self.name + _WITHIN)

    @property
    def matters(self) -> bool:
        """Whether counts show clipped scores, with an effect that is not negligible.

        Fits of normal rows, of which none is clipped, have an effect of 1 to 5 standard errors
        too: it is what noise may hide.  With notes of those, 94% of the fits of 24 real tables had
        one, whether clipping moved coefficients by .1 or by 7 standard errors.
        """
        return bool(self.surely_clipped) and (self.clipping_effect or 0.0) >= _NEGLIGIBLE


def clipping_note(estimand: Estimand | None, response: str) -> tuple[str, ...]:
    """Return the note for a fit of which it is known that clipping matters.

    response: as the formula has it.
    """
    if estimand is None or not estimand.matters:
        return ()
    target = estimand.name.removeprefix(CLIPPED)
    least_squares = target.removesuffix(_WITHIN) == "least squares"
    target = f"{'ordinary ' if least_squares else ''}{target}"
    rows = max(1, round(float(f"{estimand.surely_clipped:.1e}")))
    of = "influential row was" if rows == 1 else "influential rows were"
    note = (
        f"at least about {rows:,} {of} clipped, as in a Huber regression: {target} may differ by "
        f"{estimand.clipping_effect:.1f} standard errors or more (see fit.clipping)"
    )
    if least_squares and response.isidentifier():
        note += f".  Heavy tails? Try log({response})"
    return (note,)
