"""Every function of the core takes any array; with sanitizers too: see .ci/sanitize."""

from __future__ import annotations

import numpy as np
import pytest
from bindings.arrays import LAYOUTS, TABLES, table
from bindings.calls import ON_RECORDS, scalar_calls

from dpreg import _core

testing = _core.testing
on_records = pytest.mark.parametrize("work", ON_RECORDS, ids=lambda work: work.__name__)


def results(work, x, y):
    return [np.asarray(found) for found in work(x, y)]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@on_records
@pytest.mark.parametrize("name", TABLES)
def test_any_table(work, name):
    x, y = TABLES[name]
    copied = results(work, np.ascontiguousarray(x), np.ascontiguousarray(y))
    assert_same(results(work, x, y), copied)


@on_records
@pytest.mark.parametrize("name", ["odd and huge", "one row"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(work, name, layout):
    x, y = TABLES[name]
    view = LAYOUTS[layout]
    assert_same(results(work, view(x), view(y)), results(work, x, y))


def test_what_takes_no_records():
    assert sum(1 for _ in scalar_calls()) > 100


def test_every_function_is_called_here(monkeypatch):
    called = set()

    def noted(module, name):
        function = getattr(module, name)

        def call(*arguments, **options):
            called.add(name)
            return function(*arguments, **options)

        return call

    names = set()
    for module in (_core, testing):
        for name, what in list(vars(module).items()):
            if type(what).__name__ in {"builtin_function_or_method", "nb_func"}:
                names.add(name)
                monkeypatch.setattr(module, name, noted(module, name))
    for work in ON_RECORDS:
        results(work, *table())
    list(scalar_calls())
    assert names - called == set()
    assert len(names) > 60
