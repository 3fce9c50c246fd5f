"""What every solver takes and returns."""

import numpy as np
from numpy.testing import assert_array_equal

from driftglm.solvers import SolverResult, StopReason
from driftglm.solvers.base import Run, as_tuple
from driftglm.solvers.coupling import Uncoupled
from driftglm.solvers.journal import NoJournal


def test_two_runs_are_reported_as_one():
    first = SolverResult(("a",), np.array([1.0, 2.0]), 0.5, StopReason.MAX_ITER)
    later = SolverResult(("b",), np.array([3.0]), 0.1, StopReason.CONVERGED)
    both = first.then(later)
    assert (both.state, both.n_iter, both.optimality, both.converged) == ("b", 3, 0.1, True)
    assert not first.converged


def test_a_single_item_is_a_tuple_of_one():
    assert as_tuple(3) == (3,)
    assert as_tuple([3, 4]) == (3, 4)


def test_a_run_is_exhausted_after_its_last_iteration_and_tells_of_each():
    told = []
    run = Run((), [], 2, 0.1, lambda *each: told.append(each), Uncoupled(), NoJournal())
    for value in (5.0, 6.0):
        assert not run.exhausted
        run.record(value, 3)
    assert run.exhausted
    assert told == [(1, 5.0, 3), (2, 6.0, 3)]
    assert_array_equal(run.result((), 0.2, StopReason.MAX_ITER).history, [5.0, 6.0])
