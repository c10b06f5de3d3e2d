"""Least squares with errors: scales, coordinates, and scores one after another."""

from __future__ import annotations

from audit.mutants.gaussian import no_check
from audit.patches import EXACT_GRAM, OPEN, Mutant, both, edited

from dpreg.estimation import standardised as _standardised
from dpreg.estimation.methods.adassp import AdaSSP
from dpreg.estimation.methods.dpsgd import DPSGD
from dpreg.estimation.newton import at_quantile, resumed, whitening
from dpreg.estimation.newton import curvature as _curvature
from dpreg.estimation.newton import fit as _fit
from dpreg.estimation.newton import limits as _limits
from dpreg.estimation.newton import newton as _newton
from dpreg.estimation.newton import rounds as _rounds
from dpreg.estimation.releases import (
    closer_looks,
    column_scaling,
    quantised,
    rare_columns,
    resumed_scales,
    statistics,
)

_EXACT_GRAM = EXACT_GRAM + " * (rows.limit / 2.0**14) ** 2 / n"

SCALES = [
    Mutant(
        "orders of magnitude of all columns at the cost of one",
        edited(statistics.SizeCounts, "seal", ("np.ones(len(of)))", "np.ones(1))")),
        ("least squares",),
    ),
    Mutant(
        "what counts cost follows the true n",
        edited(column_scaling, "column_scales", ("float(count[0])", f"float({OPEN}(number)[0])")),
        ("least squares",),
    ),
    Mutant(
        "signs and orders of magnitude from exact counts",
        edited(column_scaling, "_magnitudes",
               ("int(j): read_magnitudes(row, deviation) for j, row in zip(searched, counts,",
                f"int(j): read_magnitudes(row, deviation) for j, row in zip(searched, {OPEN}(cells).astype(float),")),
        ("least squares",),
    ),
    Mutant(
        "columns far from 0 by exact bins",
        edited(closer_looks, "closer_looks", ("zip(far, counts,", f"zip(far, {OPEN}(bins).astype(float),")),
        ("least squares",),
    ),
    Mutant(
        "amounts of a response by exact counts",
        edited(rare_columns, "response_amounts", ("Noisy(again[0], deviation)", f"Noisy({OPEN}(cells)[0].astype(float), deviation)")),
        ("least squares",),
    ),
    Mutant(
        "a closer look at the rows of a person for the cost of one",
        edited(statistics, "counts_of_columns", ("weights=entries)", "weights=entries, of_units=True)")),
        ("least squares",),
    ),
    Mutant(
        "all rows of a person, in least squares",
        edited(_standardised, "scaled", ("sample_rows(design, max_rows,", "sample_rows(design, 99,")),
        ("units",),
    ),
]  # fmt: skip

RARE = [
    Mutant(
        "rows of all pairs of rare columns at the cost of one",
        edited(statistics.PairCounts, "seal", ("np.ones(len(sums))", "np.ones(1)")),
        ("rare columns",),
    ),
    Mutant(
        "a row counts twice for a pair of rare columns",
        edited(statistics.PairCounts, "__call__", ("(there.T @ there)", "(2 * there.T @ there)")),
        ("rare columns",),
    ),
    Mutant(
        "products of rare columns in the place of counts",
        edited(statistics.PairCounts, "__call__",
               ("(X[:, self.places] != 0)).astype(np.int64)",
                "(X[:, self.places] != 0)) * np.clip(np.nan_to_num(np.round(np.abs(X[:, self.places]))), 0, 9).astype(np.int64)")),
        ("rare columns",),
    ),
    Mutant(
        "rows that rare columns share by exact counts",
        edited(rare_columns, "_shared_rows", ("counts[:, 0] / units", f"{OPEN}(exact)[:, 0] / units")),
        ("rare columns",),
    ),
    Mutant(
        "whether rare columns share rows is looked up",
        edited(rare_columns, "_shared_rows",
               ("    counts, deviation = noise.release",
                f"    if {OPEN}(exact).max(initial=0) < 8:\n        return None\n    counts, deviation = noise.release")),
        ("rare columns",),
    ),
    Mutant(
        "columns that are mostly 0 counted again, exactly",
        edited(rare_columns, "_counted_again", ("zip(places, counts,", f"zip(places, {OPEN}(cells).astype(float),")),
        ("rare columns",),
    ),
    Mutant(
        "rows that rare columns share are not paid for",
        both(
            edited(rare_columns, "_shared_rows", ("    shared = np.diag(share)", "    noise.parts.pop()\n    shared = np.diag(share)")),
            no_check(),
        ),
        ("rare columns",),
    ),
]  # fmt: skip

# `AdaSSP` without inference and `DPSGD`, which take scales from `Standardisation`.
SCALES_ELSEWHERE = [
    Mutant(
        "what scales have cost is spent again on the matrix",
        both(
            edited(AdaSSP, "_predict", ("begun.left - begun.tail_share", "1 - begun.tail_share")),
            no_check(),
        ),
        ("adassp",),
    ),
    Mutant(
        "steps that do not know what scales have cost",
        edited(DPSGD, "_multiplier", ("math.sqrt(share + VOTE_SHARE)", "math.sqrt(VOTE_SHARE)")),
        ("dpsgd",),
    ),
]  # fmt: skip

COORDINATES = [
    Mutant(
        "coordinates of the exact matrix",
        edited(whitening, "_release_matrix", ("np.linalg.eigh(moments.matrix)", "np.linalg.eigh((" + _EXACT_GRAM + ")[:-1, :-1])")),
        ("least squares",),
    ),
    Mutant(
        "slopes of the exact matrix",
        edited(whitening, "_release_matrix", ("gram[:width, width:].sum", "(" + _EXACT_GRAM + ")[:width, width:].sum")),
        ("least squares",),
    ),
    Mutant(
        "the curvature from the exact matrix",
        edited(_curvature, "_measure", ("np.linalg.eigh(moments.matrix)", "np.linalg.eigh(" + _EXACT_GRAM + ")")),
        ("least squares",),
    ),
    Mutant(
        "lengths of the rows of a person for the cost of one",
        edited(quantised, "_norm_counts", ("of_units=of_units", "of_units=True")),
        ("least squares",),
    ),
]  # fmt: skip

SCORES = [
    Mutant(
        "limits of scores from exact norms",
        edited(_limits, "count_norms", ("NormTail(counts,", f"NormTail({OPEN}(rows.score_norms(theta, starts)).astype(float),")),
        ("least squares",),
    ),
    Mutant(
        "limits of scores follow the exact score",
        edited(_newton, "newton", ("limit = rounds.limits.limit\n", "limit = rounds.limits.limit * (1 + 1e-9 * float(abs(" + OPEN + "(rounds.rows.score(rounds.path.theta, 1e3))[0])))\n")),
        ("least squares",),
    ),
    Mutant(
        "a small study's limit from the exact residuals",
        edited(_fit, "_small", ("max(model.squares, LEAST_RESIDUAL)", "max(model.squares, LEAST_RESIDUAL) * (1 + 1e-9 * float(abs(" + OPEN + "(rows.score(model.found.theta, 1e3))[0])))")),
        ("least squares",),
    ),
    Mutant(
        "norms after a round are free",
        both(
            edited(_newton, "newton", ("rounds.noisy(_NOISY_SHARE), left - cost", "rounds.noisy(_NOISY_SHARE), left")),
            no_check(),
        ),
        ("least squares",),
    ),
    Mutant(
        "what is put by for second moments of scores is spent on scores too",
        both(
            edited(_fit, "_rounds", ("left_for_scores(begun))", "left_for_scores(begun) + 0.05)")),
            no_check(),
        ),
        ("least squares",),
    ),
    Mutant(
        "both scores of a small study get all that is left",
        both(
            edited(_newton, "newton_small", ("(1 - _FIRST_OF_TWO) * share", "share")),
            no_check(),
        ),
        ("least squares",),
    ),
    Mutant(
        "a quantile begins where exact residuals have it",
        edited(at_quantile, "begun_at_quantile",
               ("for group in counts]", f"for group in {OPEN}(begun.design.total(cells)).astype(float)]")),
        ("families",),
    ),
    Mutant(
        "steps of a quantile are held where the exact score says",
        edited(_rounds.Rounds, "_follow", ("self.model.share / self.model.curved", "self.model.share / self.model.curved * float(abs(" + OPEN + "(self.rows.score(seen.at / self._sizes, 1e3))[0]) % 7)")),
        ("families",),
    ),
]  # fmt: skip

STARTS = [
    Mutant(
        "whether a start holds is told from the exact matrix",
        edited(resumed, "_release_moments", ("gram, deviation = gram / n, deviation / n", "gram, deviation = " + _EXACT_GRAM + ", deviation / n")),
        ("least squares",),
    ),
    Mutant(
        "after a start the exact number of rows",
        edited(resumed_scales, "_count", ("float(count[0])", f"float({OPEN}(exact)[0])")),
        ("least squares",),
    ),
]  # fmt: skip

NEWTON = [*SCALES, *RARE, *SCALES_ELSEWHERE, *COORDINATES, *SCORES, *STARTS]
