"""`dp_test`: any test, by blocks."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.errors import ArgumentError, BudgetError, unusable
from dpreg.base.keywords import hinted
from dpreg.base.later import pa, pd, pq
from dpreg.base.options import is_number, is_whole
from dpreg.calls.isolation import drawing_from, stopping, unheard
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, begin
from dpreg.data.containers import open_source
from dpreg.data.design import unit_labels
from dpreg.data.roles import check_unit
from dpreg.data.source import RowSource, quietly
from dpreg.estimation.blocks.block_counts import noisy_count
from dpreg.privacy.bits import Rng
from dpreg.privacy.certificate import PUBLIC
from dpreg.privacy.cost import Cost
from dpreg.results.block_test import DPTest

# Blocks by default, times eps, and at least; and the threshold: nearly the most powerful for
# two-sided p-values of a normal statistic, by public computation.
_BLOCKS, _LEAST_BLOCKS, _THRESHOLD = 12.0, 5, 0.2
_MOST_BLOCKS = 2**16

Rows = np.ndarray[Any, np.dtype[np.int64]]
PValues = Callable[[Rows, int], float]


@hinted("dp_test")
def dp_test(
    statistic: Callable[[pd.DataFrame], float],
    data: pd.DataFrame | str | os.PathLike[str],
    eps: float,
    *,
    blocks: int | None = None,
    threshold: float = _THRESHOLD,
    unit: str | None = None,
    budget: Payer | None = None,
    rng: Rng | None = None,
) -> DPTest:
    """Test any hypothesis that has a p-value, with differential privacy and without bounds.

    Units are assigned to blocks at random, `statistic` computes a p-value for each block, and the
    number of small p-values is released with noise.  Under the null hypothesis this is a binomial
    number plus noise, whose distribution is known exactly.  The test has the nominal level if
    p-values of blocks are uniform, and is conservative otherwise.

    Parameters
    ----------
    statistic : callable
        Takes the rows of one block, a pandas data frame, and returns a p-value that is valid there:
        ``lambda d: scipy.stats.ttest_1samp(d["x"], 0).pvalue``.  *Privacy* below has the
        assumptions on it.  An exception counts as a p-value of 1, and so does a result that is not
        a number; output, logs and warnings are discarded.  `random` and ``np.random`` have a state
        of their own in each block.
    data : pandas DataFrame, or path of a Parquet file
        Private.  Each block of a file is a data frame that depends on its own rows only:
        dictionaries are decoded, and a column of integers with missing values in the block becomes
        one of floats.
    blocks : int, optional
        Default: 12 / eps, and at least 5.  For one-sided p-values use more, up to hundreds, and a
        `threshold` of 0.5.
    threshold : float, default 0.2
        What counts as small, in (0, 1).
    unit : str, optional
        Column that names the protected unit; default: one row is one unit.  Rows without one are
        left out.
    eps, budget, rng
        As for `dp_lm`; no delta is needed.

    Returns
    -------
    DPTest
        With `pvalue`.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Notes
    -----
    Blocks and noise reduce power: for 80% power of a two-sided test at the 5% level, about four
    times as many units are needed at eps = 1 as without privacy, and nine times as many at eps =
    0.3.

    Privacy
    -------
    guarantee : (eps, 0)-DP, if `statistic` is as below
    neighbours : add or remove one unit
    public : `statistic`, blocks, threshold, names and types of the columns, categories of a pandas
        category among them; not the number of rows
    proof : estimation/blocks/block_counts.md

    A unit is in one block, and a block counts 0 or 1, so a unit changes the count by at most 1,
    whatever `statistic` computes.  The function is given the records themselves, in this process.
    That is safe if it (1) uses only the values and order of its rows, and nothing that depends on
    other rows, such as variables, files or the state of this process; (2) leaves nothing behind in
    variables, files, a network, or threads and processes that continue to run; (3) does not end the
    process.  Functions of scipy and statsmodels, and compositions of them, satisfy this.  Run a
    function that somebody else wrote in a process of its own, without access to a network or to
    folders.

    References
    ----------
    Awan and Slavkovic (2018), "Differentially private uniformly most powerful tests for binomial
    data"; Pena and Barrientos (2022), "Differentially private methods for managing model
    uncertainty", for tests by blocks.

    Examples
    --------
    >>> import dpreg
    >>> from scipy import stats
    >>> d = dpreg.load_diamonds()
    >>> dpreg.dp_test(lambda b: stats.spearmanr(b["depth"], b["price"]).pvalue, d, 1.0).blocks
    12
    """
    if not callable(statistic):
        wanted, instead = "a function of a data frame that returns a p-value", ()
        if isinstance(statistic, str):
            instead = ("for terms of a model write fit.wald_test('x = 0')",)
        raise unusable("statistic", wanted, statistic, *instead)
    source = open_source(_checked(data))
    if unit is not None:
        check_unit(unit, source.schema)
    name = getattr(statistic, "__name__", type(statistic).__name__)

    def opened() -> tuple[PValues, Rows]:
        block, size = _opened(data)
        labels = np.arange(size) if unit is None else _labels(source, unit)
        # The rows of a block are made where what goes wrong counts as 1: a date may be none of
        # Python's, which is about a cell.
        return lambda rows, seed: statistic_of(lambda r: statistic(block(r)), rows, seed), labels

    how = Blocks(blocks, threshold)
    asked = Request.of("dp_test", locals(), {"formula": name, "delta": 0.0, "method": how})
    return test_by_blocks(asked, data, opened)


@dataclass(frozen=True, slots=True)
class Blocks:
    """How many blocks, None for the default, and which p-values are small."""

    blocks: int | None
    threshold: float


def test_by_blocks(
    request: Request, data: object, opened: Callable[[], tuple[PValues, Rows]]
) -> DPTest:
    """Charge a test, and count the small p-values of blocks.

    request: with the name of the statistic for a formula, and `Blocks` for a method. opened: reads
    the records, after they have been paid for.  Returns p-values, which must be those of
    `statistic_of` or be contained in the same way, and labels as of `blocks_of`.
    """
    session = begin(request, data)
    name, epsilon, bits = request.formula, session.allowance.epsilon, session.allowance.bits
    if session.payer.stratum is not None:
        why = "is that of one stratum, and all rows would be used"
        raise BudgetError("budget", why, "give the budget of all strata")
    number, threshold = _checked_blocks(request.method.blocks, epsilon), request.method.threshold
    if not is_number(threshold) or not 0 < threshold < 1:
        raise unusable("threshold", "a number in (0, 1)", threshold)
    receipt = session.pay("blocks", Cost.pure(epsilon))

    with receipt.running():
        p_values, labels = opened()
        with unheard():
            count, fraction, part = noisy_count(
                p_values, labels, number, float(threshold), epsilon, bits
            )
    public = (*PUBLIC, "the statistic")
    privacy, _ = receipt.settle("count of blocks", "basic", (part,), public)
    return DPTest(name, count, fraction, number, float(threshold), privacy)


def _checked_blocks(blocks: int | None, epsilon: float) -> int:
    if blocks is None:
        return min(max(_LEAST_BLOCKS, math.ceil(_BLOCKS / epsilon)), _MOST_BLOCKS)
    if not is_whole(blocks) or not 1 <= blocks <= _MOST_BLOCKS:
        raise unusable("blocks", f"a whole number from 1 to {_MOST_BLOCKS}", blocks)
    return int(blocks)


def _checked(data: Any) -> Any:
    """Refuse what is neither a pandas data frame nor the path of a file."""
    if isinstance(data, pd.DataFrame):
        return data
    if not isinstance(data, (str, os.PathLike)) or os.path.isdir(data) or "*" in str(data):
        kind = type(data).__name__
        raise ArgumentError(
            "data",
            "must be a pandas data frame, whose rows `statistic` is given, or the path of one "
            f"Parquet file, not {'many' if isinstance(data, (str, os.PathLike)) else 'a ' + kind}",
        )
    return data


def _opened(data: Any) -> tuple[Callable[[Rows], pd.DataFrame], int]:
    """Return a function that makes a data frame of some rows, without the others, and n."""
    if isinstance(data, pd.DataFrame):
        frame: pd.DataFrame = quietly(_decoded, data)
        # Columns of Arrow that are too long to be put together fail here, and not in every block.
        quietly(frame.iloc.__getitem__, np.empty(0, dtype=np.int64))
        return lambda rows: frame.iloc[rows].reset_index(drop=True), len(data)
    table = quietly(pq.read_table, data)
    batches = table.to_batches()
    starts = np.cumsum([0, *map(len, batches)])
    plain = pa.schema([field.with_type(_plain(field.type)) for field in table.schema])

    def block(rows: Rows) -> pd.DataFrame:
        # Batch by batch, as `take` puts a whole column together, which fails for long text.
        cuts = np.searchsorted(rows, starts)
        taken = [
            batch.take(pa.array(rows[begin:end] - start))
            for batch, start, (begin, end) in zip(
                batches, starts[:-1], itertools.pairwise(cuts), strict=True
            )
            if end > begin
        ]
        # The entries of a dictionary are those of all rows.
        parts = [
            pa.record_batch([column.cast(_plain(column.type)) for column in part], schema=plain)
            for part in taken
        ]
        made: pd.DataFrame = pa.Table.from_batches(parts, plain).to_pandas(ignore_metadata=True)
        return made

    return block, table.num_rows


def _decoded(data: pd.DataFrame) -> pd.DataFrame:
    """Return values for dictionaries of Arrow, whose entries are those of all rows."""
    frame = data.copy(deep=False)
    frame.attrs = {}  # which may say how many rows there are
    for place, dtype in enumerate(data.dtypes):
        if isinstance(dtype, pd.ArrowDtype):
            kind = pd.ArrowDtype(_plain(dtype.pyarrow_dtype))
            frame.isetitem(place, data.iloc[:, place].astype(kind).array)
    return frame


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _labels(source: RowSource, unit: str) -> Rows:
    """Number the units in the order in which they come; -1 where there is none."""
    numbers: dict[bytes, int] = {}
    found = [unit_labels(batch.cells[unit].keys(), numbers) for batch in source.batches([unit])]
    return np.concatenate([*found, np.empty(0, dtype=np.int64)])


def statistic_of(statistic: Callable[[Any], float], rows: Any, seed: int) -> float:
    """Return the p-value of one block; 1 whatever goes wrong.

    Raises KeyboardInterrupt if the user stops the process, even if the statistic handles it.
    """
    with stopping() as stopped:
        try:
            with drawing_from(seed):
                value = float(statistic(rows))
        except BaseException:  # an exit, or a panic of polars, would tell of the rows too
            value = 1.0
        if stopped():
            raise KeyboardInterrupt
    return value
