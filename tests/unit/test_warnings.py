"""Warnings point at the line of the user."""

import warnings

from driftglm._warnings import warn
from driftglm.exceptions import DataWarning


def test_a_warning_names_the_first_file_outside_the_package():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("look here", DataWarning)
    assert caught[0].filename == __file__
    assert caught[0].category is DataWarning
