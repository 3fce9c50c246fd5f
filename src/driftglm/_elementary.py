"""Exponentials, logarithms and the sum of a whole array, several numbers at a time.

A call of the library's exp or log handles one number and keeps a loop from being done several
numbers at a time; a mixture needs three hundred of them for every path in every pass. Here they are
plain arithmetic, on numbers and on their bits, good to three units in the last place.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray

LEAST, MOST = -708.0, 709.0
"""Exponents outside have results outside the normal numbers; they are moved to the border."""
SMALLEST = 2.2250738585072014e-308
LOG2E = 1.4426950408889634
LN2, LN2_REST = 0.6931471803691238, 1.9082149292705877e-10
"""log 2 in two parts; whole numbers times the first, of 32 bits, are exact."""
WHOLE = 6755399441055744.0
"""1.5 * 2^52: what is added to it is rounded to a whole number, found in the last bits."""
WHOLE_BITS = 0x4338000000000000
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
EXPONENT = 52


@kernel
def exp_inplace(x: FloatArray, work: FloatArray) -> None:
    """exp of every number in place; `work` is of the same size, both contiguous."""
    n = x.shape[0]
    for k in range(n):
        z = min(max(x[k], LEAST), MOST)
        work[k] = z * LOG2E + WHOLE
        twos = work[k] - WHOLE
        r = (z - twos * LN2) - twos * LN2_REST
        # Taylor's series, |r| < 0.35: what is left out is below 5e-18. Terms in pairs, and pairs of
        # pairs: one after the other each would wait for the one before it.
        r2 = r * r
        r4 = r2 * r2
        first = (1 / 2 + r * (1 / 6)) + r2 * (1 / 24 + r * (1 / 120))
        second = (1 / 720 + r * (1 / 5040)) + r2 * (1 / 40320 + r * (1 / 362880))
        third = (1 / 3628800 + r * (1 / 39916800)) + r2 * (1 / 479001600 + r * (1 / 6227020800))
        x[k] = 1.0 + (r + r2 * (first + r4 * (second + r4 * third)))
    bits, twos_bits = x.view(np.int64), work.view(np.int64)
    for k in range(n):
        bits[k] += twos_bits[k] << EXPONENT


@kernel
def log_inplace(x: FloatArray, work: FloatArray) -> None:
    """log of every number in place, all of them positive and finite; `work` as above."""
    n = x.shape[0]
    bits, twos_bits = x.view(np.int64), work.view(np.int64)
    for k in range(n):
        # x = 2^twos * m with m between the roots of 1/2 and 2
        twos = (bits[k] - ROOT_HALF_BITS) >> EXPONENT
        bits[k] -= twos << EXPONENT
        twos_bits[k] = WHOLE_BITS + twos
    for k in range(n):
        twos_again = work[k] - WHOLE
        s = (x[k] - 1.0) / (x[k] + 1.0)
        z = s * s
        # 2 atanh(s), |s| < 0.172: what is left out is below 5e-17 of it.
        z2 = z * z
        first = (1 / 3 + z * (1 / 5)) + z2 * (1 / 7 + z * (1 / 9))
        second = (1 / 11 + z * (1 / 13)) + z2 * (1 / 15 + z * (1 / 17 + z * (1 / 19)))
        low = z * (first + z2 * z2 * second)
        x[k] = twos_again * LN2 + (2.0 * s + (2.0 * s * low + twos_again * LN2_REST))


@kernel
def total(x: FloatArray) -> float:
    """The sum, by four sums at once: an addition waits for the one before it."""
    a = b = c = d = 0.0
    even = x.shape[0] - x.shape[0] % 4
    for k in range(0, even, 4):
        a += x[k]
        b += x[k + 1]
        c += x[k + 2]
        d += x[k + 3]
    for k in range(even, x.shape[0]):
        a += x[k]
    return (a + b) + (c + d)
