"""Files hold any facts and arrays, and any damage is seen."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nst

from driftglm.files import DamagedFileError, pack, unpack
from driftglm.persistence.decoding import Decoder
from driftglm.persistence.encoding import Encoder

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text()
numbers = nst.arrays(
    st.sampled_from([np.float64, np.int64, np.bool_, np.float32, "<U5", "M8[s]"]),
    nst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
values = st.recursive(
    scalars | numbers | st.builds(range, st.integers(0, 9)) | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=20)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.booleans(), inner, max_size=5)
        | st.lists(st.text(), min_size=17, max_size=20)
        | st.lists(st.floats(), min_size=17, max_size=20).map(tuple)
    ),
    max_leaves=20,
)


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    elif isinstance(a, dict):
        same(list(a.items()), list(b.items()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, float):
        assert (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)  # noqa: PLR0124
    else:
        assert a == b


@given(values)
def test_any_value_comes_back_through_a_file(value):
    encoder = Encoder()
    node = encoder.value(value, "value")
    facts, arrays = unpack(pack({"content": node}, encoder.arrays))
    same(Decoder(arrays).value(facts["content"]), value)


@given(st.data(), st.binary(min_size=1, max_size=8))
def test_any_damage_is_seen(data, junk):
    """Bytes overwritten anywhere, or taken out, leave the content as it was or raise."""
    whole = pack({"fact": "x" * 20}, {"a": np.arange(20.0), "b": np.array(["text"])})
    at = data.draw(st.integers(0, len(whole) - 1))
    for changed in (
        whole[:at] + junk + whole[at + len(junk) :],
        whole[:at] + whole[at + len(junk) :],
        whole[:at] + junk + whole[at:],
    ):
        try:
            facts, arrays = unpack(changed)
        except DamagedFileError:
            continue
        assert pack(facts, arrays) == whole


@given(st.binary(max_size=300))
def test_any_other_bytes_are_refused(data):
    with pytest.raises(DamagedFileError):
        unpack(data)
