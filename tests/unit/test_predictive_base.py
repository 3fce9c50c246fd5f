"""What every forecast checks, and the shapes it answers with."""

import numpy as np
import pytest

from driftglm.exceptions import DataError
from driftglm.predictive import Bernoulli, Categorical, Gamma, Mixture, Normal, Poisson, Student


def test_shapes_of_answers():
    forecast = Normal(np.zeros(3), 2.0)
    assert forecast.n_rows == 3
    assert forecast.scale.shape == (3,)
    assert forecast.quantile(0.5).shape == (3,)
    assert forecast.quantile([0.9]).shape == (3, 1)
    assert forecast.interval(0.5).shape == (3, 2)
    assert forecast.draws(5, 0).shape == (5, 3)
    grid = np.arange(6.0).reshape(2, 3)
    for method in (forecast.cdf, forecast.pdf, forecast.log_prob, forecast.crps):
        np.testing.assert_array_equal(method(grid)[1], method(grid[1]))


def test_levels_come_back_in_the_order_they_were_asked_in():
    forecast = Poisson([4.0, 40.0])
    np.testing.assert_array_equal(
        forecast.quantile([0.9, 0.1])[:, ::-1], forecast.quantile([0.1, 0.9])
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Normal([1.0, 2.0], [1.0, 2.0, 3.0]), r"loc \(2,\), scale \(3,\)"),
        (lambda: Normal(0.0, 0.0), "scale is 0.0 at 0.*above 0"),
        (lambda: Normal(np.nan, 1.0), "loc is nan"),
        (lambda: Student(0.0, 1.0, -1.0), "degrees is -1.0"),
        (lambda: Bernoulli([0.5, 1.5]), "probability is 1.5 at 1.*from 0 to 1"),
        (lambda: Poisson(-1.0), "rate is -1.0"),
        (lambda: Gamma(0.0, 1.0), "mean is 0.0"),
        (lambda: Categorical([[0.5, 0.4]]), "row 0 sum to 0.9"),
        (lambda: Categorical([0.5, 0.5]), r"shape \(2,\)"),
        (lambda: Normal(0.0, 1.0).cdf([1.0, 2.0]), r"shape \(2,\), and the forecast has 1 rows"),
        (lambda: Normal(0.0, 1.0).crps([np.nan]), "NaN in 1 places"),
        (lambda: Normal(0.0, 1.0).crps([np.inf]), "infinite"),
        (lambda: Normal(0.0, 1.0).quantile(1.0), "levels is 1.0"),
        (lambda: Normal(0.0, 1.0).quantile([[0.5]]), r"shape \(1, 1\)"),
        (lambda: Normal(0.0, 1.0).interval(0.0), "level is 0.0"),
        (lambda: Normal(0.0, 1.0).draws(0), "n_draws is 0"),
        (lambda: Student(0.0, 1.0, 1.0).crps([0.0]), "degrees is 1.0.*above 1"),
        (lambda: Bernoulli(0.5).crps([0.5]), "codes of classes, 0 to 1"),
        (lambda: Categorical([[0.5, 0.5]]).mean, "probabilities or mode"),
        (lambda: Mixture((), []), "no parts"),
        (lambda: Mixture((Normal(0.0, 1.0),), [0.5]), "sum to"),
        (lambda: Mixture((Normal(0.0, 1.0),), [[0.5, 0.5]]), r"shape \(1, 2\)"),
        (lambda: Mixture((Normal(0.0, 1.0), Poisson(1.0)), [0.5, 0.5]), "discrete"),
        (lambda: Mixture((Normal([0.0] * 2, 1.0), Normal([0.0] * 3, 1.0)), [0.5, 0.5]), "rows"),
        (lambda: Mixture((Normal(0.0, 1.0),), [1.0]).pmf([0.0]), "density"),
    ],
)
def test_what_is_wrong_is_said(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_pit_of_counts_is_uniform_between_the_steps_of_the_cdf():
    forecast = Poisson(np.full(100_000, 0.7))
    y = forecast.draws(1, 0)[0]
    pit = forecast.pit(y, 1)
    assert (pit <= forecast.cdf(y)).all()
    assert (pit >= forecast.cdf(y - 1)).all()
    np.testing.assert_allclose(np.quantile(pit, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.01)
    np.testing.assert_array_equal(pit, forecast.pit(y, 1))


def test_pit_of_numbers_is_the_cdf():
    forecast = Normal([0.0, 1.0], 2.0)
    np.testing.assert_array_equal(forecast.pit([1.0, 1.0]), forecast.cdf([1.0, 1.0]))


def test_rows_are_taken_by_slice_mask_and_number():
    forecast = Gamma([1.0, 2.0, 3.0], 2.0)
    np.testing.assert_array_equal(forecast.take(slice(1, None)).mean, [2.0, 3.0])
    np.testing.assert_array_equal(forecast.take([True, False, True]).mean, [1.0, 3.0])
    np.testing.assert_array_equal(forecast.take([2, 2, 0]).mean, [3.0, 3.0, 1.0])
