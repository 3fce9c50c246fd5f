"""How often two columns of a block are both one, where all entries are ones: counted in bits.

A row is a bit; 64 of them are compared at once. Counts are whole numbers, so that nothing depends
on the order in which rows are taken.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.design.base import RowArray

RARE = 4
"""A column with so many times fewer entries than words of bits is looked up entry by entry."""
ONE, TWO, FOUR, SIX = (np.uint64(each) for each in (1, 2, 4, 6))
PAIRS, FOURS, BYTES = (
    np.uint64(each) for each in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
EACH, TOP, LOW = np.uint64(0x0101010101010101), np.uint64(56), np.uint64(63)


def only_ones(part: ColumnDesign) -> bool:
    """Whether all entries of some columns are one."""
    return bool(_only_ones(part.values, part.segments))


def common_counts(part: ColumnDesign) -> np.ndarray:
    """(n_steps, m (m + 1) / 2) rows of a step in which two columns are one: lower triangles."""
    m, offsets = part.n_features, part.step_offsets
    most = int(np.diff(offsets).max(initial=0))
    kind = np.uint16 if most <= np.iinfo(np.uint16).max else np.uint32
    out = np.empty((part.n_timesteps, m * (m + 1) // 2), dtype=kind)
    for t, counts in enumerate(out):
        first, last = int(offsets[t]), int(offsets[t + 1])
        bits = np.zeros((m, (last - first + 63) // 64), dtype=np.uint64)
        _count_inplace(part.rows, part.segments[:, t : t + 2], first, bits, counts)
    return out


@kernel
def _only_ones(values: FloatArray, segments: IntArray) -> bool:
    if values.shape[0] == 0:
        return True  # ones are not stored
    for i in range(segments.shape[0]):
        for k in range(segments[i, 0], segments[i, segments.shape[1] - 1]):
            if values[k] != 1.0:
                return False
    return True


@kernel
def _count_inplace(
    rows: RowArray, segments: IntArray, first: int, bits: np.ndarray, counts: np.ndarray
) -> None:
    """Set the bits of every column in one step, and count those it shares with each before it."""
    place = 0
    for i in range(bits.shape[0]):
        begin, end = segments[i, 0], segments[i, 1]
        for k in range(begin, end):
            row = np.uint64(rows[k] - first)
            bits[i, row >> SIX] |= ONE << (row & LOW)
        rare = (end - begin) * RARE < bits.shape[1]
        for j in range(i + 1):
            counts[place] = (
                _looked_up(rows[begin:end], first, bits[j]) if rare else _both(bits[i], bits[j])
            )
            place += 1


@kernel
def _looked_up(rows: RowArray, first: int, bits: np.ndarray) -> np.uint64:
    total = np.uint64(0)
    for k in range(rows.shape[0]):
        row = np.uint64(rows[k] - first)
        total += (bits[row >> SIX] >> (row & LOW)) & ONE
    return total


@kernel
def _both(one: np.ndarray, other: np.ndarray) -> np.uint64:
    """Bits set in both; compilers know this sum for an instruction of the processor."""
    total = np.uint64(0)
    for k in range(one.shape[0]):
        x = one[k] & other[k]
        x -= (x >> ONE) & PAIRS
        x = (x & FOURS) + ((x >> TWO) & FOURS)
        x = (x + (x >> FOUR)) & BYTES
        total += (x * EACH) >> TOP
    return total
