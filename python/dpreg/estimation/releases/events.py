"""Responses that are events, counts or amounts, from noisy numbers of rows that have any."""

from __future__ import annotations

import math
from typing import NamedTuple

from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_sizes import Size
from dpreg.privacy.sealed import ExactSums

# Of the squared mu, for the numbers again, where one has fewer deviations than this: scores of a
# start that is far from the mean tell little.  Without it .923 and .925 for .931 and .962 of the
# coefficients of two sets of 100 and 113 fits were covered.
_RARE, _RARE_COUNT = 8.0, 0.02
# The mean of counts is read from the share of rows with an event up to this share.
_FEW_EVENTS = 0.5
# Responses are amounts where their mean, by orders of magnitude, is so many times as large or as
# small as that, or where fewer deviations of its noise are events.  Without it .13 of coefficients
# of 30 such responses, with units from 1e-5 to 100, had no error, for .006, and errors of most were
# 3 to 1e6 times those of maximum likelihood, for 1 to 3.
_TIMES, _TOLD = 2.0, 3.0
# No share of events is nearer to 0 or 1: noise may say that there are more rows than doubles can
# tell apart, and a Poisson law of which all are events has no mean.
_NEAREST = 1e-15
# Counts are seen of which so many deviations of the noise in a cell are events.  Without it amounts
# that one row in ten of 5,000 had were taken for counts and cut at 4, and missed by 50 errors.
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

        size: by orders of magnitude, if it was found.
        centre, scale: what else is known.
        most: the largest response, where that is public.
        """
        # A mean that is too far from its end is left by short steps, and one too near by long ones.
        least = min(max(max(self.deviation, 1.0) / self.units, _NEAREST), 0.5)
        share = min(max(self.ones / self.units, least), 1 - least)
        if most == 1:
            return share, math.sqrt(share * (1 - share)), True
        law = -math.log1p(-share)  # of a Poisson law
        # Responses below 0 count as 0, and an event is 1/2 at least.
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
