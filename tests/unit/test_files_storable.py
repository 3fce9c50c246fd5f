"""Whatever can be stored has `save`."""

import pytest

import driftglm
from driftglm.baselines import RidgeAll
from driftglm.exceptions import DataError
from driftglm.files import Storable


class Unknown(Storable):
    """A class that no file may hold."""


def test_save_writes_what_load_reads(tmp_path):
    RidgeAll(strength=2.5).save(tmp_path / "m")
    assert driftglm.load(tmp_path / "m").strength == 2.5


def test_a_class_that_is_not_listed_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(DataError, match="Unknown"):
        Unknown().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
