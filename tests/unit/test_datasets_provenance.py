"""What a reader did: differences are reported, and all is told."""

import json

import pytest

from driftglm.datasets.provenance import Check, Provenance
from driftglm.exceptions import DataError, DataWarning

GOOD, BAD = Check("years", 3, 3), Check("rows", 1408, 1400)


def test_checks_that_agree_are_silent():
    record = Provenance("a table", 3, 3, checks=(GOOD,))
    record.report_differences(strict=True)  # warnings are errors here
    assert record.ok


def test_what_differs_is_a_warning_or_an_error():
    record = Provenance("a table", 3, 3, checks=(GOOD, BAD))
    assert not record.ok
    with pytest.warns(DataWarning, match=r"a table differs .*: rows: 1400, expected 1408\."):
        record.report_differences()
    with pytest.raises(DataError, match=r"rows: 1400, expected 1408.*strict=False"):
        record.report_differences(strict=True)


def test_a_record_tells_what_was_dropped_and_goes_into_json():
    record = Provenance("a table", 2000, 1400, {"repeated": 600, "blank": 0}, (BAD,))
    told = str(record)
    assert "2,000 rows read, 1,400 kept" in told
    assert "skipped 600: repeated" in told
    assert "blank" not in told
    assert "DIFFERS: rows" in told
    content = json.loads(json.dumps(record.to_dict()))
    assert content["checks"] == [{"what": "rows", "expected": 1408, "found": 1400, "ok": False}]
