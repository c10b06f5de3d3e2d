"""Noisy sums: scales, sensitivities, composition."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
from audit.patches import OPEN, Mutant, both, edited, swapped
from unsealed import opened

from dpreg import _core
from dpreg.calls import isolation as _isolation
from dpreg.estimation.blocks import block_counts as _block_counts
from dpreg.estimation.methods.boosted_adassp import BoostedAdaSSP
from dpreg.estimation.newton import row_lengths
from dpreg.estimation.releases import accountant as _gaussian
from dpreg.estimation.releases import doors as _doors
from dpreg.estimation.releases import exits as _exits
from dpreg.estimation.releases import quantised as _quantised
from dpreg.estimation.releases import scaling as _tails
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy
from dpreg.estimation.releases.standardisation import Standardisation


def _release_with(*changes):
    return edited(GaussianReleases, "release", *changes)


def no_check(*changes):
    """The method's own assertion would notice: it is taken out as well."""
    return edited(
        GaussianReleases, "_charge", ('raise AssertionError("a method spent', 'str("a method spent'),
        *changes,
    )  # fmt: skip


def _float_sums(self, label, exact, mu):
    """What the peers do: doubles, and a continuous Gaussian on top."""
    sums, weights, sensitivity = opened(exact), exact.weights, exact.sensitivity
    flat = np.atleast_1d(sums).ravel().astype(float)
    scale = sensitivity / mu
    weight = np.ones(len(flat)) if weights is None else np.asarray(weights).ravel()
    words = [self.bits.next() for _ in range(len(flat))]
    noise = np.array([np.random.default_rng(w).standard_normal() for w in words])
    self._charge(label, sensitivity, scale, np.full(len(flat), 1 << 40))
    return Noisy((flat + scale / weight * noise).reshape(np.shape(sums)), scale)


def _whole_errors(x, y, slopes, intercept, *, low, high, unit):
    """Votes that are not limited."""
    low, high = np.asarray(low), np.asarray(high)

    def squared(k):
        line = intercept + np.clip(x, low[k, :-1], high[k, :-1]) @ slopes
        return np.clip((y - np.clip(line, low[k, -1], high[k, -1])) / unit, -1e3, 1e3) ** 2

    votes = [(squared(0) - squared(k)).sum() for k in range(1, len(low))]
    return np.rint(np.array(votes) * _core.testing.VOTE_STEPS).astype(np.int64)


GAUSSIAN = [
    Mutant(
        "sigma = mu",
        both(
            _release_with(
                ("ldexp(sensitivity, shift) / mu * (1", "ldexp(sensitivity, shift) * mu * (1")
            ),
            no_check(),
        ),
        ("adassp",),
    ),
    Mutant(
        "noise of half the scale",
        swapped(_core, "discrete_gaussian", lambda real: lambda s, b, n: real(max(1, s // 2), b, n)),
        ("gaussian runs",),
    ),
    Mutant(
        "noise of half the scale, Laplace",
        swapped(_core, "discrete_laplace", lambda real: lambda e, b, n: real(2 * e, b, n)),
        ("laplace runs",),
    ),
    Mutant(
        "delta dropped: mu for delta = 1/2",
        swapped(_gaussian, "gdp_mu", lambda real: lambda e, d: real(e, 0.5)),
        ("adassp",),
    ),
    Mutant(
        "classical sigma, far beyond eps = 1",
        swapped(
            _gaussian,
            "gdp_mu",
            lambda _: lambda e, d: 2 * e / math.sqrt(2 * math.log(1.25 / d)) * 1.5,
        ),
        ("adassp",),
    ),
    Mutant(
        "continuous noise on a float sum",
        swapped(GaussianReleases, "release", lambda _: _float_sums),
        ("grid",),
    ),
    Mutant(
        "the same noise in every entry and round",
        swapped(
            _core,
            "discrete_gaussian",
            lambda real: lambda s, b, n: real(s, _core.TestBits(1), n),
        ),
        ("fresh noise",),
    ),
    Mutant(
        "no composition over rounds",
        both(
            edited(
                BoostedAdaSSP, "_predict", ("(1 - self.gram_share) / self.rounds", "(1 - self.gram_share)")
            ),
            no_check(),
        ),
        ("boosted_adassp",),
    ),
    Mutant(
        "intercept budget not charged",
        both(
            edited(
                Standardisation,
                "_moments",
                ("noise.share(self.moment_share)", "noise.share(1.0)"),
            ),
            no_check(("mu=sensitivity / scale", "mu=0.0 if label.startswith('number of rows') else sensitivity / scale")),
        ),
        ("frank_wolfe",),
    ),
    Mutant(
        "sensitivity of the moments one column's",
        swapped(_core, "moments_sensitivity", lambda real: lambda weights: real([1.0]) / 3),
        ("frank_wolfe",),
    ),
    Mutant(
        "sensitivity of the votes of a third of a row",
        swapped(_core, "tail_votes_sensitivity", lambda real: lambda sets: real(sets) / 3),
        ("limits of predictions",),
    ),
    Mutant(
        "votes as large as the errors",
        swapped(_core, "tail_votes", lambda real: _whole_errors),
        ("limits of predictions",),
    ),
    Mutant(
        "the exact votes decide",
        edited(_tails, "prediction_limits", ("zip(sets[1:], noisy, strict", f"zip(sets[1:], {OPEN}(votes), strict")),
        ("limits of predictions",),
    ),
    Mutant(
        "the vote is free",
        both(
            edited(_tails, "prediction_limits", ("noise.share(share)", "noise.share(1.0)")),
            no_check(("mu=sensitivity / scale", "mu=0.0 if label.startswith('vote') else sensitivity / scale")),
        ),
        ("limits of predictions",),
    ),
    Mutant(
        "sensitivity of all histograms that of one",
        swapped(_core, "counts_sensitivity", lambda _: lambda weights: 0.3),
        ("adassp",),
    ),
    Mutant(
        "sensitivity of the Gram matrix of half the clip",
        swapped(_core, "gram_sensitivity", lambda real: lambda width: real(width) / 2),
        ("adassp",),
    ),
    Mutant(
        "sensitivity of the gradient of half the clip",
        both(
            swapped(_core, "gradient_sensitivity", lambda real: lambda width: real(width) / 2),
            swapped(_core, "SQUARES_SENSITIVITY", lambda real: real / 2),
        ),
        ("boosted_adassp", "dpsgd"),
    ),
    Mutant(
        "second moments of scores with a part of their sensitivity",
        swapped(_core, "score_products_sensitivity", lambda real: lambda width: real(width) / 40),
        ("least squares",),
    ),
    Mutant(
        "rows of a person in blocks of their own",
        edited(_block_counts, "blocks_of", ("of_rows = block[labels]", "of_rows = np.arange(len(labels)) % blocks")),
        ("block test",),
    ),
    Mutant(
        "generators that one block leaves to the next",
        swapped(_isolation, "drawing_from", lambda real: lambda seed: nullcontext()),
        ("block test",),
    ),
    Mutant(
        "half of the noise for a count of blocks",
        edited(_doors, "noisy_counts", ("discrete_laplace(each,", "discrete_laplace(2 * each,")),
        ("block test",),
    ),
    Mutant(
        "rows of a person counted as one exit",
        edited(_exits, "noisy_exits", ("max_rows if design.by_unit else 1", "1")),
        ("exits",),
    ),
    Mutant(
        "all of epsilon for exits, and a share of it again for entries",
        edited(
            _exits, "noisy_exits",
            ("math.nextafter(epsilon - of_entries, 0.0) if statistic.entry else epsilon", "epsilon"),
        ),
        ("exits",),
    ),
    Mutant(
        "all rows of a person in the table",
        edited(_exits, "noisy_exits", ("sample_rows(design, max_rows, bits, order=order)", "design")),
        ("exits",),
    ),
    Mutant(
        "persons counted in each interval in which they are at risk",
        edited(
            _exits.ExitCounts, "seal",
            ("sums.reshape(self.groups, self._intervals, -1)",
             "sums.reshape(self.groups, self._intervals, -1)[:, ::-1].cumsum(axis=1)"),
        ),
        ("exits",),
    ),
    Mutant(
        "norms of the rows of a person counted as one row",
        edited(_quantised, "_norm_counts", ("of_units=of_units", "of_units=True")),
        ("moments",),
    ),
    Mutant(
        "norms of rows without noise",
        edited(
            row_lengths, "_counted",
            ("return counts, starts, deviation", f"return {OPEN}(exact) * 1.0, starts, 0.0"),
        ),
        ("moments",),
    ),
    Mutant(
        "all of the rest for the norms, and for the moments again",
        both(
            edited(row_lengths, "_counted", ('("norms of rows", exact, mu)', '("norms of rows", exact, 3 * mu)')),
            no_check(("mu=sensitivity / scale", "mu=0.0 if label.startswith('norms') else sensitivity / scale")),
        ),
        ("moments",),
    ),
    Mutant(
        "curvature with a part of its sensitivity",
        swapped(_core, "curvature_sensitivity", lambda real: lambda width: real(width) / 40),
        ("families",),
    ),
    Mutant(
        "off-diagonal noise of a tenth of sigma",
        edited(_quantised, "_triangle", ("math.sqrt(2.0))", "10.0)")),
        ("adassp",),
    ),
    Mutant(
        "upper triangle released, diagonal without noise",
        edited(
            GaussianReleases, "_noise", ("noise[here] =", "noise[here] = 0 if scale == scales.min() else"),
        ),
        ("adassp", "gaussian runs"),
    ),
]  # fmt: skip
