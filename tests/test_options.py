"""Wrong types of options are refused by name, before anything else happens."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import fields

import numpy as np
import pytest

import dpreg
from dpreg.base.options import check_options
from dpreg.estimation.planning.frank_wolfe import Screen
from dpreg.estimation.releases.standardisation import Standardisation

CLASSES = [
    dpreg.TukeyEM, dpreg.AdaSSP, dpreg.BoostedAdaSSP, dpreg.DPSGD, dpreg.FrankWolfe, dpreg.Auto,
    dpreg.DPKendall, dpreg.DPSIS, dpreg.TwoStage, dpreg.SubLasso, Standardisation, Screen,
]  # fmt: skip
OPTIONS = [(cls, field.name) for cls in CLASSES for field in fields(cls)]
# None and True are what R makes of NA.
WRONG = ["a", True, np.nan, None, [1, "a"], {1: 2}, object(), b"x", 1.5, 3, 1j]


def may_be(cls, name, value):
    """Whether the annotation allows `value`, spelled out by hand."""
    hint = typing.get_type_hints(cls)[name]
    allowed = set(typing.get_args(hint)) | {hint, typing.get_origin(hint)}
    return (
        (value is None and type(None) in allowed)
        or (type(value) is int and bool(allowed & {int, float}))
        or (type(value) is float and value == value and float in allowed)
        or (isinstance(value, dict) and any(
            typing.get_origin(kind) is Mapping for kind in allowed | {hint}
        ))
    )  # fmt: skip


@pytest.mark.parametrize(("cls", "name"), OPTIONS)
def test_a_wrong_type_is_refused_by_name(cls, name):
    for value in WRONG:
        if not may_be(cls, name, value):
            with pytest.raises(ValueError, match=rf"^{name} must be .*got"):
                cls(**{name: value})


@pytest.mark.parametrize("cls", CLASSES)
def test_defaults_pass(cls):
    check_options(cls())


@pytest.mark.parametrize("options", [
    dpreg.TukeyEM(models=np.int64(50), ridge=np.float32(0.1)), dpreg.DPSGD(clip=2),
    dpreg.Auto(candidates=["tukey"]), dpreg.FrankWolfe(screen="rnm"),
])  # fmt: skip
def test_other_numbers_and_containers_pass(options):
    check_options(options)


def test_a_class_is_no_options_object(diamonds):
    budget = dpreg.Budget(1.0, 1e-5)
    for cls in CLASSES[:6]:
        with pytest.raises(ValueError, match=rf"method .*write dpreg\.{cls.__name__}\(\)"):
            dpreg.dp_lm("price ~ carat", diamonds, 1.0, method=cls, budget=budget)
    for cls in CLASSES[6:10]:
        with pytest.raises(ValueError, match=rf"method .*write dpreg\.{cls.__name__}\(\)"):
            dpreg.dp_select("price ~ carat", diamonds, 1, 1.0, method=cls, budget=budget)
    assert budget.charges == ()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"budget": 2}, "^budget must be a budget, such as dpreg.Budget"),
        ({"budget": 0}, "^budget must be a budget, such as dpreg.Budget"),
        ({"unit": ["carat"]}, "^unit must be the name of one column.*not a list"),
        ({"unit": 3}, "^unit must be the name of one column"),
        ({"levels": ["cut"]}, "^levels must be a dict"),
        ({"levels": {"carat": ["a", "b"]}}, "^levels: column 'carat'"),
        ({"unit": "carat"}, "'carat' names the protected unit"),
        ({"unit": "price"}, "'price' names the protected unit"),
        ({"select": "sis", "bounds": {"carat": (0, 5), "price": (0, 2e4), "xx": (0, 1)},
          "k": 1}, "^bounds: 'xx' is not a column"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_a_fit_cost_nothing(arguments, says, diamonds):
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(ValueError, match=says):
        dpreg.dp_lm("price ~ carat", diamonds, 1.0, **{"budget": budget, **arguments})
    assert budget.charges == ()


def test_a_column_of_records_is_not_shown(diamonds):
    with pytest.raises(ValueError, match=r"not a Series;"):
        dpreg.dp_lm("price ~ carat", diamonds, 1.0, unit=diamonds["carat"])


def test_a_number_is_not_advised_where_none_is_taken():
    with pytest.raises(ValueError, match=r"Standardisation, got 3; leave standardisation out$"):
        dpreg.FrankWolfe(standardisation=3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dpreg.FrankWolfe(step=3), "step: FrankWolfe() has no such argument; write steps"),
        (
            lambda: dpreg.DPKendall(0.5),
            "share must be given by name, like all arguments of DPKendall(); write ",
        ),
        (
            lambda: dpreg.BoostedAdaSSP(standardisation=3),
            "standardisation: BoostedAdaSSP() has no such argument; leave it out",
        ),
        (lambda: dpreg.AdaSSP(zeal=1), "zeal: AdaSSP() has no such argument; it has "),
    ],
)
def test_options_say_what_their_arguments_are_called(make, said):
    with pytest.raises(TypeError) as error:
        make()
    assert str(error.value).startswith(said)
