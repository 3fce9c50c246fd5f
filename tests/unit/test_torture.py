"""A small share of `make torture`: every kind of attack, a few times each."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "torture"))

import commands
import files
import problems


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (commands.attack_calls, 40),
        (commands.attack_manifests, 20),
        (files.attack_files, 60),
        (files.attack_archives, 12),
    ],
)
def test_hostile_input_is_refused_or_answered(attack, count, tmp_path):
    tally = attack(count, 7, tmp_path)
    assert tally.tried >= count
    assert not tally.failures


@pytest.mark.parametrize("estimator", problems.FAMILIES)
def test_nasty_problems_have_the_same_answer_tighter_reordered_and_moved(estimator):
    assert not problems.attack_rows(estimator, 6, 11).failures


def test_nasty_texts_have_the_same_answer_tighter_and_reordered():
    assert not problems.attack_text(4, 11).failures


def test_a_killed_save_leaves_a_whole_file_and_no_draft(tmp_path):
    assert not commands.attack_saves(2, 7, tmp_path).failures
