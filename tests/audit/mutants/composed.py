"""Accounts of calls in several stages, and units of several rows."""

from __future__ import annotations

from audit.patches import EXACT_GRAM, OPEN, Mutant, both, edited, swapped

import dpreg.calls.fit
from dpreg import _core
from dpreg.data import changed_rows, roles
from dpreg.data import sampling as _units
from dpreg.estimation.blocks import model_rows
from dpreg.estimation.methods.adassp import AdaSSP
from dpreg.estimation.methods.auto import Auto
from dpreg.estimation.methods.boosted_adassp import BoostedAdaSSP
from dpreg.estimation.methods.dpsgd import DPSGD
from dpreg.estimation.methods.frank_wolfe import FrankWolfe
from dpreg.estimation.methods.tukey_em import TukeyEM
from dpreg.estimation.newton import columns as _columns
from dpreg.estimation.newton import score_predictions as _predictions
from dpreg.estimation.releases import (
    column_scaling,
    dispersion,
    residuals,
    scaling,
    statistics,
)
from dpreg.estimation.releases import moments as _sums
from dpreg.estimation.selection import base as _stage
from dpreg.estimation.selection import kendall, two_stage
from dpreg.estimation.selection.sis import DPSIS

AUTO = [
    Mutant(
        "the count that chooses the method is not charged",
        edited(Auto, "release", ("rest = (1 - self.count_share) * allowance.epsilon", "rest = allowance.epsilon")),
        ("auto",),
    ),
    Mutant(
        "method chosen by the true n",
        edited(Auto, "release", ("max(0, counted_units)", f"{OPEN}(design.unit_count)[0]")),
        ("auto",),
    ),
    Mutant(
        "the fallback gets the whole rest",
        edited(Auto, "release", ("Allowance(outcome.unspent, delta", "Allowance(rest, delta")),
        ("auto",),
    ),
    Mutant(
        "the whole of delta for TukeyEM and again for the fallback",
        edited(Auto, "release", ('allowance.delta / 2 if chosen == "tukey" else allowance.delta', "allowance.delta")),
        ("auto",),
    ),
    Mutant(
        "a test that did not pass is free",
        edited(dpreg.estimation.methods.tukey_em, "declined", ("for part in parts)", "for part in parts[:1])")),
        ("auto",),
    ),
    Mutant(
        "tries another method where it likes the residuals better",
        edited(Auto, "release", ("d = len(design.terms.regressors)", "d = len(design.terms.regressors) + any(abs(y) > 5 for y in " + OPEN + "(design.arrays()).y)"), ("design: Design, allowance", "design, allowance")),
        ("auto",),
    ),
]  # fmt: skip

LIMITS = [
    Mutant(
        "limits are free",
        edited(TukeyEM, "_left", ("1 - self.count_share - self.limits_share", "1 - self.count_share")),
        ("tukey",),
    ),
    Mutant(
        "limits at the whole of eps",
        edited(TukeyEM, "_limits", ("self.limits_share * allowance.epsilon,", "allowance.epsilon,")),
        ("tukey",),
    ),
    Mutant(
        "limits at the whole of delta",
        edited(TukeyEM, "_limits", ("epsilon, delta = self.limits_share * allowance.epsilon, self.limits_share * allowance.delta", "epsilon, delta = self.limits_share * allowance.epsilon, allowance.delta")),
        ("tukey",),
    ),
    Mutant(
        "limits are the least and the greatest value",
        edited(TukeyEM, "_limits", ("np.column_stack([-high, high])", "(lambda X: np.column_stack([X.min(axis=0, initial=0), X.max(axis=0, initial=0)]))(" + OPEN + "(design.arrays()).X)"), ("noise.parts[0].sensitivity", "1.0")),
        ("tukey",),
    ),
    Mutant(
        "limits of all rows of a person",
        edited(TukeyEM, "_limits", ("sample_rows(design, 1, allowance.bits)", "design")),
        ("tukey",),
    ),
]  # fmt: skip

BOOSTED = [
    Mutant(
        "floor under the eigenvalues from the exact matrix",
        edited(BoostedAdaSSP, "_boost", ("floored_inverse(gram, gram_deviation)", "floored_inverse(gram, gram_deviation * (1 + 1e-12 * float(np.linalg.eigvalsh(" + EXACT_GRAM + ".astype(float))[0])))")),
        ("boosted_adassp",),
    ),
    Mutant(
        "few hidden directions, counted on exact eigenvalues",
        edited(_sums, "noisy_gram", ("return sums * unit", "scale *= 1 + int((np.linalg.eigvalsh(" + EXACT_GRAM + ".astype(float)) < 1e6).sum())\n    return sums * unit")),
        ("boosted_adassp", "adassp"),
    ),
    Mutant(
        "clip follows exact residuals",
        edited(BoostedAdaSSP, "_boost", ("math.sqrt(squares / scales.units)", "math.sqrt(" + OPEN + "(rows.round(theta, clip, 1.0))[-1] * (clip / _core.ROW_STEPS) ** 2 / scales.units)")),
        ("boosted_adassp",),
    ),
    Mutant(
        "robust errors at no cost",
        edited(AdaSSP, "_infer", ("begun.tail_share + scatter", "begun.tail_share")),
        ("adassp",),
    ),
    Mutant(
        "weights of columns at a third of their cost",
        edited(statistics, "counts_of_columns", ("_core.counts_sensitivity(weights)", "_core.counts_sensitivity(weights / 3)")),
        ("adassp", "boosted_adassp", "dpsgd"),
    ),
    Mutant(
        "sums over residuals at a third of their cost",
        swapped(residuals, "RESIDUAL_SUMS_SENSITIVITY", lambda real: real / 3),
        ("extras and weights",),
    ),
    Mutant(
        "a dispersion at a tenth of its cost",
        swapped(dispersion, "DISPERSION_SENSITIVITY", lambda real: real / 10),
        ("dispersion",),
    ),
    Mutant(
        "declines by the exact range of the response",
        edited(column_scaling, "column_scales", ("bool(given[-1]) or", f"bool(np.ptp({OPEN}(rows.arrays()).y) < 50 or given[-1]) or")),
        ("adassp", "boosted_adassp"),
    ),
    Mutant(
        "a steeper curvature by exact scores",
        edited(_predictions, "_rounds", ("_is_reversed(score, before, deviation)", f"bool(({OPEN}(rows.score(theta, limit)) > 0).all())")),
        ("families",),
    ),
    Mutant(
        "rows shortened by their exact norms",
        edited(_predictions, "_row_limit", ("CONSTANT_RESIDUAL, unlimited)", "CONSTANT_RESIDUAL, unlimited) / (1.0 + float(" + OPEN + "(rows.score_norms(np.zeros(units.width))).sum()))")),
        ("families",),
    ),
    Mutant(
        "long rows told by the exact matrix",
        edited(_columns, "_less_clipped", ("np.linalg.eigh(gram / n)", "np.linalg.eigh(" + EXACT_GRAM + " * (rows.limit / 2.0**14) ** 2 / n)")),
        ("moments",),
    ),
    Mutant(
        "deviations from the mean of all persons",
        edited(_units, "_deviations", ("np.repeat(unit_means(values, units), counts, axis=0)", "values.mean(axis=0)")),
        ("units",),
    ),
    Mutant(
        "values clipped to bounds after their mean is taken off",
        edited(changed_rows, "_inside", ("np.clip(X, ", "np.clip(X - X.mean(axis=0), ")),
        ("adassp",),
    ),
    Mutant(
        "offsets less their mean",
        edited(changed_rows, "_less_offsets", ("y = y - X[:, j]", "y = y - (X[:, j] - X[:, j].mean())")),
        ("units",),
    ),
    Mutant(
        "weights in units of the largest one",
        edited(roles, "usable_weights", ("cells, np.nan)", "cells / np.nanmax(cells, initial=1e-300), np.nan)")),
        ("least squares",),
    ),
    Mutant(
        "scores of rows that are not shortened by unit",
        swapped(_core, "score_sensitivity", lambda real: lambda width: real(width) / 2),
        ("units",),
    ),
]  # fmt: skip

PIPELINES = [
    Mutant(
        "the score of a term is the sum of those of its columns",
        edited(scaling.ClippedProducts, "seal", ("np.maximum.reduceat", "np.add.reduceat")),
        ("pipelines",),
    ),
    Mutant(
        "selection is free",
        edited(dpreg.calls.fit, "fit", ("replace(spending, epsilon=stage.epsilon_fit)", "spending")),
        ("pipelines",),
    ),
    Mutant(
        "selection at the whole of eps",
        edited(_stage.FirstStage, "run", ("Allowance(self.epsilon, 0.0", "Allowance(self.epsilon / self.selector.share, 0.0")),
        ("pipelines",),
    ),
    Mutant(
        "columns that are constant are dropped before",
        edited(_stage.FirstStage, "run", ("first, second = design, design", "X = " + OPEN + "(design.arrays()).X\n    design = design.keep([j for j in range(X.shape[1]) if len(set(X[:30, j])) > 1] if len(X) else [0])\n    first, second = design, design"), ("design: Design", "design")),
        ("pipelines",),
    ),
    Mutant(
        "split gives both stages all units",
        edited(_stage.FirstStage, "run", ("split_units(design, self.split, bits)", "design, design")),
        ("split",),
    ),
    Mutant(
        "split by the rank of the response",
        edited(_units, "split_units", ("np.asarray(_core.uniform_open(bits, opened(design.records).unit_count)) < share", "opened(design.arrays()).y <= np.quantile(np.append(opened(design.arrays()).y, 0.0), share)")),
        ("split",),
    ),
    Mutant(
        "votes with eps, and the count as well",
        edited(two_stage.TwoStage, "select", ("allowance.epsilon - epsilon_count", "allowance.epsilon")),
        ("pipelines",),
    ),
    Mutant(
        "number of models from the true n",
        edited(model_rows, "noisy_units", ("min(max(0, count), most_units(epsilon))", f"{OPEN}(design.unit_count)[0]")),
        ("pipelines",),
    ),
    Mutant(
        "Kendall rounds at twice their eps",
        edited(kendall.DPKendall, "select", ("epsilon_round=rounds.epsilon", "epsilon_round=2 * rounds.epsilon")),
        ("pipelines",),
    ),
    Mutant(
        "Kendall noise for half the ranges",
        edited(kendall.DPKendall, "select", ("first_range=first", "first_range=first / 2")),
        ("pipelines",),
    ),
    Mutant(
        "products with the sensitivity for a range",
        edited(scaling.ClippedProducts, "seal", ("self.rows * RANGE", "self.rows * SENSITIVITY")),
        ("pipelines",),
    ),
    Mutant(
        "peeling rounds that do not compose",
        edited(DPSIS, "select", ("epsilon=k * rounds.epsilon", "epsilon=2 * k * rounds.epsilon")),
        ("pipelines",),
    ),
]  # fmt: skip


UNITS = [
    Mutant(
        "batches of rows instead of persons",
        both(
            edited(model_rows, "assigned", ("(design.records).unit_count", "(design.records).rows.count")),
            edited(model_rows, "rows_of_models", ("records.arrays(), assignment", "records.arrays()._replace(unit_offsets=None, unit_rows=None), assignment")),
        ),
        ("tukey",),
    ),
    Mutant(
        "a person's rows in several models",
        swapped(_core, "assign_independently", lambda real: lambda n, models, bits: _core.fixed_assignment([*range(n)] * 2, [0, n, 2 * n] + [2 * n] * (models - 2))),
        ("tukey",),
    ),
    Mutant(
        "all rows of a person in sampled gradients",
        edited(DPSGD, "release", ("allowance, 1, ", "allowance, 99, ")),
        ("dpsgd",),
    ),
    Mutant(
        "a vertex step for each row of a person",
        edited(FrankWolfe, "release", ("one_row_a_unit(design, bounds)", "design.by_row")),
        ("frank_wolfe",),
    ),
    Mutant(
        "one more row of a person than max_rows",
        edited(_units, "sample_rows", ("place < max_rows", "place <= max_rows")),
        ("units",),
    ),
    Mutant(
        "number of persons read off the rows",
        edited(model_rows, "assigned", ("(design.records).unit_count", "(design.records).rows.count")),
        ("pipelines",),
    ),
]  # fmt: skip

COMPOSED = [*AUTO, *LIMITS, *BOOSTED, *PIPELINES, *UNITS]
