"""What must hold for any splits, p-values and files."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from driftglm.baselines.rows import Rows
from driftglm.baselines.tuning import choose
from driftglm.evaluation import RollingOrigin
from driftglm.evaluation.significance import holm
from driftglm.exceptions import TimeError
from driftglm.files import pack, unpack

years = st.lists(st.integers(2000, 2005), min_size=3, max_size=40).map(np.array)


@given(
    time=years,
    n_test=st.integers(1, 3),
    window=st.none() | st.integers(1, 4),
    gap=st.integers(0, 2),
)
def test_training_rows_are_earlier_than_test_rows_and_no_more_than_allowed(
    time, n_test, window, gap
):
    splitter = RollingOrigin(n_test=n_test, window=window, gap=gap)
    try:
        folds = splitter.folds(time, time.size)
    except TimeError:
        return  # too few steps, or too far apart, for what was asked
    assert len(folds) == n_test
    for fold in folds:
        assert (time[fold.test] == fold.step).all()
        assert fold.test.size == (time == fold.step).sum()
        age = fold.step - time[fold.train]
        wanted = (fold.step - time > gap) & (
            True if window is None else fold.step - time <= gap + window
        )
        assert age.size == wanted.sum()
        assert (age > gap).all()
        if window is not None:
            assert (age <= gap + window).all()
    assert [fold.step for fold in folds] == np.unique(time)[-n_test:].tolist()


@given(time=years, n_test=st.integers(1, 3))
def test_what_tunes_a_fold_is_part_of_what_trains_it(time, n_test):
    splitter = RollingOrigin(n_test=n_test)
    try:
        pairs = [
            (fold, splitter.fold_before(fold, time, time.size))
            for fold in splitter.folds(time, time.size)
        ]
    except TimeError:
        return
    for fold, before in pairs:
        assert set(before.train) | set(before.test) == set(fold.train)
        assert not set(before.train) & set(before.test)


@given(arrays(float, st.integers(1, 12), elements=st.floats(0, 1)))
def test_holm_rejects_what_its_procedure_rejects(p_values):
    """Holm as a procedure: go up the sorted p-values until one exceeds level / (tests left)."""
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        rejected = np.zeros(p_values.size, dtype=bool)
        for done, k in enumerate(np.argsort(p_values, kind="stable")):
            if p_values[k] * (p_values.size - done) > level:
                break
            rejected[k] = True
        assert ((corrected <= level) == rejected).all()


@given(
    arrays(float, st.tuples(st.integers(0, 4), st.integers(0, 4)), elements=st.floats()),
    st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False) | st.text() | st.none()),
    st.data(),
)
def test_files_come_back_whole_or_not_at_all(array, facts, data):
    packed = pack(facts, {"a": array})
    found, back = unpack(packed)
    assert found == facts
    assert back["a"].tobytes() == array.tobytes()
    cut = data.draw(st.integers(0, len(packed) - 1))
    try:
        unpack(packed[:cut])
    except ValueError:
        return
    raise AssertionError(f"a file cut at {cut} of {len(packed)} bytes was read")


@given(st.lists(st.lists(st.floats(0.1, 10), min_size=1, max_size=12), min_size=1, max_size=3))
def test_a_choice_is_never_worse_than_what_was_tried(chains):
    seen = []

    def follow(k, errors):
        for j, error in enumerate(errors):
            seen.append(error)
            yield {"at": (k, j)}, error

    choice = choose(follow(k, errors) for k, errors in enumerate(chains))
    k, j = choice.params["at"]
    assert chains[k][j] == choice.error == min(seen)
    assert choice.n_tried == len(seen)


@given(codes=st.lists(st.integers(0, 4), min_size=2, max_size=30).map(np.array))
def test_held_out_rows_are_the_last_step_or_a_fifth(codes):
    n_rows = codes.size
    rows = Rows(
        np.arange(n_rows)[:, None], np.zeros(n_rows), np.ones(n_rows), np.zeros(n_rows), codes
    )
    past, now = rows.held_out()
    assert past.y.size + now.y.size == n_rows
    assert past.y.size > 0
    assert now.y.size > 0
    if np.unique(codes).size > 1:
        assert past.codes.max() < now.codes.min()
