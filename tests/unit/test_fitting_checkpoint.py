"""Whether a checkpoint belongs to a fit."""

from pathlib import Path

import numpy as np
import pytest

from driftglm.exceptions import DataError
from driftglm.fitting.checkpoint import Checkpoint, Fingerprint, resuming_advice

HERE = Path("fit.checkpoint")


def of(**params):
    return Fingerprint.of("DriftRegressor", params, {"n_rows": 3}, [1.0, np.array([2.0, 3.0])])


def test_what_changes_no_number_does_not_change_the_fingerprint():
    fingerprint = of(tol=1e-4, verbose=True, n_jobs=2)
    again = of(tol=1e-4, verbose=False, n_jobs=None)
    fingerprint.check(HERE, again.text, again.sums)
    fingerprint.check(HERE, again.text, again.sums * (1 + 1e-12))


def test_another_parameter_or_other_data_are_refused():
    other = of(tol=1e-3)
    with pytest.raises(
        DataError, match=r"another fit: it says 'tol=0.001', this fit has 'tol=0.1'"
    ):
        of(tol=0.1).check(HERE, other.text, other.sums)
    with pytest.raises(DataError, match="other data: their sums differ"):
        of(tol=1e-3).check(HERE, other.text, other.sums + 1e-3)


def test_a_checkpoint_needs_a_folder(tmp_path):
    with pytest.raises(DataError, match="lies in a folder that is not there"):
        Checkpoint.at(tmp_path / "none" / "file", of())
    assert not Checkpoint.at(tmp_path / "file", of()).stages


def test_advice_names_the_file():
    assert "checkpoint='run.zip'" in resuming_advice(Path("run.zip"))
    assert resuming_advice(None) == "fit again with the scheduler up"
