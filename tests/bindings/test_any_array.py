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


@on_records
@pytest.mark.parametrize("name", TABLES)
def test_any_table_and_any_layout(work, name):
    x, y = TABLES[name]
    expected = results(work, np.ascontiguousarray(x), np.ascontiguousarray(y))
    for layout, view in LAYOUTS.items():
        for found, value in zip(results(work, view(x), view(y)), expected, strict=True):
            np.testing.assert_array_equal(found, value, err_msg=layout)
    for found, value in zip(results(work, x, y), expected, strict=True):
        np.testing.assert_array_equal(found, value)


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
