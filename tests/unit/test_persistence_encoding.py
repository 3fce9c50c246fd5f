"""Objects that become JSON and arrays, and those that cannot."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import driftglm
from driftglm import (
    DriftRegressor,
    persistence,
)
from driftglm.baselines import RidgeAll
from driftglm.exceptions import DataError
from driftglm.text import RankedVocabulary


@pytest.fixture(autouse=True)
def _quiet():
    """A few passes are enough; what is stored does not depend on convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Own(DriftRegressor):
    """A user's class."""


class Holder(BaseEstimator):
    """A class driftglm knows nothing about."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DriftRegressor(random_state=np.random.default_rng(0)), r"random_state.*Generator"),
        (DriftRegressor(random_state=np.random.RandomState(0)), r"random_state.*RandomState"),
        (RankedVocabulary(tokenizer=str.split), r"RankedVocabulary.tokenizer is of type"),
        (DriftRegressor(prior=Holder()), r"DriftRegressor.prior is of type .*Holder"),
        (DriftRegressor(static=pd.MultiIndex.from_tuples([(1, 2)])), "an index of"),
        (DriftRegressor(always_in={"a"}), "builtins.set"),
        (Own(), "Own is no class that driftglm.load knows"),
    ],
    ids=["generator", "random state", "tokenizer", "prior", "index", "set", "class"],
)
def test_what_cannot_be_stored_is_refused_and_no_file_is_left(model, message, tmp_path):
    with pytest.raises(DataError, match=message):
        persistence.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_saving_over_a_model_keeps_the_old_one_if_it_fails(tmp_path):
    RidgeAll(strength=2.0).save(tmp_path / "m")
    with pytest.raises(DataError):
        DriftRegressor(random_state=np.random.default_rng(0)).save(tmp_path / "m")
    assert driftglm.load(tmp_path / "m").strength == 2.0
