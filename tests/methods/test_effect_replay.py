"""Fits of treatment effects replayed on neighbouring tables, and what is planted there."""

from __future__ import annotations

import numpy as np
import pytest
from unsealed import arrays_of, opened

from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_models import random_effect
from dpreg.audit.replay_tables import random_case
from dpreg.data import arms
from dpreg.data.arms import (
    AtLimits,
    EffectScores,
    one_row_each,
)
from dpreg.data.design import Terms
from dpreg.estimation.methods import effect
from dpreg.estimation.methods.effect_stages import Stages
from dpreg.estimation.releases.statistics import EventCounts


def cases(count):
    for k in range(count):
        rng = np.random.default_rng([9, k])
        yield random_case(rng, random_effect(rng))


@pytest.mark.slow
def test_no_release_on_neighbours_moves_by_more_than_its_sensitivity():
    """The second table on the path of the first: all else must agree."""
    moved = dict(part for case in cases(30) for part in measure(case).moved)
    assert {"rows at the limits of overlap", "mean derivatives of predictions"} <= set(moved)


def _measure_all(those):
    for case in those:
        measure(case)


def _all_again(patch):
    """What stages have spent is not taken off what the next ones get."""
    patch.setattr(Stages, "left", property(lambda self: 1.0))


def _one_row(patch):
    """Units of several rows count as one."""
    real = Stages.stage

    def stage(self, share):
        self._rows = 1
        return real(self, share)

    patch.setattr(Stages, "stage", stage)


def _centred(patch):
    """Scores are functions of other rows too."""
    real = EffectScores.__call__

    def centred(self, X, y):
        rows, score, kept = real(self, X, y)
        return rows, score - (score.mean() if len(score) else 0.0), kept

    patch.setattr(arms.EffectScores, "__call__", centred)


def _exact_share(patch):
    """The share of treated rows is read, not released."""
    real = effect.known_scales

    def known(design, spending, family):
        found = real(design, spending, family)
        treated = arrays_of(design)[0][:, 0]
        return found._replace(share=min(max(treated.mean(), 0.1), 0.9) if len(treated) else 0.5)

    patch.setattr(effect, "known_scales", known)


def _exact_count(patch):
    """Rows at the limits are counted without noise."""
    real = effect.TreatmentEffect._at_limits

    def counted(self, design, chance, spending):
        _, deviation = real(self, design, chance, spending)
        rows = one_row_each(design, AtLimits(chance, self.overlap), Terms("limit", (), True))
        return float(opened(rows.total(EventCounts()))[1]), deviation

    patch.setattr(effect.TreatmentEffect, "_at_limits", counted)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [_all_again, _one_row, _centred, _exact_share, _exact_count])
def test_a_replay_finds_what_is_planted(mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(Leak, match=r"moved by|lose|differ|no function|at mu|stages|spent more"):
        _measure_all(cases(150))
