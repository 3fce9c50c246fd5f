"""The inner loops of a design that is stored by columns: flat arrays and scalars only."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Entries, Pair, RowArray

ROUNDING = 1e-13
"""What is smaller than this times the size of its terms is a rounding error."""


@kernel
def dot_segment(
    values: FloatArray, rows: RowArray, first: int, last: int, vector: FloatArray
) -> float:
    """Sum of x * vector over some entries.

    Four sums at once: each addition would otherwise wait for the one before it. Rows are taken for
    unsigned: a number that may be negative would be looked at before it is used.
    """
    a = b = c = d = 0.0
    part = rows[first:last]
    count = part.shape[0]
    even = count - count % 4
    if values.shape[0] == 0:
        for k in range(0, even, 4):
            a += vector[np.uint32(part[k])]
            b += vector[np.uint32(part[k + 1])]
            c += vector[np.uint32(part[k + 2])]
            d += vector[np.uint32(part[k + 3])]
        for k in range(even, count):
            a += vector[np.uint32(part[k])]
    else:
        x = values[first:last]
        for k in range(0, even, 4):
            a += x[k] * vector[np.uint32(part[k])]
            b += x[k + 1] * vector[np.uint32(part[k + 1])]
            c += x[k + 2] * vector[np.uint32(part[k + 2])]
            d += x[k + 3] * vector[np.uint32(part[k + 3])]
        for k in range(even, count):
            a += x[k] * vector[np.uint32(part[k])]
    return (a + b) + (c + d)


@kernel
def add_segment(
    values: FloatArray, rows: RowArray, first: int, last: int, factor: float, vector: FloatArray
) -> None:
    """Add x * factor to the vector at every entry's row."""
    part = rows[first:last]
    if values.shape[0] == 0:
        for row in part:
            vector[np.uint32(row)] += factor
    else:
        x = values[first:last]
        for k in range(part.shape[0]):
            vector[np.uint32(part[k])] += x[k] * factor


@kernel
def project_inplace(
    entries: Entries, start: int, stop: int, basis: FloatArray, out: FloatArray
) -> None:
    """Some steps, one by one: a step's rows stay in the cache while features pass over them."""
    values, rows, segments = entries
    n_columns = basis.shape[1]
    ones = values.shape[0] == 0
    for t in range(start, stop):
        for i in range(segments.shape[0]):
            along, first, last = basis[i], segments[i, t], segments[i, t + 1]
            even = last - (last - first) % 2
            for k in range(first, even, 2):  # two rows for every look at the basis
                one, two = out[np.uint32(rows[k])], out[np.uint32(rows[k + 1])]
                a, b = (1.0, 1.0) if ones else (values[k], values[k + 1])
                for r in range(n_columns):
                    one[r] += a * along[r]
                    two[r] += b * along[r]
            for k in range(even, last):
                one, a = out[np.uint32(rows[k])], 1.0 if ones else values[k]
                for r in range(n_columns):
                    one[r] += a * along[r]


@kernel
def shift_values_inplace(
    values: FloatArray, segments: IntArray, full: IntArray, shift: FloatArray
) -> None:
    """Take `shift` off the entries of some columns; what rounding leaves of a constant is 0."""
    for i in full:
        first, last = segments[i, 0], segments[i, segments.shape[1] - 1]
        largest = 0.0
        for k in range(first, last):
            values[k] -= shift[i]
            largest = max(largest, abs(values[k]))
        if largest <= ROUNDING * abs(shift[i]):
            values[first:last] = 0.0


@kernel
def single_value(values: FloatArray, segments: IntArray) -> FloatArray:
    """|c| of a column whose nonzero entries are all c; 0 for other columns."""
    out = np.zeros(segments.shape[0])
    for i in range(segments.shape[0]):
        first, last = segments[i, 0], segments[i, segments.shape[1] - 1]
        if values.shape[0] == 0:
            out[i] = 1.0 if first < last else 0.0
        elif first < last and (values[first:last] == values[first]).all():
            out[i] = abs(values[first])
    return out


@kernel
def entry_ranges(values: FloatArray, segments: IntArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest entry of every column, 0 of one without any."""
    low, high = np.zeros(segments.shape[0]), np.zeros(segments.shape[0])
    for i in range(segments.shape[0]):
        first, last = segments[i, 0], segments[i, segments.shape[1] - 1]
        if first < last:
            low[i] = high[i] = values[first]
        for k in range(first, last):
            low[i], high[i] = min(low[i], values[k]), max(high[i], values[k])
    return low, high


@kernel
def by_step(rows: FloatArray, step_offsets: IntArray) -> FloatArray:
    """Sums over the rows of every step, one row after the other."""
    out = np.zeros(step_offsets.shape[0] - 1)
    for t in range(out.shape[0]):
        for n in range(step_offsets[t], step_offsets[t + 1]):
            out[t] += rows[n]
    return out


@kernel
def eta(entries: Entries, beta: FloatArray, n_rows: int) -> FloatArray:
    """Sum of x * beta of every row, x not centred."""
    values, rows, segments = entries
    out = np.zeros(n_rows)
    for i in range(beta.shape[0]):
        for t in range(beta.shape[1]):
            coefficient = beta[i, t]
            if coefficient != 0.0:
                add_segment(values, rows, segments[i, t], segments[i, t + 1], coefficient, out)
    return out


@kernel
def sums_inplace(
    entries: Entries, start: int, stop: int, weights: FloatArray, out: FloatArray
) -> None:
    """Sums of x * weights of some features, step by step."""
    values, rows, segments = entries
    for i in range(start, stop):
        for t in range(segments.shape[1] - 1):
            out[i, t] = dot_segment(values, rows, segments[i, t], segments[i, t + 1], weights)


@kernel
def weigh_inplace(entries: Entries, features: IntArray, curvature: FloatArray, out: Pair) -> None:
    """Sums of curvature * x^2 and curvature * x of some features, x not centred."""
    values, rows, segments = entries
    squares, sums = out
    for i in features:
        for t in range(segments.shape[1] - 1):
            if values.shape[0] == 0:
                total = dot_segment(values, rows, segments[i, t], segments[i, t + 1], curvature)
                squares[i, t], sums[i, t] = total, total
                continue
            square = total = 0.0
            for k in range(segments[i, t], segments[i, t + 1]):
                part = values[k] * curvature[rows[k]]
                total += part
                square += values[k] * part
            squares[i, t], sums[i, t] = square, total


@kernel
def add_moments_inplace(
    entries: Entries, features: IntArray, center: FloatArray, change: Pair, moments: FloatArray
) -> None:
    """What x adds to eta's mean, and x^2 - 2 center x to its variance."""
    values, rows, segments = entries
    beta, variance = change
    ones = values.shape[0] == 0
    for i in features:
        for t in range(segments.shape[1] - 1):
            b, v = beta[i, t], variance[i, t]
            if b == 0.0 and v == 0.0:
                continue
            twice = 2.0 * center[i, t]
            for k in range(segments[i, t], segments[i, t + 1]):
                x = 1.0 if ones else values[k]
                moments[0, rows[k]] += x * b
                moments[1, rows[k]] += x * (x - twice) * v


@kernel
def vote_inplace(
    entries: Entries, start: int, stop: int, weights: FloatArray, out: FloatArray
) -> None:
    """The one value that more than half of a column's entries may have, its lead, and their weight.

    Boyer and Moore's vote: a value with more than half of the weight wins, whatever the order.
    """
    values, rows, segments = entries
    for i in range(start, stop):
        leader = lead = total = 0.0
        for k in range(segments[i, 0], segments[i, segments.shape[1] - 1]):
            weight = weights[rows[k]]
            total += weight
            if values[k] == leader:
                lead += weight
            elif weight <= lead:
                lead -= weight
            else:
                leader, lead = values[k], weight - lead
        out[0, i], out[1, i], out[2, i] = leader, lead, total


@kernel
def equal_inplace(
    entries: Entries, start: int, stop: int, value: FloatArray, weights: FloatArray, out: Pair
) -> None:
    """How many entries of every step are equal to a value of each column, and their weight."""
    values, rows, segments = entries
    counts, mass = out
    for i in range(start, stop):
        if value[i] == 0.0:
            continue
        for t in range(segments.shape[1] - 1):
            for k in range(segments[i, t], segments[i, t + 1]):
                if values[k] == value[i]:
                    counts[i, t] += 1.0
                    mass[i, t] += weights[rows[k]]


@kernel
def weigh_about_inplace(
    entries: Entries, start: int, stop: int, about: FloatArray, weights: FloatArray, out: Pair
) -> None:
    """Sums of weights * (x - about)^2 and weights * (x - about) of some features."""
    values, rows, segments = entries
    squares, sums = out
    for i in range(start, stop):
        for t in range(segments.shape[1] - 1):
            square = total = 0.0
            for k in range(segments[i, t], segments[i, t + 1]):
                away = values[k] - about[i]
                part = away * weights[rows[k]]
                total += part
                square += away * part
            squares[i, t], sums[i, t] = square, total
