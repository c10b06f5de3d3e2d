"""Every instruction set gives the same bits, and exact sums, at the ends of ranges too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from row_recipes import recipe, rounded

from dpreg import _core

STEPS = _core.ROW_STEPS
WIDTHS = [1, 2, 7, 8, 9, 16, 17, 24, 25, 33, 40, 65, 300]


@pytest.fixture
def each():
    """Return what `work` returns with each instruction set that this processor has."""
    before = _core.testing.instructions_in_use()

    def results(work):
        found = []
        for choice in _core.testing.instruction_sets():
            _core.testing.use_instructions(choice)
            found.append(work())
        return found

    yield results
    _core.testing.use_instructions(before)


def rows_of(q, y, limit=1.0):
    """Rows that hold the integers q as they are."""
    n, width = q.shape
    stride = -(-width // 8) * 8
    held = np.zeros((n, stride), dtype=np.int16)
    held[:, :width] = q
    rows = _core.QuantisedRows.__new__(_core.QuantisedRows)
    none = np.empty(0)
    rows.__setstate__(
        (width, limit, held.ravel(), y, np.empty(0, np.uint64), _core.Loss(), none, none)
    )
    return rows


def kinds_of_rows(n, width, rng):
    """Integers no longer than a row may be: random ones, and those that add up fastest."""
    directions = rng.standard_normal((n, width))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    yield "random", np.trunc(STEPS * directions)
    one = np.zeros((n, width))
    one[:, width // 2] = STEPS
    yield "one entry", one
    yield "one entry, below 0", -one
    two = np.zeros((n, width))
    two[:, [0, -1]] = math.floor(STEPS / math.sqrt(2)) if width > 1 else STEPS
    yield "two entries", two
    two[:, -1] *= -1
    yield "two entries, one below 0", two
    yield "all alike", np.full((n, width), math.floor(STEPS / math.sqrt(width)))
    yield "nothing", np.zeros((n, width))


@pytest.mark.parametrize("n", [1, 2, 13, 14, 15, 29, 513])
def test_gram_matrices_are_exact(each, n):
    rng = np.random.default_rng(n)
    for width in WIDTHS:
        for kind, q in kinds_of_rows(n, width, rng):
            rows = rows_of(q, np.zeros(n))
            expected = q.T @ q  # integers below 2^53: any order, the same doubles
            for gram in each(rows.gram):
                np.testing.assert_array_equal(gram, expected, err_msg=f"{kind} {width}")


@pytest.mark.parametrize("n", [1, 5, 6, 7, 48, 49, 97])
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e9])
def test_rounds_and_scores_are_exact(each, n, size):
    rng = np.random.default_rng(n)
    for width in WIDTHS:
        theta = rng.standard_normal(width)
        held = rounded(theta)
        step = 2.0 ** (math.frexp(math.sqrt(sum(float(v) ** 2 for v in theta)))[1] - 26)
        for kind, q in kinds_of_rows(n, width, rng):
            y = size * rng.choice([-1.0, 1.0, 0.3], n)
            rows, dots = rows_of(q, y), q @ (held / step)
            residual = y - dots * (step * (1 / STEPS))
            p = np.rint(STEPS * np.clip(residual / 0.7, -1, 1))
            for gradient, squares in each(lambda r=rows, t=theta: r.round(t, 0.7)):
                np.testing.assert_array_equal(gradient, q.T @ p, err_msg=f"{kind} {width}")
                assert squares == (p**2).sum()
            longest = _core.SCORE_STEPS / np.maximum(np.sqrt((q**2).sum(axis=1)), 1)
            per_residual = _core.SCORE_STEPS * (1 / STEPS) / 0.9
            p = np.rint(np.clip(residual * per_residual, -longest, longest))
            for score in each(lambda r=rows, t=theta: r.score(t, 0.9)):
                np.testing.assert_array_equal(score, q.T @ p, err_msg=f"{kind} {width}")
            v = np.rint(p[:, None] * q * (STEPS / _core.SCORE_STEPS))
            for products in each(lambda r=rows, t=theta: r.score_products(t, 0.9)):
                np.testing.assert_array_equal(products, v.T @ v, err_msg=f"{kind} {width}")


def test_rows_of_many_columns_stay_exact(each):
    """Coefficients whose low parts all count in full: sums of them are taken in parts."""
    rng = np.random.default_rng(5)
    width = 5000
    q = np.full((3, width), math.floor(STEPS / math.sqrt(width)))
    theta = np.sign(rng.standard_normal(width)) * (1 + 2.0**-14)
    q = q * np.sign(theta)
    rows, held = rows_of(q, np.zeros(3)), rounded(theta)
    residual = -(q @ held) * (1 / STEPS)
    p = np.rint(STEPS * np.clip(residual / 80.0, -1, 1))
    for gradient, _ in each(lambda: rows.round(theta, 80.0)):
        np.testing.assert_array_equal(gradient, q.T @ p)


CELLS = [0.0, 1.0, -1.0, 3.7, 1e9, -1e300, 5e-324, np.nan, np.inf]


@pytest.mark.parametrize("mapped", ["no map", "map", "map that is not finite"])
@pytest.mark.parametrize("response_limit", [0.0, 1.5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_the_same(each, mapped, response_limit, order):
    """All of a row, whatever lies beside it: as it would be alone."""
    rng = np.random.default_rng(8)
    for d in (1, 3, 8, 20, 33):
        x = rng.choice([*CELLS, *rng.standard_normal(40)], (101, d))
        x[::2] = rng.standard_normal((51, d))
        x[::4, : d // 2] = 0.0
        y = rng.standard_normal(101)
        y[7], y[8] = np.nan, np.inf
        how = recipe(list(range(d)), limits=np.inf, response_limit=response_limit)
        if mapped != "no map":
            change = rng.standard_normal((d + 1, d + 1))
            if mapped == "map that is not finite":
                change[1, 0] = np.inf
            how.map = change

        def state(rows):
            return rows.__getstate__()[2].reshape(rows.rows, -1), rows.__getstate__()[3]

        table = np.asarray(x, order=order)
        first, *others = each(lambda t=table, v=y, h=how: state(_core.QuantisedRows(t, v, h)))
        for other in others:
            np.testing.assert_array_equal(other[0], first[0])
            np.testing.assert_array_equal(other[1].view(np.uint64), first[1].view(np.uint64))
        alone = [
            state(_core.QuantisedRows(table[i : i + 1], y[i : i + 1], how)) for i in range(101)
        ]
        np.testing.assert_array_equal(first[0], np.vstack([q for q, _ in alone]))
        np.testing.assert_array_equal(first[1], np.concatenate([v for _, v in alone]))


def test_losses_are_the_same(each):
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((333, 20)), rng.poisson(1.0, 333).astype(float)
    theta = rng.standard_normal(21) / 3
    for kind in (
        "logistic", "probit", "cloglog", "poisson", "counting", "gamma", "negative_binomial",
        "quantile",
    ):  # fmt: skip
        how = recipe(list(range(20)), limits=np.inf, row_limit=5.0)
        loss = _core.Loss()
        loss.kind = getattr(_core.LossKind, kind)
        loss.least_response, loss.most_response = 0.0, 5.0
        loss.least_predictor, loss.most_predictor = -9.0, 9.0
        how.loss = loss

        def sums(how=how):
            rows = _core.QuantisedRows(x, y, how)
            return np.concatenate(
                [
                    rows.score(theta, 2.0),
                    rows.score_norms(theta),
                    rows.score_products(theta, 2.0).ravel(),
                    rows.curvature(theta, 2.0).ravel(),
                ]
            )

        first, *others = each(sums)
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_only_instructions_of_this_processor_can_be_chosen():
    sets = _core.testing.instruction_sets()
    assert sets[0] == _core.testing.Instructions.portable
    if sets[-1] != _core.testing.Instructions.avx512:
        with pytest.raises(ValueError, match="processor"):
            _core.testing.use_instructions(_core.testing.Instructions.avx512)


@pytest.mark.parametrize("columns", [1, 3, 8, 21])
def test_counts_and_moments_of_columns_are_the_same(each, columns):
    rng = np.random.default_rng(columns)
    for n in (0, 1, 7, 64, 65, 1000):
        x = rng.choice([*CELLS, *rng.standard_normal(40)], (n, columns))
        low, high = np.full(columns, -2.0), np.full(columns, 1.5)
        first, *others = each(
            lambda x=x, a=low, b=high: np.concatenate(
                [_core.interval_counts(x, a, b, 7).ravel(), _core.moment_sums(x, a, b - a)]
            )
        )
        for other in others:
            np.testing.assert_array_equal(other, first)


@pytest.mark.parametrize("response_limit", [0.0, 1.5])
def test_gram_matrices_need_no_rows_in_memory(each, response_limit, use_threads):
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((1300, 20)), rng.standard_normal(1300)
    x[5, 3] = np.nan
    how = recipe(list(range(20)), response_limit=response_limit)
    expected = _core.QuantisedRows(x, y, how).gram()
    for threads in (1, 3):
        use_threads(threads)
        for gram in each(lambda: _core.mapped_gram(x, y, how)):
            np.testing.assert_array_equal(gram, expected)
    loss = _core.Loss()
    loss.kind = _core.LossKind.logistic
    how.loss = loss
    np.testing.assert_array_equal(
        _core.mapped_gram(x, y, how), _core.QuantisedRows(x, y, how).gram()
    )


def made(X, y, how):
    """The integers and the response of each row, as bytes."""
    width, _, q, y, *_ = _core.QuantisedRows(X, y, how).__getstate__()
    return np.asarray(q).reshape(len(y), -1)[:, :width].copy(), np.asarray(y).copy()


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 17])
@pytest.mark.parametrize("kind", ["plain", "map", "aim", "limits", "weights"])
def test_a_row_is_the_same_bits_alone_and_among_others(each, columns, kind):
    """Rows that are complete and short are made together: what they get is what each would get."""
    rng = np.random.default_rng(columns)
    n, width = 41, columns + 1
    X, y = rng.standard_normal((n, columns)), rng.standard_normal(n)
    odd = rng.random((n, columns)) < 0.2 / columns
    X[odd] = rng.choice([np.nan, np.inf, -0.0, 1e308, 50.0], odd.sum())
    y[rng.random(n) < 0.05] = np.nan
    more = {
        "plain": {},
        "map": {},
        "aim": {"aim": rng.standard_normal(width).tolist()},
        "limits": {},
        "weights": {"weight": 0, "most_weight": 3.0},
    }[kind]
    if kind != "plain":
        more["map"] = rng.standard_normal((width, width)) / width
    how = recipe(
        range(columns), limits=1.0 if kind == "limits" else math.inf, row_limit=1.5, **more
    )
    alone = [made(X[i : i + 1].copy(), y[i : i + 1], how) for i in range(n)]
    q, responses = (np.concatenate(parts) for parts in zip(*alone, strict=True))
    assert 0 < (q == 0).all(axis=1).sum() < n
    for order in (np.arange(n), rng.permutation(n)):
        layouts = [X[order], np.asfortranarray(X[order]), np.repeat(X[order], 2, axis=1)[:, ::2]]
        for layout in layouts:
            for found in each(lambda layout=layout, order=order: made(layout, y[order], how)):
                np.testing.assert_array_equal(found[0], q[order])
                np.testing.assert_array_equal(
                    found[1].view(np.int64), responses[order].view(np.int64)
                )


def test_rows_are_short_alone_and_beside_others_where_squares_have_few_bits(use_threads):
    """A row was left as it is alone, and shortened beside a long one."""
    use_threads(1)
    limit = 1.0382362807759372e-161
    how = recipe([0, 1], limits=math.inf, row_limit=limit, intercept=False)
    how.centre, how.inverse_scale = [0.0, 0.0], [1.0, 1.0]
    X = np.array([[0.9347, 0.3496], [50.0, 50.0]]) * limit
    alone, beside = (made(X[rows], np.zeros(len(rows)), how)[0][0] for rows in ([0], [0, 1]))
    np.testing.assert_array_equal(alone, beside)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 20])
def test_votes_are_the_same(each, columns):
    """However rows lie in memory, and whatever lies beside one."""
    rng = np.random.default_rng(columns)
    x, y = rng.standard_normal((203, columns)), rng.standard_normal(203)
    odd = np.where(rng.random(x.shape) < 0.05, rng.choice(CELLS, x.shape), x)
    slopes, low = rng.standard_normal(columns), rng.uniform(-4.0, -1.0, (3, columns + 1))
    low[:, 0] = -np.inf
    high = rng.uniform(1.0, 9.0, low.shape)

    def votes(x, y):
        return _core.tail_votes(x, y, slopes, 0.1, low=low, high=high, unit=0.7)

    for table in (x, odd):
        alone = sum(votes(table[[k]], y[[k]]) for k in range(len(y)))
        assert np.any(alone)
        for order in ("C", "F"):
            laid = np.array(table, order=order)
            for found in each(lambda t=laid: votes(t, y)):
                np.testing.assert_array_equal(found, alone)


def test_rows_of_a_loss_are_the_same_alone(each):
    """Responses, weights and what rounding takes off, of rows that are all complete."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((53, 12)), rng.standard_normal(53)
    x[:, 11] = rng.choice([0.0, 0.5, 3.0], 53, p=[0.1, 0.5, 0.4])
    loss = _core.Loss()
    loss.kind = _core.LossKind.poisson
    loss.least_response, loss.most_response = -0.0, 0.5
    for roles in ({}, {"weight": 11}, {"weight": 11, "given": [10]}):
        aim = rng.standard_normal(10)
        how = recipe(list(range(9)), limits=np.inf, row_limit=3.0, aim=aim, loss=loss, **roles)

        def state(first, last, how=how):
            _, _, q, y_held, _, _, *beside = _core.QuantisedRows(
                x[first:last], y[first:last], how
            ).__getstate__()
            return [q, *(v.view(np.uint64) for v in (y_held, *beside))]

        rows = zip(*(state(k, k + 1) for k in range(53)), strict=True)
        alone = [np.concatenate(parts) for parts in rows]
        for together in each(lambda: state(0, 53)):
            for part, expected in zip(together, alone, strict=True):
                np.testing.assert_array_equal(part, expected)
