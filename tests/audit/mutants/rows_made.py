"""Rows of classes, steps of a likelihood, and scores of arms."""

from __future__ import annotations

from audit.patches import OPEN, Mutant, edited

from dpreg.data import arms
from dpreg.data.class_likelihoods import RowsOfStep
from dpreg.estimation.methods import class_rows, effect, effect_stages
from dpreg.estimation.methods.effect_stages import Stages

CLASSES = [
    Mutant(
        "rows of a step of all classes, noise for one",
        edited(class_rows, "_step", ("terms = replace(", "noise.rows //= count\n    terms = replace("), ("noise.rows // count, terms)", "noise.rows, terms)")),
        ("classes",),
    ),
    Mutant(
        "shares of classes by exact counts",
        edited(class_rows, "_shares", ("counts[0, :-1]", f"{OPEN}(cells)[0, :-1].astype(float)"), ("counts[0, -1]", f"float({OPEN}(cells)[0, -1])")),
        ("classes",),
    ),
    Mutant(
        "the first step is not put down",
        edited(Stages, "add", ("self.parts += [", "first = label == 'step: ' and not any(part.label.startswith(label) for part in self.parts)\n    self.parts += [] if first and len(noise.parts) else [")),
        ("classes",),
    ),
    Mutant(
        "surprises are centred within a block",
        edited(RowsOfStep, "__call__", ("spread, below =", "surprise = surprise - surprise.mean(axis=0) * bool(len(surprise))\n    spread, below =")),
        ("classes",),
    ),
    Mutant(
        "the least curvature is that of the rows there are",
        edited(RowsOfStep, "__call__", ("factor = (below", "spread = np.maximum(spread, spread.mean(axis=0) if len(spread) else 0.0)\n    factor = (below")),
        ("classes",),
    ),
    Mutant(
        "covariates are centred within a block",
        edited(RowsOfStep, "__call__", ("surprise = likelihood", "covariates = covariates - (np.median(covariates, axis=0) if len(covariates) else 0.0)\n    surprise = likelihood")),
        ("classes",),
    ),
]  # fmt: skip

EFFECTS = [
    Mutant(
        "what the stages before have spent is left",
        edited(Stages, "add", ("self.parts += [", "self.parts = [")),
        ("effects",),
    ),
    Mutant(
        "the share of rows in an arm from exact counts",
        edited(effect.TreatmentEffect, "release", ("known = known_scales(design, spending, self.family)", f"known = known_scales(design, spending, self.family)\n    known = known._replace(share=float(min(max({OPEN}(design.arrays()).X[:, 0].mean() if {OPEN}(design.arrays()).X.size else 0.5, 0.1), 0.9)))")),
        ("effects",),
    ),
    Mutant(
        "rows at the limits of overlap without noise",
        edited(effect.TreatmentEffect, "_at_limits", ("return float(found[1])", f"return float({OPEN}(counts)[1])")),
        ("effects",),
    ),
    Mutant(
        "weights of arms that add up to the number of rows",
        edited(arms.EffectScores, "__call__", ("own = chance if arm else 1 - chance", "own = chance if arm else 1 - chance\n            own = own * np.where(treated == arm, 1 / own, 0.0).mean() if len(y) else own")),
        ("effects",),
    ),
    Mutant(
        "stages of effects take each unit to have one row",
        edited(Stages, "__init__", ("= allowance, rows", "= allowance, 1")),
        ("effects of units",),
    ),
    Mutant(
        "mean derivatives of predictions without noise",
        edited(effect_stages, "mean_slopes", ("noisy[1 : len(half)]", f"{OPEN}(sums)[1 : len(half)].astype(float)")),
        ("effects",),
    ),
]  # fmt: skip

ROWS_MADE = [*CLASSES, *EFFECTS]
