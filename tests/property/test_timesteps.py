import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from driftglm.data.timesteps import fit_axis
from driftglm.exceptions import TimeError
from driftglm.persistence.decoding import Decoder
from driftglm.persistence.encoding import Encoder

FREQS = ["Y", "Q", "Q-JAN", "M", "W", "W-WED", "D", "h", "2Y", "3M", "2W", "15min"]
# pandas is slow on its first call of each kind; that is not what is tested here.
unhurried = settings(deadline=None)


@st.composite
def steps(draw):
    """Codes of rows on an axis from 0 that is full enough to be accepted, in any order."""
    gaps = draw(st.lists(st.integers(1, 2), max_size=20))
    observed = np.cumsum([0, *gaps])
    extra = draw(st.lists(st.sampled_from(observed.tolist()), max_size=20))
    return np.array(draw(st.permutations([*observed.tolist(), *extra])), dtype=np.int64)


@st.composite
def integer_labels(draw):
    codes, freq = draw(steps()), draw(st.integers(1, 1000))
    return codes * freq + draw(st.integers(-(10**9), 10**9)), freq, codes


@st.composite
def period_labels(draw):
    codes, freq = draw(steps()), draw(st.sampled_from(FREQS))
    first = pd.Period(draw(st.datetimes(pd.Timestamp("1800"), pd.Timestamp("2200"))), freq=freq)
    multiple = first.freq.n
    first = pd.Period(ordinal=first.ordinal // multiple * multiple, freq=freq)
    return pd.PeriodIndex([first + int(code) for code in codes]), freq, codes


@st.composite
def category_labels(draw):
    codes = draw(steps())
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    names = draw(st.permutations([f"c{k}" for k in range(before + codes.max() + 1 + after)]))
    return pd.Categorical.from_codes(codes + before, names, ordered=True), None, codes


labels = st.one_of(integer_labels(), period_labels(), category_labels())


@given(labels)
@unhurried
def test_codes_are_the_steps_the_labels_were_made_from(case):
    time, freq, codes = case
    axis, found = fit_axis(time, len(time), freq)
    assert_array_equal(found, codes)
    assert axis.n_timesteps == codes.max() + 1


@given(labels)
@unhurried
def test_codes_decode_to_the_labels(case):
    time, freq, _ = case
    axis, codes = fit_axis(time, len(time), freq)
    assert list(axis.labels[codes]) == list(time)


@given(labels)
@unhurried
def test_every_label_of_the_axis_encodes_to_its_position(case):
    time, freq, _ = case
    axis, _ = fit_axis(time, len(time), freq)
    every = axis.labels
    if axis.kind == "category":
        every = pd.Categorical(every, categories=list(axis.categories), ordered=True)
    assert_array_equal(axis.encode(every, len(every)), np.arange(axis.n_timesteps))


@given(labels)
@unhurried
def test_json_round_trip_keeps_labels_and_codes(case):
    time, freq, _ = case
    axis, codes = fit_axis(time, len(time), freq)
    encoder = Encoder()
    written = json.dumps(encoder.value(axis, "axis"))
    restored = Decoder(encoder.arrays).value(json.loads(written))
    assert restored == axis
    assert list(restored.labels) == list(axis.labels)
    assert_array_equal(restored.encode(time, len(time)), codes)


@given(labels, st.randoms(use_true_random=False))
@unhurried
def test_permuting_rows_permutes_codes(case, random):
    time, freq, _ = case
    order = list(range(len(time)))
    random.shuffle(order)
    axis, codes = fit_axis(time, len(time), freq)
    permuted_axis, permuted = fit_axis(time[order], len(time), freq)
    assert permuted_axis == axis
    assert_array_equal(permuted, codes[order])


@given(integer_labels(), st.integers(-(2**60), 2**60))
@unhurried
def test_shifting_integers_changes_no_code(case, shift):
    time, freq, _ = case
    axis, codes = fit_axis(time, len(time), freq)
    shifted_axis, shifted = fit_axis(time + shift, len(time), freq)
    assert_array_equal(shifted, codes)
    assert_array_equal(shifted_axis.labels, axis.labels + shift)


@given(integer_labels())
@unhurried
def test_integer_axis_is_evenly_spaced_from_first_to_last(case):
    time, freq, _ = case
    axis, _ = fit_axis(time, len(time), freq)
    assert (np.diff(axis.labels) == freq).all()
    assert (axis.labels[0], axis.labels[-1]) == (time.min(), time.max())


@given(period_labels())
@unhurried
def test_period_axis_leaves_no_gap_and_no_overlap(case):
    time, freq, _ = case
    axis, _ = fit_axis(time, len(time), freq)
    assert_array_equal(axis.labels.start_time[1:], (axis.labels + 1).start_time[:-1])
    assert (axis.labels[0], axis.labels[-1]) == (time.min(), time.max())


@given(period_labels(), st.floats(0, 1, exclude_max=True))
@unhurried
def test_any_moment_of_a_period_is_in_its_step(case, fraction):
    time, freq, _ = case
    axis, codes = fit_axis(time, len(time), freq)
    moments = time.start_time + fraction * ((time + 1).start_time - time.start_time)
    assert_array_equal(axis.encode(moments, len(time)), codes)
    moment_axis, moment_codes = fit_axis(moments, len(time), freq)
    assert moment_axis == axis
    assert_array_equal(moment_codes, codes)


@given(st.one_of(integer_labels(), period_labels()), st.integers(1, 10**4))
@unhurried
def test_distance_from_the_last_step_is_counted(case, ahead):
    time, freq, _ = case
    axis, _ = fit_axis(time, len(time), freq)
    stride = freq if axis.kind == "integer" else 1
    last = axis.labels[-1:]
    assert axis.encode(last + ahead * stride, 1).tolist() == [axis.n_timesteps - 1 + ahead]
    with pytest.raises(TimeError, match="before the first step"):
        axis.encode(axis.labels[:1] - ahead * stride, 1)


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=1, max_size=30))
@unhurried
def test_an_axis_is_accepted_exactly_if_at_most_half_is_empty(time):
    span = max(time) - min(time) + 1
    if span <= 2 * len(set(time)):
        assert fit_axis(time, len(time))[0].n_timesteps == span
    else:
        with pytest.raises(TimeError, match=f"would make {span} timesteps"):
            fit_axis(time, len(time))


@given(integer_labels())
@unhurried
def test_the_container_and_number_type_do_not_matter(case):
    time, freq, _ = case
    axis, codes = fit_axis(time, len(time), freq)
    for same in (time.tolist(), time.astype(float), time.astype(object), pd.Series(time)[::-1]):
        other_axis, other = fit_axis(same, len(time), freq)
        assert other_axis == axis
        assert_array_equal(other, codes[::-1] if isinstance(same, pd.Series) else codes)
