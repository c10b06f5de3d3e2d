"""The estimators in scikit-learn: its own checks, pipelines, searches that say what they cost."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpreg
from dpreg.base.errors import ArgumentError, BudgetError, SchemaError
from dpreg.sklearn import (
    DPFeatureSelector,
    DPLinearRegression,
    DPLogisticRegression,
    NotReleasedError,
)

# At such an eps even the 20 rows of the checks are a release.
EASY = [DPLinearRegression(eps=500, delta=0.5, random_state=1), DPFeatureSelector(random_state=1)]
_PRIVATE_CHECKS = {
    "check_dtype_object": "whether objects are numbers would be read from the cells",
    "check_estimators_empty_data_messages": "the number of rows is private: no error tells of it",
}
_OF_REGRESSION = {
    "check_supervised_y_no_nan": "a cell that is infinite must not be told by an error",
    "check_fit2d_1sample": "the number of rows is private: one row is declined, as any few are",
}


def excluded(estimator):
    regression = isinstance(estimator, DPLinearRegression)
    return _PRIVATE_CHECKS | (_OF_REGRESSION if regression else {})


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(EASY, expected_failed_checks=excluded)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((4000, 6)), columns=list("abcdef"))
    return X, X["a"] - 2 * X["b"] + 0.1 * rng.standard_normal(4000)


def test_it_is_dp_lm(data):
    X, y = data
    model = DPLinearRegression(eps=2.0, delta=1e-6, inference=True, random_state=3).fit(X, y)
    fit = dpreg.dp_lm("y ~ " + " + ".join(X), X.assign(y=y), 2.0, 1e-6, rng=3)
    np.testing.assert_array_equal(model.coef_, fit.params.iloc[1:])
    assert model.intercept_ == fit.params.iloc[0]
    np.testing.assert_allclose(model.predict(X), fit.predict(X), rtol=1e-12)
    assert model.privacy_ == fit.privacy
    assert model.results_.bse.notna().all()
    assert model.score(X, y) > 0.9


def test_a_search_says_what_it_cost(data):
    X, y = data
    budget = dpreg.Budget(10.0, 1e-4)
    model = DPLinearRegression(eps=1.0, delta=1e-6, budget=budget, random_state=1)
    cross_val_score(model, X, y, cv=5)
    assert len(budget.charges) == 5
    assert clone(model).budget is budget
    search = GridSearchCV(model, {"method": ["adassp", "boosted_adassp"]}, cv=2, refit=False)
    search.fit(X, y)
    assert len(budget.charges) == 9
    with pytest.raises(BudgetError):
        cross_val_score(model, X, y, cv=5, error_score="raise")


def test_a_pipeline_of_selection_and_fit(data):
    X, y = data
    budget = dpreg.Budget(3.0, 1e-4)
    chain = make_pipeline(
        DPFeatureSelector(2, eps=1.0, budget=budget, random_state=1),
        DPLinearRegression(eps=2.0, delta=1e-6, budget=budget, random_state=1),
    )
    chain.fit(X, y)
    assert list(chain[0].get_feature_names_out()) == ["a", "b"]
    assert chain.score(X, y) > 0.9
    assert [charge.epsilon for charge in budget.charges] == [1.0, 2.0]


@pytest.mark.parametrize("label", ["columns", "__dask_graph__", "shape", "to_numpy"])
def test_labels_of_rows_are_not_looked_at(label):
    """A series has them for attributes: a row with the first raised an error about its cell."""
    y = pd.Series(np.arange(40.0), index=[*range(39), label])
    plain, labelled = (
        DPLinearRegression(eps=200.0, delta=0.1, random_state=1).fit(np.ones((40, 1)), target)
        for target in (y.to_numpy(), y)
    )
    assert plain.results_.to_json() == labelled.results_.to_json()


@pytest.mark.parametrize(
    "X",
    [
        np.full((50, 2), np.nan),
        np.zeros((0, 2)),
        np.ones((50, 2)),
        np.array([[np.inf, -np.inf]] * 50),
        np.array([[1e300, 5e-324]] * 50),
    ],
)
def test_no_cell_and_no_number_of_rows_makes_another_error(X):
    """Declined, or released; scikit-learn's own validation would have raised."""
    model = DPLinearRegression(eps=1.0, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotReleasedError, match="too small to estimate the scale"):
            model.fit(X, np.zeros(len(X)))
        DPFeatureSelector(1, random_state=1).fit(X, np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        model.predict(X)


def _matrices():
    """Tables of one type, of which the second has a cell that the type allows."""
    X = np.random.default_rng(1).standard_normal((40, 2))
    rows, long, huge = X.tolist(), X.astype(np.longdouble), X.astype(np.longdouble)
    huge[0, 0] = np.longdouble(10) ** 400
    yes, unknown = [True, False] * 20, [True, False] * 19 + [True, None]
    flags = pd.DataFrame({"a": yes}, dtype="boolean"), pd.DataFrame({"a": unknown}, dtype="boolean")
    return {
        "list, text": (rows, [*rows[1:], ["a", 1.0]]),
        "list, None": (rows, [*rows[1:], [None, 1.0]]),
        "list, short row": (rows, [*rows[1:], [1.0]]),
        "list, whole number": (rows, [*rows[1:], [10**400, 1]]),
        "list, complex": (rows, [*rows[1:], [1j, 1]]),
        "long double": (long, huge),
        "pandas, boolean": flags,
        "pandas, integer": tuple(flag.astype("Int64") for flag in flags),
        "polars": (pl.DataFrame({"a": yes}), pl.DataFrame({"a": unknown})),
        "pyarrow": (pa.table({"a": yes}), pa.table({"a": unknown})),
        "masked": (np.ma.masked_array(X, False), np.ma.masked_array(X, X > 1)),
    }


def _vectors():
    yes, unknown = [1.0, 0.0] * 20, [1.0, 0.0] * 19 + [1.0, None]
    truth = [bool(v) for v in yes], [None if v is None else bool(v) for v in unknown]
    return {
        "list": (yes, unknown),
        "list, text": (yes, [*yes[1:], "a"]),
        "column": ([[v] for v in yes], [[v] for v in unknown]),
        "pandas": tuple(pd.Series(values, dtype="boolean") for values in truth),
        "polars": tuple(pl.Series(values) for values in truth),
        "pyarrow": tuple(pa.array(values) for values in truth),
    }


def _outcome(estimator, X, y):
    """The number of charges, and the type of the error but for what may be said of records."""
    budget = dpreg.Budget(500.0, 0.5)
    estimator.set_params(eps=500.0, budget=budget, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataConversionWarning)
        try:
            estimator.fit(X, y)
        except NotReleasedError:
            pass
        except Exception as error:
            return len(budget.charges), type(error)
    return len(budget.charges), None


@pytest.mark.parametrize("pair", _matrices().values(), ids=list(_matrices()))
def test_no_cell_of_a_matrix_makes_another_error_or_is_free(pair):
    y = np.array([1.0, 0.0] * 20)
    for estimator in (DPLinearRegression(), DPLogisticRegression(), DPFeatureSelector(1)):
        assert [_outcome(estimator, X, y) for X in pair] == [(1, None)] * 2


@pytest.mark.parametrize("pair", _vectors().values(), ids=list(_vectors()))
def test_no_cell_of_a_vector_makes_another_error_or_is_free(pair):
    X = np.random.default_rng(1).standard_normal((40, 1))
    for estimator in (DPLinearRegression(), DPLogisticRegression(), DPFeatureSelector(1)):
        assert [_outcome(estimator, X, y) for y in pair] == [(1, None)] * 2


def test_cells_are_read_when_they_are_paid_for(monkeypatch):
    def read(source):
        raise RuntimeError("a record was read")

    monkeypatch.setattr("dpreg.sklearn.estimator.columns_of", read)
    budget = dpreg.Budget(1.0)
    model = DPLinearRegression(0.75, budget=budget)
    with pytest.raises(RuntimeError, match="failed after the charge"):
        model.fit(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(BudgetError):
        model.fit(np.zeros((5, 2)), [0.0] * 5)
    assert len(budget.charges) == 1


def test_containers_of_the_same_numbers_give_the_same_fit(data):
    X, y = data
    fits = [
        DPLinearRegression(2.0, random_state=1).fit(*both).coef_
        for both in [(X, y), (X.to_numpy(), y.tolist()), (X.to_numpy().tolist(), y.to_numpy()),
                     (pl.from_pandas(X), pl.from_pandas(y)), (X.astype("Float64"), pa.array(y))]
    ]  # fmt: skip
    for coefficients in fits[1:]:
        np.testing.assert_array_equal(coefficients, fits[0])


@pytest.mark.parametrize(
    ("X", "y", "error", "says"),
    [
        (np.zeros((5, 2)), None, ValueError, "y"),
        (np.zeros((5, 2)), np.zeros(4), SchemaError, "as many entries"),
        (np.zeros((5, 2), dtype=complex), np.zeros(5), SchemaError, "Complex"),
        (np.zeros((5, 2), dtype=object), np.zeros(5), SchemaError, "numbers"),
        (np.array([["a"]] * 5), np.zeros(5), SchemaError, "numbers"),
        (pd.DataFrame({"a": list("abcde")}), np.zeros(5), SchemaError, "not numbers"),
        (np.zeros((5, 0)), np.zeros(5), SchemaError, "0 feature"),
        ([], [], SchemaError, "0 feature"),
        (np.zeros(5), np.zeros(5), SchemaError, "axes"),
        ([0.0] * 5, np.zeros(5), SchemaError, "X must have 2 axes"),
        (np.zeros((5, 2)), np.zeros((5, 2)), SchemaError, "y must have 1 axes"),
        (np.zeros((5, 2)), pd.Series(list("abcde")), SchemaError, "y must hold numbers"),
        (np.zeros((5, 2)), pd.DataFrame({"a": list("abcde")}), SchemaError, "not numbers"),
    ],
)
def test_wrong_types_are_refused_and_free(X, y, error, says):
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(error, match=says):
        DPLinearRegression(budget=budget).fit(X, y)
    assert budget.charges == ()


def test_eps_must_be_given_and_a_column_of_y_is_warned_of(data):
    X, y = data
    with pytest.raises(ArgumentError, match="eps"):
        DPLinearRegression(eps=None).fit(X, y)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        DPLinearRegression(eps=5.0, random_state=1).fit(X, y.to_numpy()[:, None])


def test_missing_cells_are_predicted_as_missing(data):
    X, y = data
    model = DPLinearRegression(eps=5.0, random_state=1).fit(X, y)
    holed = X.head(3).copy()
    holed.iloc[1, 0] = np.nan
    assert np.isnan(model.predict(holed)).tolist() == [False, True, False]


def test_the_budget_of_one_stratum_is_refused(data):
    budget = dpreg.Budget(1.0, 1e-5)
    stratum = budget.partition("g", ["a", "b"])["a"]
    for estimator in (DPLinearRegression(budget=stratum), DPFeatureSelector(budget=stratum)):
        with pytest.raises(BudgetError, match="of one stratum"):
            estimator.fit(*data)
    assert budget.charges == ()


def test_logistic_regression_is_dp_glm_with_public_classes(data):
    X, y = data
    rng = np.random.default_rng(2)
    z = np.where(rng.random(len(y)) < 1 / (1 + np.exp(-y)), 5, 3)
    model = DPLogisticRegression(2.0, 1e-6, classes=(3, 5), random_state=3).fit(X, z)
    fit = dpreg.dp_glm("y ~ " + " + ".join(X), X.assign(y=(z == 5) * 1.0), 2.0, 1e-6,
                       inference=False, rng=3)  # fmt: skip
    np.testing.assert_array_equal(model.coef_[0], fit.params.iloc[1:])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], fit.predict(X), rtol=1e-12)
    assert set(model.predict(X)) == {3, 5}
    assert model.score(X, z) > 0.7
    holed = DPLogisticRegression(2.0, 1e-6, random_state=3).fit(X, np.where(z == 5, 1.0, 7.0))
    # Half of the rows have a value that is no class.
    assert holed.results_.units < 0.7 * len(X)
    assert clone(model).get_params()["classes"] == (3, 5)


def test_intervals_are_those_of_the_result(data):
    X, y = data
    model = DPLinearRegression(eps=2.0, delta=1e-6, inference=True, random_state=3).fit(X, y)
    limits = model.conf_int(0.1)
    np.testing.assert_array_equal(limits, model.results_.conf_int(0.1).iloc[1:])
    assert limits.shape == (model.coef_.shape[0], 2)
    np.testing.assert_allclose(limits.mean(axis=1), model.coef_)
    odds = DPLogisticRegression(eps=2.0, delta=1e-6, inference=True, random_state=3)
    odds.fit(X, (y + 2 * X["f"].sample(frac=1, random_state=1).to_numpy() > 0).astype(int))
    np.testing.assert_allclose(odds.conf_int().mean(axis=1), odds.coef_[0])


def test_intervals_have_to_be_asked_for(data):
    with pytest.raises(NotFittedError):
        DPLinearRegression(inference=True).conf_int()
    model = DPLinearRegression(eps=2.0, delta=1e-6, random_state=3).fit(*data)
    with pytest.raises(ArgumentError, match=r"^inference is needed .* write inference=True"):
        model.conf_int()


@pytest.mark.parametrize("estimator", [DPLinearRegression(), DPLogisticRegression()])
def test_weights_are_refused_with_the_call_that_takes_them(estimator, data):
    with pytest.raises(TypeError, match=r"^sample_weight: .*dpreg\.dp_.*weights='w'"):
        estimator.fit(*data, sample_weight=np.ones(len(data[0])))


def test_arguments_are_checked_and_named(data):
    X, y = data
    with pytest.raises(ArgumentError, match=r"^k must be an integer between 1 and 6.* got 'a'$"):
        DPFeatureSelector("a").fit(X, y)
    for classes in (1, (0, 1, 2), (1, 1), (0, np.nan), ("a", "b")):
        with pytest.raises(ArgumentError, match=r"^classes must be two different numbers"):
            DPLogisticRegression(classes=classes).fit(X, y)
    yes = DPLogisticRegression(classes=(False, True), random_state=1).fit(X, y > 0)
    np.testing.assert_array_equal(
        yes.coef_, DPLogisticRegression(random_state=1).fit(X, y > 0).coef_
    )


def test_the_longest_text_is_not_told():
    """Types of text of numpy have its length: <U7."""
    for text in (["a", "bb"], ["a", "bbbbbbb"]):
        with pytest.raises(SchemaError, match=r"^X must hold numbers, not text; convert"):
            DPLinearRegression().fit(np.array(text)[:, None], np.zeros(2))
        with pytest.raises(
            SchemaError, match=r"^y must hold numbers, not text; write y == 'b' for"
        ):
            DPLogisticRegression().fit(np.zeros((2, 1)), np.array(text))


def test_a_notebook_shows_an_estimator_without_a_warning():
    """Its reader of docstrings warned of a section."""
    shown = "from dpreg.sklearn import DPLinearRegression as L; L()._repr_html_()"
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", shown], check=True)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize(
    "estimator",
    [
        DPLinearRegression(eps=2.0, delta=1e-6, random_state=3),
        DPLinearRegression(method="frank_wolfe", delta=1e-6, random_state=3),
        DPLogisticRegression(eps=2.0, delta=1e-6, random_state=3),
        DPFeatureSelector(k=2, random_state=3),
    ],
)
def test_a_sparse_matrix_gives_the_bits_of_a_dense_one(estimator, form):
    from scipy import sparse

    rng = np.random.default_rng(1)
    X = np.where(rng.random((3_000, 6)) < 0.3, rng.standard_normal((3_000, 6)), 0.0)
    X[5, 2] = np.nan
    y = X[:, 0] + 0.1 * rng.standard_normal(3_000)
    y = (y > 0).astype(float) if isinstance(estimator, DPLogisticRegression) else y
    thin = sparse.coo_array(X).asformat(form)
    dense, found = (clone(estimator).fit(rows, y) for rows in (X, thin))
    assert found.n_features_in_ == 6
    if isinstance(estimator, DPFeatureSelector):
        np.testing.assert_array_equal(found.get_support(), dense.get_support())
        return
    np.testing.assert_array_equal(found.coef_, dense.coef_)
    np.testing.assert_array_equal(found.predict(thin), dense.predict(X))


def test_no_cell_of_a_sparse_matrix_is_looked_at_before_the_charge(monkeypatch):
    from scipy import sparse

    def read(self):
        raise AssertionError("looked at cells")

    monkeypatch.setattr(sparse.csr_array, "tocsc", read)
    budget = dpreg.Budget(0.5, 1e-6)
    with pytest.raises(BudgetError):
        DPLinearRegression(eps=1.0, delta=1e-6, budget=budget).fit(
            sparse.eye_array(50, format="csr"), np.ones(50)
        )


def test_complex_cells_of_a_sparse_matrix_are_refused():
    from scipy import sparse

    X = sparse.eye_array(50, format="csr", dtype=complex)
    with pytest.raises(SchemaError, match="Complex"):
        DPLinearRegression(eps=1.0).fit(X, np.ones(50))
