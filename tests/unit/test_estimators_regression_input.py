"""Tables that DriftRegressor takes, and input that it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.exceptions import DataError, DataWarning, TimeError
from driftglm.priors import Exact


def drift(**params):
    """The paper's prior, whatever the default of the class may be."""
    return DriftRegressor(**{"prior": "exact", **params})


# --------------------------------------------------------------------------------- tables


def frame(X, kind):
    names = ["drift", "flat", "c", "d", "e"]
    if kind == "pandas":
        return pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1] + 7)
    return pl.DataFrame(X, schema=names)


FRAMES = pytest.mark.parametrize("kind", ["pandas", "polars"])


@FRAMES
def test_frames_give_their_names(kind, panel_rows):
    X, y, time = panel_rows
    table = frame(X, kind)
    series = pd.Series if kind == "pandas" else pl.Series
    model = drift(always_in="d", static=["flat"]).fit(table, series(y), time=series(time))
    assert model.feature_names_in_.tolist() == ["drift", "flat", "c", "d", "e"]
    expected = drift(always_in=[3], static=[1]).fit(X, y, time=time)
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(model.predict(table, time=series(time)), expected.predict(X, time=time))
    assert model.inclusion_probability_[3] == 1.0


@FRAMES
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["flat", "drift", "c", "d", "e"], "must be in the same order"),
        (["drift", "flat", "c", "d"], r"(?s)missing:.*- e"),
        (["drift", "flat", "c", "d", "e", "extra"], r"(?s)unseen at fit time:.*- extra"),
    ],
)
def test_missing_reordered_or_new_columns_are_named(kind, columns, message, panel_rows):
    X, y, time = panel_rows
    table = frame(X, kind)
    model = drift().fit(table, y, time=time)
    if kind == "pandas":
        wrong = table.assign(extra=1.0)[columns]
    else:
        wrong = table.with_columns(extra=pl.lit(1.0)).select(columns)
    with pytest.raises(ValueError, match=message):
        model.predict(wrong, time=time)


@pytest.mark.parametrize("argument", ["always_in", "static"])
def test_a_name_that_is_not_a_column_is_an_error(argument, panel_rows):
    X, y, time = panel_rows
    with pytest.raises(DataError, match=rf"{argument} names the column 'rain'.*'drift', 'flat'"):
        drift(**{argument: "rain"}).fit(frame(X, "pandas"), y, time=time)
    with pytest.raises(DataError, match=rf"{argument} names the column 'flat' but X came without"):
        drift(**{argument: "flat"}).fit(X, y, time=time)


@pytest.mark.parametrize(
    "store", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix, sp.dok_array]
)
def test_every_sparse_format_is_accepted(store, panel_rows):
    X, y, time = panel_rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = drift(always_in=[2], static=[1]).fit(store(X), y, time=time)
    expected = drift(always_in=[2], static=[1]).fit(X, y, time=time)
    assert_allclose(model.coef_path_, expected.coef_path_, rtol=1e-6, atol=1e-9)
    assert_allclose(model.predict(store(X), time=time), expected.predict(X, time=time), rtol=1e-6)


def test_entries_given_twice_in_coo_are_added(panel_rows):
    X, y, time = panel_rows
    coo = sp.coo_array(X)
    twice = sp.coo_array(
        (np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=X.shape
    )
    expected = drift().fit(X, y, time=time).coef_path_
    assert_allclose(drift().fit(twice, y, time=time).coef_path_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "cast",
    [
        lambda X, y: (X.astype(np.float32), y.astype(np.float32)),
        lambda X, y: (np.asfortranarray(X), y[::1]),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (np.repeat(X, 2, axis=1)[:, ::2], np.repeat(y, 2)[::2]),
    ],
    ids=["float32", "fortran", "lists", "strided"],
)
def test_other_arrays_of_the_same_numbers_give_the_same_fit(cast, panel_rows):
    X, y, time = panel_rows
    expected = drift().fit(X, y, time=time).coef_path_
    model = drift().fit(*cast(X, y), time=time)
    assert_allclose(model.coef_path_, expected, rtol=1e-4, atol=1e-5)
    assert model.coef_path_.dtype == np.float64


# ------------------------------------------------------------------------------- bad input


def with_value(array, value):
    out = np.array(array, dtype=float)
    out[(3,) * out.ndim] = value
    return out


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["X", "y", "time", "sample_weight"])
def test_values_that_are_no_numbers_are_found(part, value, panel_rows):
    X, y, time = panel_rows
    data = {"X": X, "y": y, "time": time, "sample_weight": np.ones(y.size)}
    data[part] = with_value(data[part], value)
    with pytest.raises(ValueError, match=part.split("_")[0]) as error:
        drift().fit(data.pop("X"), data.pop("y"), **data)
    text = str(error.value)
    assert ("NaN" in text) or ("nan" in text) or ("inf" in text) or ("missing" in text)
    if part in {"time", "sample_weight"}:
        assert "row 3" in text


def test_values_that_are_no_numbers_are_found_in_sparse_and_at_prediction(panel_rows):
    X, y, time = panel_rows
    with pytest.raises(ValueError, match="X contains NaN"):
        drift().fit(sp.csr_array(with_value(X, np.nan)), y, time=time)
    model = drift().fit(X, y, time=time)
    with pytest.raises(ValueError, match="X contains infinity"):
        model.predict(with_value(X, np.inf))
    with pytest.raises(TimeError, match="time is missing in 1 of 180 rows, first in row 3"):
        model.predict(X, time=with_value(time, np.nan))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("X", r"inconsistent numbers of samples: \[179, 180\]"),
        ("y", r"inconsistent numbers of samples: \[180, 179\]"),
        ("time", "time has 179 labels for 180 rows.*Select the same rows"),
        (
            "sample_weight",
            r"sample_weight has shape \(179,\) but X has 180 rows; pass one weight",
        ),
    ],
)
def test_lengths_that_differ_are_told(part, message, panel_rows):
    X, y, time = panel_rows
    data = {"X": X, "y": y, "time": time, "sample_weight": np.ones(y.size)}
    data[part] = data[part][:-1]
    with pytest.raises(ValueError, match=message):
        drift().fit(data.pop("X"), data.pop("y"), **data)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 5), r"0 sample\(s\) \(shape=\(0, 5\)\) while a minimum of 2 is required"),
        ((1, 5), r"1 sample\(s\) \(shape=\(1, 5\)\) while a minimum of 2 is required"),
        ((9, 0), r"0 feature\(s\) \(shape=\(9, 0\)\) while a minimum of 1 is required"),
        ((9,), "Expected 2D array, got 1D array instead"),
    ],
)
def test_too_little_data_is_an_error(shape, message):
    with pytest.raises(ValueError, match=message):
        drift().fit(np.ones(shape), np.ones(shape[0]))


def test_columns_that_say_nothing_are_a_warning_that_names_them(panel_rows):
    X, y, time = panel_rows
    X = np.column_stack([X, np.zeros(y.size), np.full(y.size, 4.0)])
    with pytest.warns(DataWarning) as record:
        model = drift().fit(X, y, time=time)
    texts = [str(warning.message) for warning in record]
    assert texts[0].startswith("1 of 7 columns are zero in every row (5); their coefficients are 0")
    assert texts[1].startswith("1 columns have one value in every row (6) and cannot be told from")
    assert "drop them, or set fit_intercept=False" in texts[1]
    assert {warning.filename for warning in record} == {__file__}
    assert not model.coef_path_[:, 5:].any()
    table = pd.DataFrame(X, columns=list("abcdefg")).drop(columns="g")
    with pytest.warns(DataWarning, match=r"\('f'\)"):
        drift().fit(table, y, time=time)


def test_many_dull_columns_are_not_all_listed(panel_rows):
    X, y, time = panel_rows
    X = np.column_stack([X, np.zeros((y.size, 9))])
    with pytest.warns(DataWarning, match=r"9 of 14 columns .*\(5, 6, 7, 8, 9, \.\.\.\)"):
        drift().fit(sp.csr_array(X), y, time=time)


def test_without_an_intercept_a_constant_column_is_a_feature(panel_rows):
    X, y, time = panel_rows
    X = np.column_stack([X, np.full(y.size, 4.0)])
    model = drift(fit_intercept=False).fit(X, y, time=time)
    # The intercept rises from 0 to 1; a constant column of 4 takes it up.
    assert_allclose(4 * model.coef_path_[-1, 5], 1.0, atol=0.3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda n: with_value(np.ones(n), -2.0), r"-2\.0 at row 3; .* not negative\. Use 0"),
        (np.zeros, "every sample weight is zero; at least one row must count"),
        (lambda n: -1.0, r"-1\.0 at row 0"),  # noqa: ARG005
        (lambda n: np.ones((n, 1)), r"shape \(180, 1\) .* pass one weight per row"),
        (lambda n: ["heavy"] * n, "cannot be read as numbers .* pass one weight per row"),
    ],
    ids=["negative", "all zero", "negative number", "2-d", "text"],
)
def test_weights_that_cannot_be_used_are_explained(weights, message, panel_rows):
    X, y, time = panel_rows
    with pytest.raises(DataError, match=message):
        drift().fit(X, y, time=time, sample_weight=weights(y.size))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": "exakt"}, r"'prior' parameter of DriftRegressor must be a str among .*'exakt'"),
        ({"prior": None}, r"'prior' parameter .* Got None"),
        ({"solver": "newton"}, r"'solver' parameter of DriftRegressor must be .*'newton'"),
        ({"init": "random"}, r"'init' parameter .*'random'"),
        ({"extrapolate": "trend"}, r"'extrapolate' parameter .*'trend'"),
        ({"noise": 0.0}, r"'noise' parameter .* Got 0\.0"),
        ({"noise": -1}, r"'noise' parameter .* Got -1"),
        ({"noise": "guess"}, r"'noise' parameter .*'guess'"),
        ({"max_iter": 0}, r"'max_iter' parameter .* Got 0"),
        ({"tol": -1e-3}, r"'tol' parameter .* Got -0\.001"),
        ({"freq": 0}, r"'freq' parameter .* Got 0"),
        ({"n_starts": 0}, r"'n_starts' parameter .* Got 0"),
        ({"freq": "fortnight"}, r"freq='fortnight' was given for integer labels"),
        ({"always_in": [9]}, r"always_in names column 9 but X has 5 columns"),
        ({"static": [True]}, r"static is a mask of length 1 but X has 5 columns"),
    ],
)
def test_settings_that_do_not_exist_are_refused(params, message, panel_rows):
    X, y, time = panel_rows
    with pytest.raises(ValueError, match=message):
        drift(**params).fit(X, y, time=time)


def test_the_allowed_priors_and_solvers_are_listed(panel_rows):
    X, y, _ = panel_rows
    for name, allowed in (
        ("prior", {"exact", "variational", "fixed"}),
        ("solver", {"block", "lbfgs"}),
    ):
        with pytest.raises(ValueError, match=name) as error:
            drift(**{name: "unknown"}).fit(X, y)
        assert all(f"'{choice}'" in str(error.value) for choice in allowed)


def test_a_class_is_not_a_prior(panel_rows):
    X, y, _ = panel_rows
    with pytest.raises(TypeError, match=r"prior is the class Exact; pass .* prior=Exact\(\)"):
        drift(prior=Exact).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda y: y.round().astype(str), r"y holds str_ values such as '.*'; pass numbers"),
        (
            lambda y: y.astype("datetime64[s]"),
            r"y is no column of numbers: it holds dates\. Pass numbers",
        ),
        (
            lambda y: np.column_stack([y, y]),
            r"y should be a 1d array, got an array of shape \(180, 2\)",
        ),
        (lambda y: y + 1j, "Complex data not supported"),
        (lambda y: y * 1e150, r"y has values of size .*e\+150; .* Change its unit"),
        (lambda y: y * 1e-150, r"y has values of size .*e-150; .* Change its unit"),
    ],
    ids=["text", "dates", "2-d", "complex", "huge", "tiny"],
)
def test_a_target_that_is_no_column_of_numbers_is_refused(y, message, panel_rows):
    X, target, time = panel_rows
    with pytest.raises(ValueError, match=message):
        drift().fit(X, y(target), time=time)


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_columns_whose_squares_overflow_or_vanish_are_refused(unit, panel_rows):
    X, y, time = panel_rows
    X = X.copy()
    X[:, 2] *= unit
    for stored in (X, sp.csr_array(X)):
        with pytest.raises(DataError, match=r"1 of 5 columns \(2\) have values of size .* Change"):
            drift().fit(stored, y, time=time)
