"""Names of settings and data: different ones never share one."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from driftglm.baselines import LassoAll, RidgeAll
from driftglm.evaluation.fingerprint import data_digest, describe, digest
from driftglm.exceptions import DataError
from driftglm.priors import Exact

FITS = {"count": 0}


@pytest.fixture(autouse=True)
def _start_counting():
    FITS["count"] = 0


def test_settings_that_differ_have_different_names():
    values = [
        None, True, 1, 1.0, "1", [1], (1,), {"a": 1}, {1}, np.array([1]), np.array([1.0]),
        Ridge(), Ridge(alpha=2.0), LassoAll(), RidgeAll(), RidgeAll(window=2), Ridge,
        Exact(), Exact(rate=2.0), np.log1p, len_of, functools.partial(len_of, 1),
        make_pipeline(StandardScaler(), Ridge()), FunctionTransformer(len_of),
        pd.Series([2]), sp.csr_array([[1.0]]),
    ]  # fmt: skip
    names = [digest(value) for value in values]
    assert len(set(names)) == len(values)
    assert names == [digest(value) for value in values]
    plus = [lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x + y, lambda x, y=2: x + y]
    plus += [adding(1), adding(2)]
    assert len({digest(function) for function in plus}) == len(plus)
    with pytest.raises(DataError, match="no content to name a cached result by"):
        describe(object())


def len_of(value):
    return value


def adding(number):
    return lambda x: x + number


def test_data_that_differ_have_different_names():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    values = [
        None, np.array([1.0, 2.0]), np.array([[1.0, 2.0]]), np.array([1, 2]), [1, 2], ["1", "2"],
        ["ab", "c"], ["a", "bc"], frame, frame[["b", "a"]], frame.rename(columns={"a": "c"}),
        sp.csr_array([[1.0, 0.0]]), sp.csr_array([[0.0, 1.0]]), sp.csr_array([[1.0, 0.0, 0.0]]),
        pd.Categorical(["a", "b"], ordered=True), pd.to_datetime(["2001", "2002"]),
    ]  # fmt: skip
    assert len({data_digest(value) for value in values}) == len(values)
    dense = np.array([[0.0, 3.0], [1.0, 0.0]])
    assert (
        len({data_digest(make(dense)) for make in (sp.csr_array, sp.csc_matrix, sp.coo_array)}) == 1
    )
    assert data_digest(np.asfortranarray(dense)) == data_digest(dense)
