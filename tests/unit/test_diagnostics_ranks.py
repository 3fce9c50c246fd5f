import numpy as np
import pytest
from scipy import stats

from driftglm.diagnostics.ranks import differ, normal_scores, step_deviations


def test_differ_is_kruskal_and_wallis_test():
    rng = np.random.default_rng(1)
    steps = np.repeat([0, 1, 3], [10, 25, 40])
    values = rng.normal(size=75) + 0.5 * (steps == 1)
    ours = differ(stats.rankdata(values), steps, np.bincount(steps, minlength=4))
    theirs = stats.kruskal(*(values[steps == step] for step in (0, 1, 3))).pvalue
    assert ours == pytest.approx(theirs)


def test_one_step_or_constant_scores_do_not_differ():
    steps = np.zeros(5, dtype=int)
    assert differ(np.arange(5.0), steps, np.array([5])) == 1
    assert differ(np.zeros(4), np.array([0, 0, 1, 1]), np.array([2, 2])) == 1
    assert step_deviations(np.arange(5.0), steps, np.array([5, 0])).tolist() == [0, 0]


def test_normal_scores_are_those_of_a_normal_sample():
    scores = normal_scores(np.random.default_rng(0).standard_cauchy(2001))
    assert abs(scores.mean()) < 1e-9
    assert scores.std() == pytest.approx(1, abs=0.01)
    assert normal_scores(np.array([])).size == 0
