import numpy as np
import pytest

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.influence import influence


@pytest.mark.parametrize(
    ("moved", "severity", "label"),
    [
        ([0.6, 0.4, 0.8, 2.6], "none", "d"),
        ([0.6, 2.8, 0.8, 2.6], "minor", "b"),
        ([0.6, -5.0, 0.8, 2.6], "major", "b"),
        ([0.6, 0.4, 0.8, 5.0], "minor", "d"),
    ],
)
def test_the_last_step_may_move_more(moved, severity, label):
    given = Residuals(np.zeros(8), np.repeat(np.arange(4), 2), 4, influence=moved, labels="abcd")
    found = influence(given)
    assert found.severity == severity
    assert found.p_value is None
    assert f"without {label} (2 rows)" in found.finding


def test_without_influence_or_with_one_step_nothing_is_said():
    assert influence(Residuals(np.zeros(3), np.arange(3), 3)) is None
    assert influence(Residuals(np.zeros(3), np.zeros(3, dtype=int), 1, influence=[9.0])) is None
