"""Columns become features that mean the same at predict time."""

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError, DataWarning
from driftglm.tables import Table, TableSpec, fit_encoder


def encoded(frame, new=None, **spec):
    encoder = fit_encoder(Table(frame), TableSpec(**spec))
    return encoder.feature_names, encoder.matrix(Table(frame if new is None else new))


def test_the_most_frequent_level_has_no_indicator_and_ties_go_by_name():
    frame = pd.DataFrame({"c": ["b", "a", "c", "c", "b", "d"]})
    names, X = encoded(frame)
    assert names == ["c=c", "c=a", "c=d"]  # b and c occur twice, b comes first
    np.testing.assert_array_equal(X[:, 0], [0, 0, 1, 1, 0, 0])


def test_a_column_with_one_level_says_nothing_and_has_no_feature():
    names, X = encoded(pd.DataFrame({"c": ["a", "a"], "x": [1.0, 2.0]}))
    assert names == ["x"]
    assert X.shape == (2, 1)


def test_unknown_levels_warn_and_are_the_reference():
    frame = pd.DataFrame({"c": ["a", "a", "b"]})
    with pytest.warns(DataWarning, match="2 rows with 2 levels the model has not seen"):
        _, X = encoded(frame, pd.DataFrame({"c": ["z", "b", "y"]}))
    np.testing.assert_array_equal(X.ravel(), [0, 1, 0])


def test_many_levels_and_words_make_a_sparse_matrix():
    frame = pd.DataFrame({"c": [f"l{i % 400}" for i in range(1200)], "t": "some words here"})
    names, X = encoded(frame, text="t")
    assert len(names) == 399 + 3
    assert hasattr(X, "tocsr")
    assert X.sum() == 1200 - 3 + 3 * 1200


def test_booleans_of_a_csv_file_are_told_from_false():
    names, X = encoded(pd.DataFrame({"c": ["True", "True", "False"]}))
    assert names == ["c=True"]
    np.testing.assert_array_equal(X.ravel(), [1, 1, 0])


def test_two_features_of_one_name_are_refused():
    frame = pd.DataFrame({"a": ["x", "x", "b"], "a=b": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="2 columns named 'a=b'"):
        encoded(frame)


def test_positions_take_columns_features_and_texts():
    frame = pd.DataFrame({"x": [1.0, 2, 3], "c": ["a", "b", "c"], "t": ["p q", "p", "q"]})
    encoder = fit_encoder(Table(frame), TableSpec(text="t"))
    assert encoder.feature_names == ["x", "c=b", "c=c", "t:p", "t:q"]
    assert encoder.positions(["c"], "static") == [1, 2]
    assert encoder.positions(["c=c", "x"], "static") == [0, 2]
    assert encoder.positions(["t"], "static") == [3, 4]


def test_nothing_to_predict_with_is_an_error():
    with pytest.raises(DataError, match="no column left"):
        encoded(pd.DataFrame({"y": [1.0, 2.0]}), target="y")
