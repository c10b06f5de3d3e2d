"""What comes from the table and was neither declared nor paid for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from audit.patches import Mutant, both, swapped

import dpreg.results.predict
from dpreg.data import cells, frames, parquet
from dpreg.estimation.methods import tukey_em


def _levels_of_dictionaries(real):
    """An ordered dictionary taken for a declaration, as it was."""

    def source(table):
        import pyarrow as pa

        found = real(table)
        for name, column in found.schema.columns.items():
            array = table[name]
            if pa.types.is_dictionary(array.type) and array.num_chunks:
                entries = array.unify_dictionaries().chunk(0).dictionary.cast(pa.binary())
                levels = tuple(entry.decode(errors="replace") for entry in entries.to_pylist())
                found.schema.columns[name] = replace(
                    column, kind="categorical", levels=levels, holds="categories"
                )
        return found

    return source


def _decoded(self, levels):
    """Cells as Python's text, which raises where they are none."""
    import pyarrow as pa

    words = self.values.cast(pa.string()).to_pylist()
    return np.array([levels.index(w) if w in levels else -1 for w in words], dtype=np.int32)


def _in_microseconds(real):
    def keys(self):
        if self.per_second < 10**9:
            return real(self)
        return real(cells.Ticks(self.values // 1000, 10**6, self.tag, self.missing))

    return keys


def _typed(real):
    """Says of what type a column is, which may depend on a missing cell."""

    def column(name, dtype, values):
        found, cell = real(name, dtype, values)
        return replace(found, holds=str(dtype)), cell

    return column


def _published(real):
    def document(schema):
        found = real(schema)
        return {n: {**c, "levels": [schema[n].holds]} for n, c in found.items()}

    return document


def _eager(real):
    def refuse(name):
        import pyarrow.parquet as pq

        pq.read_table(name)
        return real(name)

    return refuse


BOUNDARY = [
    Mutant(
        "levels of a dictionary that lists what occurs",
        swapped(frames, "_table_source", _levels_of_dictionaries),
        ("neighbours",),
    ),
    Mutant(
        "text that is decoded", swapped(cells.Texts, "codes", lambda _: _decoded), ("neighbours",)
    ),
    Mutant(
        "units within a microsecond are one",
        swapped(cells.Ticks, "keys", _in_microseconds),
        ("neighbours",),
    ),
    Mutant(
        "the type of a column is published",
        both(
            swapped(frames, "_numpy_column", _typed),
            swapped(dpreg.results.predict, "schema_to_dict", _published),
        ),
        ("neighbours",),
    ),
    Mutant(
        "a file is read for its schema", swapped(parquet, "refuse_other_files", _eager), ("unread",)
    ),
    Mutant(
        "a draw that cannot be rounded is refused by the core, after the charge",
        swapped(tukey_em, "_rounding_is_paid", lambda _: lambda *_: True),
        ("refused before",),
    ),
]
