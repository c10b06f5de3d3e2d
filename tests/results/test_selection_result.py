"""What a selection says about itself."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from oracles import exponential_choice

import dpreg
from dpreg.estimation.inference.clarity import Clarity


@pytest.fixture(scope="module")
def found(diamonds):
    return dpreg.dp_select("price ~ .", diamonds, 3, 0.5)


def test_summary_tells_what_was_spent_and_how_clear_a_choice_had_to_be(found):
    text = " ".join(str(found.summary()).split())
    assert "Selected 3 of 9 terms for price, in the order they were chosen" in text
    for place, name in enumerate(found.selected, start=1):
        assert f"{place}. {name}" in text
    assert "0.5-differentially private for the addition or removal of one row" in text
    assert "How far apart the scores were is private" in text
    assert [part.noise for part in found.privacy.parts] == ["Gumbel, scale 15", "Gumbel, scale 30"]
    assert max(len(line) for line in str(found).splitlines()) <= 78
    for format in (found.summary().as_html(), found.summary().as_latex()):
        assert all(name.replace("_", r"\_") in format or name in format for name in found.selected)


def test_margin_is_what_it_says():
    """With that lead over all rivals the exponential mechanism takes the best in 95%."""
    for rivals in (1, 2, 30, 10_000):
        margin = Clarity.margin_of(7.0, math.log(rivals))
        wins = exponential_choice([margin, *[0.0] * rivals], 7.0, 1.0)[0]
        assert wins == pytest.approx(0.95)
    assert Clarity.margin_of(7.0, math.log(1)) == 7.0 * math.log(19)


def test_round_trips(found):
    others = [dpreg.SelectionResult.from_json(found.to_json()),
              pickle.loads(pickle.dumps(found)), copy.deepcopy(found)]  # fmt: skip
    for other in others:
        assert other == found
        assert str(other) == repr(found)
    assert str(other.summary()) == str(found.summary())
    assert found.k == 3
    assert found.nobs is None


def test_holds_nothing_but_names_and_public_numbers(found, diamonds):
    """The same choice from other records is the same result."""
    import dataclasses

    other = dpreg.dp_select("price ~ .", diamonds.iloc[::7], 3, 0.5)
    same = dataclasses.replace(other, selected=found.selected, columns=found.columns)
    assert same == found


@pytest.mark.parametrize("text", [
    "{}", '{"dpreg_selection": 2}', "[]", '{"dpreg_selection": 1}', "not json", "1",
])  # fmt: skip
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match=r"not a dpreg selection|Expecting"):
        dpreg.SelectionResult.from_json(text)
