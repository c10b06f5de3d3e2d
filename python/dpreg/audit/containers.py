"""The boundary: what comes from a table is public by declaration, or paid for.

Neighbouring tables with an odd row, in several containers; the tests make many thousands more.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpreg.audit._finding import nothing_lost
from dpreg.audit.observed import difference, observe
from dpreg.base.errors import BudgetError
from dpreg.base.later import pa, pd, pq
from dpreg.calls.lm import dp_lm
from dpreg.data.formula.surv import read_surv
from dpreg.estimation.base import Method
from dpreg.estimation.methods import DPSGD, AdaSSP, TukeyEM
from dpreg.privacy.budget import Budget

_LEVELS = {"c": ["a", "b"]}
_ROWS = 6
# Formulas and units; the last formula is that of the records of `dp_survival`.
_HAZARDS = read_surv("Surv(y, x == 1) ~ c").columns
_CALLS = (("y ~ x + c", None), ("y ~ x + c", "who"), (_HAZARDS, None))
# The last row of each column, beside rows that are all alike: what its cell may be.
_ODD: tuple[dict[str, Any], ...] = (
    {}, {"x": None}, {"y": None}, {"c": None}, {"who": None}, {"c": b"z"}, {"c": b"\xff\xfe"},
    {"who": 1}, {"who": 1_000}, {"who": 2**62}, {"who": -(2**62)}, {"x": 2**62}, {"x": -(2**62)},
    {"y": math.inf}, {"y": math.nan}, {"y": 1e308}, {"y": -5e-324},
)  # fmt: skip


def _table(rows: int, odd: dict[str, Any] | None) -> Any:
    """Return an Arrow table of `rows` plain rows and, perhaps, an odd one."""
    plain = {"x": 1, "y": 2.0, "c": b"a", "who": 0}
    cells = [dict(plain) for _ in range(rows)] + ([] if odd is None else [{**plain, **odd}])
    kinds = {"x": pa.int64(), "y": pa.float64(), "c": pa.binary(), "who": pa.int64()}
    columns = {n: pa.array([row[n] for row in cells], kind) for n, kind in kinds.items()}
    # A reader that does not look hands any bytes on as text.
    columns["c"] = pa.Array.from_buffers(pa.string(), len(cells), columns["c"].buffers())
    columns["who"] = columns["who"].view(pa.timestamp("ns"))
    return pa.table(columns)


def _dictionaries(table: Any) -> Any:
    encoded = table["c"].dictionary_encode()
    ordered = [
        pa.DictionaryArray.from_arrays(c.indices, c.dictionary, ordered=True)
        for c in encoded.chunks
    ]
    kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    return table.set_column(2, "c", pa.chunked_array(ordered, kind))


def _pandas(table: Any) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _inferred(table: Any) -> Any:
    """As a reader infers: integers become floats when one is missing."""
    frame = _pandas(table)
    missing = table["x"].null_count > 0
    return frame.assign(x=np.array(table["x"].to_pylist(), dtype="f8" if missing else "i8"))


def _written(table: Any, path: Path) -> Path:
    pq.write_table(table, path, use_dictionary=False)
    return path


# How a table is held; a file at the path that is given too.
_CONTAINERS: dict[str, Callable[[Any, Path], Any]] = {
    "pyarrow": lambda table, _: table,
    "pyarrow dictionaries": lambda table, _: _dictionaries(table),
    "pandas": lambda table, _: _pandas(table),
    "pandas as it infers": lambda table, _: _inferred(table),
    "dict": lambda table, _: {name: table[name] for name in table.column_names},
    "parquet": _written,
    "parquet of dictionaries": lambda table, path: _written(_dictionaries(table), path),
}


@nothing_lost("neighbours", "neighbouring tables in containers")
def _neighbours(seed: int) -> Iterator[str]:
    """A row more, however odd, changes nothing that can be seen and no other row."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _faults(Path(folder) / "t.parquet")


def _faults(path: Path) -> Iterator[str]:
    for name, make in _CONTAINERS.items():
        for rows in (0, _ROWS):
            for formula, unit in _CALLS:
                call = {"levels": _LEVELS, "unit": unit}
                without = observe(formula, make(_table(rows, None), path), **call)
                for odd in _ODD:
                    if unit and odd.get("who", 0) == 0 and rows:
                        continue  # one row more of a unit that is there
                    having = observe(formula, make(_table(rows, odd), path), **call)
                    said = difference(without, having, grouped=unit is not None)
                    noisy = "" if having.quiet else f"{having.failure or having.warned}"
                    yield f"{name}, {formula}, {odd}: {said or noisy}" if said or noisy else ""


@nothing_lost("unread", "no page of a file is read before the charge")
def _unread(seed: int) -> Iterator[str]:
    """A file whose pages are damaged fails when it is read: after the charge, and not before."""
    with tempfile.TemporaryDirectory() as folder:
        path = _written(_table(200, None), Path(folder) / "t.parquet")
        content = bytearray(path.read_bytes())
        content[4:100] = bytes(96)
        path.write_bytes(content)
        seen = observe("y ~ x", path)
    failed = seen.failure is not None and seen.failure[0] == "SourceError"
    yield "" if failed and len(seen.charges) == 1 else f"{seen.failure}, {seen.charges}"


@nothing_lost("refused before", "refused before the charge")
def _refusals(seed: int) -> Iterator[str]:
    """What public conditions refuse is refused before the charge; the rest declines."""
    data = {"x": np.arange(40.0), "y": np.arange(40.0)}
    methods: tuple[Method, ...] = (
        TukeyEM(), TukeyEM(models=4), TukeyEM(models=100_000), TukeyEM(models=10**6), AdaSSP(),
        DPSGD(steps=3),
    )  # fmt: skip
    for method in methods:
        for epsilon in (1e-9, 1e-6, 1e-3, 500.0):
            budget, fault = Budget(500.0, 1e-3), ""
            try:
                dp_lm("y ~ x", data, epsilon, 1e-5, method=method, budget=budget, rng=seed)
            except BudgetError as error:
                if budget.charges:
                    fault = f"{method}, eps={epsilon}: {error}"
            except Exception as error:
                fault = f"{method}, eps={epsilon}: {type(error).__name__}: {error}"
            yield fault
