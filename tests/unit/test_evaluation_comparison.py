"""What a comparison says of its losses: the best model, and which differences are real."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import wilcoxon

from driftglm.data.timesteps import TimeAxis
from driftglm.evaluation import Comparison
from driftglm.evaluation.significance import holm
from driftglm.evaluation.tables import best_shown
from driftglm.exceptions import DataError

# -------------------------------------------------------------------- significance


def of_losses(**losses):
    n_rows = len(next(iter(losses.values())))
    arrays = {name: np.asarray(values, dtype=float) for name, values in losses.items()}
    return Comparison(
        axis=TimeAxis("integer", 2000, 1, 1),
        rows=np.arange(n_rows),
        codes=np.zeros(n_rows, dtype=np.int64),
        y=np.zeros(n_rows),
        weights=np.ones(n_rows),
        prediction=arrays,
        loss=arrays,
        metric="mse",
        label="mean squared error",
        params={},
        seconds={},
    )


def test_the_best_is_the_least_number_whatever_its_digits():
    table = of_losses(a=[16.9], b=[2.41], c=[123.4]).table("text")
    assert (table.count("2.4100*"), table.count("*")) == (2, 3)


def test_the_best_model_has_the_least_finite_mean_loss():
    assert of_losses(a=[16.9], b=[2.41], c=[-1.0], d=[-20.0]).best == "d"
    assert of_losses(a=[np.nan], b=[2.0], c=[2.0]).best == "b"
    assert of_losses(a=[np.inf], b=[2.0]).best == "b"


def test_models_that_look_equal_are_marked_alike_and_none_without_a_number():
    assert best_shown([0.12341, 0.12339, 0.2], 4).tolist() == [True, True, False]
    assert best_shown([1e-9, -1e-9, 0.2], 4).tolist() == [True, True, False]
    assert best_shown([np.nan, 5.0], 4).tolist() == [False, True]
    assert not best_shown([np.nan, np.nan], 4).any()


def test_p_values_are_those_of_scipy(rng):
    a, b, c = rng.random((3, 60))
    b[:5] = a[:5]  # zero differences
    c = np.round(c, 1)  # ties
    frame = of_losses(a=a, b=b, c=c).significance()
    assert frame[["model", "other"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    pairs = [(a, b), (a, c), (b, c)]
    assert_allclose(frame["p_value"], [wilcoxon(u, v).pvalue for u, v in pairs])
    assert_allclose(frame["statistic"], [wilcoxon(u, v).statistic for u, v in pairs])
    assert_allclose(frame["mean_difference"], [np.mean(u - v) for u, v in pairs])
    assert frame["n_different"].tolist()[0] == 55
    assert_allclose(frame["p_holm"], holm(frame["p_value"].to_numpy()))


def test_equal_losses_are_no_evidence():
    frame = of_losses(a=[1.0, 2.0], b=[1.0, 2.0]).significance()
    assert frame.loc[0, ["n_different", "statistic", "p_value", "p_holm"]].tolist() == [0, 0, 1, 1]


def test_against_one_baseline_the_sign_says_who_is_better(rng):
    b = rng.random(30) + 1
    result = of_losses(a=b - 0.5, b=b, c=b + 0.5)
    frame = result.significance(baseline="b")
    assert frame[["model", "other"]].to_numpy().tolist() == [["a", "b"], ["c", "b"]]
    assert_allclose(frame["mean_difference"], [-0.5, 0.5])
    with pytest.raises(DataError, match="baseline='z'"):
        result.significance(baseline="z")


@pytest.mark.parametrize("method", ["diebold-mariano", "bootstrap"])
def test_tests_by_steps_say_how_many_steps_there_were(rng, method):
    frame = of_losses(a=rng.random(30), b=rng.random(30)).significance(method=method)
    assert frame.loc[0, "n_steps"] == 1
    assert frame.loc[0, "note"].startswith("1 test step; at least")
    assert frame[["p_value", "p_holm"]].isna().to_numpy().all()
