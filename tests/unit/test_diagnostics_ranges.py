import numpy as np
import pytest
from scipy import sparse

from driftglm.diagnostics import findings_frame, range_check
from driftglm.exceptions import DataError

LOW, HIGH = np.array([0.0, -1.0, 0.0, 2.0]), np.array([1.0, 1.0, 0.0, 4.0])
NAMES = ["flag", "x", "blank", "price"]
NEW = np.array([[1.0, 0.0, 0.0, 3.0], [0.0, 4.0, 1.0, 0.0], [0.5, -2.0, 0.0, 0.0]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_matrix, list])
def test_columns_outside_are_named_counted_and_measured(kind):
    found = range_check(kind(NEW), LOW, HIGH, NAMES, binary=[True, False, False, False])
    assert [(each.finding.split("'")[1], each.statistic) for each in found] == [
        ("x", 1.5),
        ("blank", 1.0),
        ("price", 1.0),
        ("flag", 0.0),
    ]
    x, blank, price, flag = (each.finding for each in found)
    assert x.endswith("training range of -1 to 1 in 2 of 3 rows, by up to 1.5 times that range")
    assert blank == "'blank' was always 0 in training and is not in 1 of 3 rows"
    assert "in 2 of 3 rows" in price
    assert flag == "'flag' was 0 or 1 in training and is neither in 1 of 3 rows"
    assert len(findings_frame(found)) == 4


def test_inside_a_little_outside_and_no_rows_are_quiet():
    inside = np.array([[1.0, 1.0, 0.0, 2.0], [0.0, 1.1, 0.0, 4.0]])
    assert range_check(inside, LOW, HIGH, NAMES) == []
    assert range_check(np.empty((0, 4)), LOW, HIGH, NAMES) == []


def test_wrong_shapes_and_gaps_are_refused():
    with pytest.raises(DataError, match="X has 3 columns, but there are 4 minima"):
        range_check(NEW[:, :3], LOW, HIGH, NAMES)
    with pytest.raises(DataError, match="missing or not finite"):
        range_check(np.full((1, 4), np.nan), LOW, HIGH, NAMES)
