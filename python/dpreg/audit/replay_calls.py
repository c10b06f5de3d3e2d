"""Calls of the public functions, with all their options, and the containers of their data."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpreg import _core, mechanisms
from dpreg.base.errors import ArgumentError
from dpreg.base.families import BINOMIAL, GAUSSIAN, Family, family_from, with_link
from dpreg.base.later import pa, pq
from dpreg.calls.classes import dp_multinomial, dp_ordinal
from dpreg.calls.curve import dp_curve
from dpreg.calls.effect import dp_effect
from dpreg.calls.lm import dp_glm, dp_lm
from dpreg.calls.moments import dp_moments
from dpreg.calls.select import dp_select
from dpreg.calls.survival import dp_survival
from dpreg.estimation.inference.start import Start
from dpreg.privacy.budget import Budget

Generator = np.random.Generator

# Declared levels of the categorical columns, most of the last of which few rows have; and strata
# of the budget.
LEVELS = {"c": ("u", "v", "w"), "p": ("1", "2", "3"), "r": tuple("ABCDEFGH")}
STRATA = ("north", "south")
# At little epsilon small tables are declined; at much, all stages are reached.
_EPSILONS, _DELTAS = (0.1, 1.0, 1.0, 5.0, 20.0, 100.0), (1e-5, 1e-5, 1e-2)

CONTAINERS = ("pandas", "pandas", "pandas", "dict", "pyarrow")
# With so few rows in a group or a file, small tables have several.
FILES, _GROUP, _PARTS = ("parquet", "parquet files", "dask"), 7, 3

_FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (dp_effect, dp_lm, dp_glm, dp_moments, dp_select, dp_survival, dp_curve,
                     dp_ordinal, dp_multinomial)
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublicCall:
    """One call of a public function, but for its data."""

    function: str  # Of `dpreg`, or of `dpreg.mechanisms`, which takes arrays.
    formula: str  # For arrays: names of the columns, the response first.
    claim: tuple[float, float]  # Epsilon and delta.
    options: Mapping[str, Any] = field(default_factory=dict)  # All other arguments.
    container: str = "pandas"  # Of the data; see `held`.
    stratum: str | None = None  # A level of column ``s``, whose budget pays.

    def __str__(self) -> str:
        options = {"eps": self.claim[0], "delta": self.claim[1], **self.options}
        if not self.has_delta:
            del options["delta"]
        named = ", ".join(f"{name}={_spelled(value)}" for name, value in options.items())
        if self.stratum is not None:
            named += f", budget=Budget{self.claim}.partition('s', {list(STRATA)})[{self.stratum!r}]"
        if self.of_arrays:
            y, *x = self.formula.split()
            arrays = f"data[{x}].to_numpy(), data[{y!r}].to_numpy()"
            return f"mechanisms.{self.function}({arrays}, {named})"
        return f"{self.function}({self.formula!r}, data, {named})"

    @property
    def title(self) -> str:
        """Function, family and method, for a table."""
        words = [_label(self.family)] if "family" in self.options else []
        given = [self.options[name] for name in ("select", "method") if name in self.options]
        words += [getattr(one, "name", one) for one in given]
        return f"{'mechanisms.' * self.of_arrays}{self.function}({', '.join(words)})"

    @property
    def unit(self) -> str | None:
        """Column of the protected unit."""
        unit: str | None = self.options.get("unit")
        return unit

    @property
    def family(self) -> Family:
        """What the response is like, or the rows of ordered classes."""
        link = self.options.get("link")
        default = GAUSSIAN if link is None else BINOMIAL
        return with_link(family_from(self.options.get("family", default)), link)

    @property
    def draws_units(self) -> bool:
        """Whether units or rows are drawn, by their numbers: for models, steps or a part."""
        asked = (self.options.get("method"), self.options.get("select"))
        names = {getattr(one, "name", "") for one in asked} | {self.function}
        drawing = {"tukey", "auto", "sub_lasso", "two_stage", "tukey_em", "dpsgd"}
        return "split" in self.options or not names.isdisjoint(drawing)

    @property
    def of_arrays(self) -> bool:
        """Whether it takes arrays."""
        return self.function not in _FUNCTIONS

    @property
    def has_delta(self) -> bool:
        """Whether it takes a delta."""
        return bool(self.claim[1]) or not (self.of_arrays or self.function == "dp_curve")

    def __call__(self, table: pd.DataFrame, bits: _core.BitSource) -> str:
        """Make the call, and return all that comes out."""
        arguments: dict[str, Any] = {**self.options, "rng": bits, "eps": self.claim[0]}
        if self.has_delta:
            arguments["delta"] = self.claim[1]
        if self.stratum is not None:
            arguments["budget"] = Budget(*self.claim).partition("s", list(STRATA))[self.stratum]
        try:
            if self.of_arrays:
                y, *x = self.formula.split()
                arrays = table[x].to_numpy(), table[y].to_numpy()
                found = getattr(mechanisms, self.function)(*arrays, **arguments)
            else:
                with held(table, self.container) as data:
                    found = _FUNCTIONS[self.function](self.formula, data, **arguments)
        except ArgumentError as error:
            return f"refused: {error}"
        text = found.to_json() if hasattr(found, "to_json") else repr(found)
        return text + repr(arguments["budget"]) if "budget" in arguments else text


def one_of(rng: Generator, choices: Any) -> Any:
    """Draw one of the choices."""
    return choices[int(rng.integers(len(choices)))]


def with_levels(formula: str, options: dict[str, Any]) -> dict[str, Any]:
    """Declare the levels of the columns that a formula names."""
    words = "".join(c if c.isalnum() else " " for c in formula).split()
    used = {name: list(levels) for name, levels in LEVELS.items() if name in words}
    return {**options, "levels": used} if used else options


def random_claim(rng: Generator) -> tuple[float, float]:
    """Epsilon and delta."""
    return one_of(rng, _EPSILONS), one_of(rng, _DELTAS)


def some(rng: Generator, share: float, **options: Any) -> dict[str, Any]:
    """Return options in such a share of calls, and none in the others."""
    return options if rng.random() < share else {}


def random_units(rng: Generator, most: int = 3) -> dict[str, Any]:
    """Units of several rows, of which 1 to `most` are used."""
    return {"unit": "who", "max_rows": int(rng.integers(1, most + 1))}


def _spelled(value: Any) -> str:
    """Write a value as a user does: of options what is not a default."""
    if isinstance(value, Family):
        return _label(value)
    if isinstance(value, Start):
        return f"Start.from_json({value.to_json()!r})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = type(value)()
        given = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        named = (f"{name}={x!r}" for name, x in given if x != getattr(plain, name))
        return f"{type(value).__name__}({', '.join(named)})"
    return repr(value)


def _label(family: Family) -> str:
    if family.level is not None:
        return f"Quantile({family.level:g})"
    if family.alpha is not None:
        return f"NegativeBinomial({family.alpha:g})"
    return family.link if family.link in ("probit", "cloglog") else family.name


@contextlib.contextmanager
def held(table: pd.DataFrame, container: str) -> Iterator[Any]:
    """Hold a table of doubles and text in a container, its rows in their order.

    Without Dask a table of its partitions is one of pandas.
    """
    if container == "dict":
        yield {name: table[name].to_numpy() for name in table.columns}
    elif container == "pyarrow":
        yield _arrow(table)
    elif container.startswith("parquet"):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            yield _written(table, several="files" in container)
    elif container == "dask" and importlib.util.find_spec("dask") is not None:
        with _partitioned(table) as frame:
            yield frame
    else:
        yield table


def _arrow(table: pd.DataFrame) -> Any:
    # With a declared type for text, or a column without a row would have another one.
    kinds = {"f": pa.float64(), "O": pa.string()}
    schema = pa.schema([(name, kinds[table[name].dtype.kind]) for name in table.columns])
    return pa.Table.from_pandas(table, schema, preserve_index=False)


def _written(table: pd.DataFrame, *, several: bool) -> str:
    """Write a file, or some, to the present folder; its name is the same for all tables."""
    rows = _arrow(table)
    if not several:
        pq.write_table(rows, "table.parquet", row_group_size=_GROUP)
        return "table.parquet"
    Path("table").mkdir()
    for number, first in enumerate(range(0, len(table) + 1, _GROUP)):
        pq.write_table(rows.slice(first, _GROUP), f"table/{number:04}.parquet")
    return "table"


@contextlib.contextmanager
def _partitioned(table: pd.DataFrame) -> Iterator[Any]:
    import dask
    import dask.dataframe as dd

    divide: Any = dd.from_pandas
    with dask.config.set(scheduler="synchronous"):
        yield divide(table, npartitions=_PARTS, sort=False)
