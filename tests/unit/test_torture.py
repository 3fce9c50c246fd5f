"""A small share of `make torture`: every kind of attack, a few times each."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from driftglm import DriftGLM

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "torture"))

import arrays
import commands
import files
import folders
import problems
import tables


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (commands.attack_calls, 40),
        (commands.attack_manifests, 20),
        (files.attack_files, 60),
        (files.attack_archives, 12),
        (tables.attack_tables, 16),
        (folders.attack_folders, 4),
    ],
)
def test_hostile_input_is_refused_or_answered(attack, count, tmp_path):
    tally = attack(count, 7, tmp_path)
    assert tally.tried >= count
    assert not tally.failures


def test_a_spoilt_argument_is_refused_and_changes_no_model():
    tally = arrays.attack_arrays(30, 7)
    assert tally.tried == 30
    assert not tally.failures


@pytest.mark.parametrize("estimator", problems.FAMILIES)
def test_nasty_problems_have_the_same_answer_tighter_reordered_and_moved(estimator):
    assert not problems.attack_rows(estimator, 4, 16).failures


@pytest.mark.parametrize("family", sorted(sum(problems.FAMILIES.values(), ())))
def test_columns_and_intercepts_that_move_may_lie_anywhere(family):
    """Both views of the intercept are fitted, whatever a column's zero is."""
    rng = np.random.default_rng(1)
    time = np.sort(rng.integers(0, 8, 120))
    X = rng.normal(size=(120, 2)) + 3.0 * np.cumsum(rng.normal(size=(8, 2)), axis=0)[time]
    X = np.round(X * 2**18) / 2**18  # so that adding 1e9 loses no digit
    eta = 0.3 * X[:, 0] + np.cumsum(0.3 * rng.normal(size=8))[time]
    y = problems.drawn(family, np.clip(eta - eta.mean(), -3, 3), rng)
    found = []
    for far in (0.0, -1e3, 1e9):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DriftGLM(family=family).fit(X + far, y, time=time)
        found.append(problems.answers(model, family, X + far, time))
    for other in found[1:]:
        assert problems.distance(family, other, found[0], y) < problems.OFFSET


def test_nasty_texts_have_the_same_answer_tighter_and_reordered():
    assert not problems.attack_text(2, 11).failures


def test_a_killed_save_leaves_a_whole_file_and_no_draft(tmp_path):
    assert not commands.attack_saves(2, 7, tmp_path).failures
