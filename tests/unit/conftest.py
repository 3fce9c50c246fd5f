"""Rows and fits that several files of tests share."""

import numpy as np
import pytest

from driftglm import DriftRegressor


class Rows:
    """Features of every kind; the truth is `paths` (T, 6)."""

    def __init__(self, seed=0, rows_per_step=60, n_steps=8):
        rng = np.random.default_rng(seed)
        self.time = rng.permutation(np.repeat(2000 + np.arange(n_steps), rows_per_step))
        codes = self.time - 2000
        self.X = rng.normal(size=(codes.size, 6))
        steps = np.arange(n_steps)
        self.paths = np.zeros((n_steps, 6))
        self.paths[:, 1] = 1.0
        self.paths[:, 2] = 1.0 + 0.5 * np.sin(steps)
        self.paths[:, 3] = np.linspace(-1.0, 1.0, n_steps)
        self.paths[:, 4] = -0.3
        self.intercept = 2.0 + 0.3 * np.cos(steps)
        self.y = (self.X * self.paths[codes]).sum(axis=1) + self.intercept[codes]
        self.y += 0.3 * rng.normal(size=codes.size)


@pytest.fixture(scope="session")
def rows():
    """Rows of features that are zero, constant, drifting and changing sign."""
    return Rows()


@pytest.fixture(scope="session")
def fitted(rows):
    """A fit to these rows with the learned prior, which no test may change."""
    return DriftRegressor().fit(rows.X, rows.y, time=rows.time)


@pytest.fixture
def panel_rows(rng):
    """X, y, time: column 0 drifts, 1 is constant, 2 to 4 do nothing; the intercept moves."""
    n_steps = 6
    time = np.repeat(np.arange(2001, 2001 + n_steps), 30)
    X = rng.normal(size=(time.size, 5))
    drifting = np.linspace(-1.5, 1.5, n_steps)[time - 2001]
    y = drifting * X[:, 0] + X[:, 1] + 0.2 * (time - 2001) + 0.4 * rng.normal(size=time.size)
    return X, y, time


@pytest.fixture(scope="session")
def make_class_rows():
    """A function (number of classes, rows per step) -> X, y, time."""
    n_steps = 4

    def make(n_classes, per_step=60):
        """Column 0 drifts through zero, column 1 is constant, 2 to 4 do nothing."""
        rng = np.random.default_rng(17 + n_classes)
        time = np.repeat(np.arange(2001, 2001 + n_steps), per_step)
        X = rng.normal(size=(time.size, 5))
        drifting = np.linspace(-2.5, 2.5, n_steps)[time - 2001] * X[:, 0]
        eta = np.column_stack([0 * drifting, drifting + 0.5, 2 * X[:, 1]])
        if n_classes == 2:
            eta = np.column_stack([0 * drifting, drifting + 1.5 * X[:, 1]])
        y = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
        return X, y, time

    return make


@pytest.fixture(scope="session")
def summary_columns():
    """Columns of the table of features."""
    return [
        "feature",
        "inclusion_probability",
        "kind",
        "coef_first",
        "coef_last",
        "coef_next",
        "lower",
        "upper",
        "change",
        "autocorrelation",
    ]


@pytest.fixture
def count_rows(rng):
    """X, counts, time: column 0 drifts, 1 is constant, 2 to 4 do nothing."""
    n_steps = 5
    time = np.repeat(np.arange(2001, 2001 + n_steps), 40)
    X = rng.normal(size=(time.size, 5))
    drifting = np.linspace(-0.8, 0.8, n_steps)[time - 2001]
    rate = np.exp(drifting * X[:, 0] + 0.6 * X[:, 1] + 1 + 0.1 * (time - 2001))
    return X, rng.poisson(rate), time
