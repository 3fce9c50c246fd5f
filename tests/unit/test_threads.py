"""Work is shared out without gaps or overlaps."""

import pytest

from driftglm._threads import n_threads, parallel_for, ranges


@pytest.mark.parametrize(("count", "n_parts"), [(10, 3), (2, 5), (0, 2), (7, 7)])
def test_ranges_cover_every_number_once(count, n_parts):
    parts = ranges(count, n_parts)
    assert [k for a, b in parts for k in range(a, b)] == list(range(count))
    assert len(parts) == min(count, n_parts)


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_threads_are_raised(threads):
    done = []
    parallel_for(lambda a, b: done.append(a + b), [(1, 2), (3, 4)], threads)
    assert sorted(done) == [3, 7]
    with pytest.raises(ZeroDivisionError):
        parallel_for(lambda a: 1 / a, [(1,), (0,)], threads)


def test_numbers_of_threads_follow_scikit_learn():
    assert n_threads(None) == n_threads(0) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == n_threads(-2) + 1 or n_threads(-1) == 1
