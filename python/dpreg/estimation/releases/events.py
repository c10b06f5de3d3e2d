"""Whether responses are events, counts or amounts, from noisy numbers of nonzero rows."""

from __future__ import annotations

import math
from typing import NamedTuple

from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_sizes import Size
from dpreg.privacy.sealed import ExactSums

# If a number has fewer standard deviations than this it is released again, for this share of the
# squared mu, as scores far from the mean are not informative.  Without it .923 and .925 of the
# coefficients of two sets of 100 and 113 fits were covered instead of .931 and .962.
_RARE, _RARE_COUNT = 8.0, 0.02
# The mean of counts is computed from the share of rows with an event up to this share.
_FEW_EVENTS = 0.5
# Responses are amounts if their mean, from orders of magnitude, differs from that by this factor,
# or if the number of events has fewer standard deviations than the second number.  Without it .13
# of coefficients of 30 such responses, with units from 1e-5 to 100, had no error instead of .006,
# and errors of most were 3 to 1e6 times those of maximum likelihood instead of 1 to 3.
_TIMES, _TOLD = 2.0, 3.0
# Least distance of shares of events from 0 and 1: noise may exceed the number of rows, and a
# Poisson distribution without zeros has no mean.
_NEAREST = 1e-15
# Counts are significant if events are this many standard deviations of the noise in a cell.
# Without it amounts of one row in ten of 5,000 were treated as counts, clipped at 4, and wrong by
# 50 errors.
_UNSEEN = 8.0


class Events(NamedTuple):
    """Noisy numbers of rows."""

    units: float
    ones: float  # With an event.
    deviation: float  # Of the noise in `ones`.

    def response(
        self, size: Size | None, centre: float, scale: float, most: float | None
    ) -> tuple[float, float, bool]:
        """Return mean and standard deviation of the response, and whether it may be a count.

        size: from orders of magnitude, if estimable.
        centre, scale: other estimates.
        most: the largest response, if public.
        """
        # From a mean too far from the end of its range steps are short, from one too close long.
        least = min(max(max(self.deviation, 1.0) / self.units, _NEAREST), 0.5)
        share = min(max(self.ones / self.units, least), 1 - least)
        if most == 1:
            return share, math.sqrt(share * (1 - share)), True
        law = -math.log1p(-share)  # of a Poisson distribution
        # Responses below 0 are set to 0, and an event is at least 1/2.
        counts = size is None or size.centre <= 0
        if size is not None and self.ones > _TOLD * self.deviation:
            counts |= law / _TIMES < size.centre < _TIMES * law
        if share >= _FEW_EVENTS:
            believed = most / 2 if most is not None and size is None else 0.0
            return max(centre, believed, share / 2), scale, counts
        if not counts:
            return centre, scale, False
        return law, max(math.sqrt(law), 0.0 if size is None else scale), True

    def hidden(self, deviation: float) -> bool:
        """Whether noise of this deviation in each order of magnitude may hide counts."""
        return self.ones < _UNSEEN * deviation


def released_events(exact: ExactSums, noise: GaussianReleases, share: float) -> Events:
    """Release the numbers of rows with and without an event, again where one of them is small."""
    label = "numbers of rows without and with an event"
    found = noise.release(label, exact, noise.share(share))
    if found.values.min() < _RARE * found.scale:
        again = noise.release(f"{label}, again", exact, noise.share(_RARE_COUNT))
        found = found.averaged(again)
    counts, deviation = found
    return Events(max(float(counts.sum()), 1.0), float(counts[1]), float(deviation))
