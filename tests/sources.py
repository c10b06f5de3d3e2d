"""Whole tables through the boundary, for tests."""

from __future__ import annotations

import numpy as np

from dpreg.data.containers import open_source


def cells(data, name):
    """The cells of a column, a batch at a time."""
    return [batch.cells[name] for batch in open_source(data).batches([name])]


def numbers(data, name):
    return np.concatenate([np.empty(0), *(c.numbers() for c in cells(data, name))])


def codes(data, name, levels):
    none = np.empty(0, dtype=np.int32)
    return np.concatenate([none, *(c.codes(levels) for c in cells(data, name))])


def keys(data, name):
    return [key for c in cells(data, name) for key in c.keys().to_pylist()]


def schema(data):
    return open_source(data).schema


def evaluated(spec, data, *, response):
    """All complete rows of a formula: X, y and where they were."""
    found = list(open_source(data).batches(spec.needed(response=response)))
    rows = [spec.rows(batch, response=response) for batch in found]
    starts = np.cumsum([0, *(batch.rows for batch in found)])
    return _Rows(
        np.concatenate([np.empty((0, len(spec.names))), *(r.X for r in rows)]),
        np.concatenate([np.empty(0), *(r.y for r in rows)]) if response else None,
        np.concatenate(
            [np.empty(0, dtype=np.int64), *(r.kept + s for r, s in zip(rows, starts, strict=False))]
        ),
    )


class _Rows:
    def __init__(self, X, y, kept):
        self.X, self.y, self.kept = X, y, kept
