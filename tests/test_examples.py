"""Every public name has an example in its docstring, which runs and prints what it says."""

from __future__ import annotations

import doctest
import inspect

import pytest

import dpreg
import dpreg.sklearn
from dpreg import audit, mechanisms, reference

pytestmark = pytest.mark.usefixtures("coarse_losses")

# Of published algorithms and of audits, only what is there is run.
_SHOWN = (dpreg, mechanisms, dpreg.sklearn)
_RUN = (*_SHOWN, reference, audit)
# Raised where the operating system gives no random numbers, which no example can bring about.
_WITHOUT = {"EntropyError"}


def _public(modules):
    return [
        pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")
        for module in modules
        for name in module.__all__
        if callable(getattr(module, name))
    ]


def _examples(what):
    found = doctest.DocTestFinder(recurse=True).find(what, what.__name__)
    return [test for test in found if test.examples]


@pytest.mark.parametrize("what", _public(_SHOWN))
def test_a_public_name_has_an_example(what):
    assert what.__name__ in _WITHOUT or ">>>" in inspect.getdoc(what)


@pytest.mark.parametrize("what", _public(_RUN))
def test_examples_print_what_they_say(what):
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in _examples(what):
        test.globs = {}
        runner.run(test, out=said.append)
    assert not said, "".join(said)
