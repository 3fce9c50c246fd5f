"""Settings shared by all tests."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The first call of a kernel compiles it and breaks any deadline; the same examples every run,
# since a test that fails one run in ten is worse than none.
settings.register_profile("driftglm", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("driftglm")

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
# A source archive has no benchmarks.
collect_ignore_glob = [] if BENCHMARKS.exists() else ["unit/test_peers*", "unit/test_benchmarks*"]


@pytest.fixture
def rng():
    """The one source of random numbers in tests."""
    return np.random.default_rng(20131009)
