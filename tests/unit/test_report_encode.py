"""Values on their way into the page come back as they were."""

import base64
import json
import re

import numpy as np
import pytest

from driftglm.report.encode import floats, integers, number, page_json, significant

ODD = ["</script>", "<!-- & -->", "line\u2028break\u2029", "half \ud800"]


def test_json_for_a_script_element_has_no_way_out_of_it():
    text = page_json(ODD)
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)
    assert json.loads(text) == ODD


def test_arrays_come_back_from_base64():
    found = np.frombuffer(base64.b64decode(floats([[0.5, -2.0], [np.nan, 1e300]])), dtype="<f4")
    np.testing.assert_array_equal(found[:3], [0.5, -2.0, np.nan])
    assert np.isfinite(found[3])
    assert np.frombuffer(base64.b64decode(integers([3, -1])), dtype="<i4").tolist() == [3, -1]


def test_numbers_json_does_not_have_are_none():
    assert [number(value) for value in (1, np.float64(0.5), np.nan, -np.inf)] == [
        1,
        0.5,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1234.5678, "1,235"),
        (0.012345, "0.0123"),
        (1e-9, "1e-09"),
        (np.nan, "not a number"),
    ],
)
def test_sentences_have_three_significant_digits(value, shown):
    assert significant(value) == shown
