"""All paths that are not zero, drawn together given their components.

A path is a constant part and a chain. Given components and noise all of them are one normal
distribution, whose precision is block tridiagonal over steps (the chains), with a border (the
constant parts). Steps are eliminated one after the other, the constant parts last; then everything
is drawn in the opposite order. O(T m^3) for m paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray

SMALLEST = 1e-300

Likelihood = tuple[FloatArray, FloatArray]
"""(T, m, m) curvature and (T, m) linear term of all paths, step by step."""


@dataclass(frozen=True)
class PathLaws:
    """The normal prior of every one of m paths.

    Parameters
    ----------
    static
        (m,) variance of the constant part: infinite where it is flat, 0 where there is none.
    carry, shock
        (T, m) transitions of the chains, `shock` 0 where there is none.
    """

    static: FloatArray
    carry: FloatArray
    shock: FloatArray

    def draw(
        self, likelihood: Likelihood, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """(m, T) paths and their (m,) constant parts."""
        moves, constant = self.shock[0] > 0, self.static > 0
        inverse = np.where(constant, 1.0 / np.where(constant, self.static, 1.0), 0.0)
        gram, linear = likelihood
        chosen = np.flatnonzero(moves), np.flatnonzero(constant)
        law = self.carry, self.shock, inverse
        noise = rng.standard_normal((gram.shape[0] + 1, gram.shape[1]))
        chains, constants = draw_jointly(gram, linear, law, chosen, noise)
        return chains.T + constants[:, None], constants


@kernel
def _factor_inplace(a: FloatArray) -> None:
    """Lower Cholesky factor of a positive definite matrix, in its lower triangle."""
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(max(a[j, j], SMALLEST))
        for i in range(j + 1, n):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / a[j, j]


@kernel
def _forward_inplace(factor: FloatArray, b: FloatArray) -> None:
    """Solve L x = b for every column of b."""
    for i in range(b.shape[0]):
        for k in range(i):
            for c in range(b.shape[1]):
                b[i, c] -= factor[i, k] * b[k, c]
        for c in range(b.shape[1]):
            b[i, c] /= factor[i, i]


@kernel
def _backward_inplace(factor: FloatArray, b: FloatArray) -> None:
    """Solve L'x = b for every column of b."""
    for i in range(b.shape[0] - 1, -1, -1):
        for k in range(i + 1, b.shape[0]):
            for c in range(b.shape[1]):
                b[i, c] -= factor[k, i] * b[k, c]
        for c in range(b.shape[1]):
            b[i, c] /= factor[i, i]


@kernel
def _draw_inplace(factor: FloatArray, right: FloatArray, noise: FloatArray) -> None:
    """A draw of precision L L' and linear term `right` (n, 1), into `right`."""
    _forward_inplace(factor, right)
    for i in range(right.shape[0]):
        right[i, 0] += noise[i]
    _backward_inplace(factor, right)


@kernel
def draw_jointly(
    gram: FloatArray,
    linear: FloatArray,
    law: tuple[FloatArray, FloatArray, FloatArray],
    chosen: tuple[IntArray, IntArray],
    noise: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(T, m) chains and (m,) constant parts, from (T + 1, m) standard normal numbers.

    `law` is carry, shock and the precision of the constant parts, `chosen` the paths that have a
    chain and those that have a constant part.
    """
    carry, shock, inverse = law
    moving, constant = chosen
    n_steps, n_chains, n_flat = linear.shape[0], moving.shape[0], constant.shape[0]
    factors = np.zeros((n_steps, n_chains, n_chains))
    # The border and the linear term, side by side.
    sides = np.zeros((n_steps, n_chains, n_flat + 1))
    last, right = np.zeros((n_flat, n_flat)), np.zeros((n_flat, 1))
    for a in range(n_flat):
        last[a, a] = inverse[constant[a]]
        for t in range(n_steps):
            right[a, 0] += linear[t, constant[a]]
            for b in range(n_flat):
                last[a, b] += gram[t, constant[a], constant[b]]
    for t in range(n_steps):
        block, side = factors[t], sides[t]
        _step_inplace(gram[t], linear[t], chosen, block, side)
        for a in range(n_chains):
            block[a, a] += 1.0 / shock[t, moving[a]]
            if t + 1 < n_steps:
                block[a, a] += carry[t + 1, moving[a]] ** 2 / shock[t + 1, moving[a]]
        if t > 0:
            before = factors[t - 1], sides[t - 1]
            _eliminate_inplace(before, (carry[t], shock[t]), moving, block, side)
        _factor_inplace(block)
        _border_inplace(block, side, last, right)
    _factor_inplace(last)
    _draw_inplace(last, right, noise[n_steps])
    return _drawn_back(factors, sides, right, (carry, shock), chosen, noise)


@kernel
def _step_inplace(
    gram: FloatArray,
    linear: FloatArray,
    chosen: tuple[IntArray, IntArray],
    block: FloatArray,
    side: FloatArray,
) -> None:
    """What the likelihood of a step says of the chains: curvature, border and linear term."""
    moving, constant = chosen
    for a in range(moving.shape[0]):
        i = moving[a]
        for b in range(moving.shape[0]):
            block[a, b] = gram[i, moving[b]]
        for b in range(constant.shape[0]):
            side[a, b] = gram[i, constant[b]]
        side[a, constant.shape[0]] = linear[i]


@kernel
def _border_inplace(
    factor: FloatArray, side: FloatArray, last: FloatArray, right: FloatArray
) -> None:
    """What a step takes off the constant parts' precision and linear term."""
    solved, n_flat = side.copy(), last.shape[0]
    _forward_inplace(factor, solved)
    for a in range(n_flat):
        for c in range(side.shape[0]):
            right[a, 0] -= solved[c, a] * solved[c, n_flat]
            for b in range(n_flat):
                last[a, b] -= solved[c, a] * solved[c, b]


@kernel
def _eliminate_inplace(
    eliminated: tuple[FloatArray, FloatArray],
    transition: tuple[FloatArray, FloatArray],
    moving: IntArray,
    block: FloatArray,
    side: FloatArray,
) -> None:
    """What a step that was eliminated takes off the next: of its precision, and of its sides."""
    factor, before = eliminated
    carry, shock = transition
    n_chains, n_side = before.shape
    link = np.zeros((n_chains, n_chains + n_side))
    for a in range(n_chains):
        link[a, a] = -carry[moving[a]] / shock[moving[a]]
        link[a, n_chains:] = before[a]
    _forward_inplace(factor, link)
    for a in range(n_chains):
        for b in range(n_chains):
            total = 0.0
            for c in range(n_chains):
                total += link[c, a] * link[c, b]
            block[a, b] -= total
        for b in range(n_side):
            total = 0.0
            for c in range(n_chains):
                total += link[c, a] * link[c, n_chains + b]
            side[a, b] -= total


@kernel
def _drawn_back(
    factors: FloatArray,
    sides: FloatArray,
    flat: FloatArray,
    transitions: tuple[FloatArray, FloatArray],
    chosen: tuple[IntArray, IntArray],
    noise: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Chains from the last step to the first, given the constant parts (n_flat, 1)."""
    carry, shock = transitions
    moving, constant = chosen
    n_steps, n_chains, n_side = sides.shape
    chains, constants = np.zeros((n_steps, noise.shape[1])), np.zeros(noise.shape[1])
    for a in range(n_side - 1):
        constants[constant[a]] = flat[a, 0]
    for t in range(n_steps - 1, -1, -1):
        b = np.empty((n_chains, 1))
        for a in range(n_chains):
            b[a, 0] = sides[t, a, n_side - 1]
            for c in range(n_side - 1):
                b[a, 0] -= sides[t, a, c] * flat[c, 0]
            if t + 1 < n_steps:
                i = moving[a]
                b[a, 0] += carry[t + 1, i] / shock[t + 1, i] * chains[t + 1, i]
        _draw_inplace(factors[t], b, noise[t])
        for a in range(n_chains):
            chains[t, moving[a]] = b[a, 0]
    return chains, constants


@kernel
def column_inplace(
    entries: tuple[Any, Any, IntArray],
    i: int,
    center: FloatArray,
    step_offsets: IntArray,
    out: FloatArray,
) -> None:
    """(n_rows,) one centred column of a design."""
    values, rows, segments = entries
    for t in range(center.shape[1]):
        for n in range(step_offsets[t], step_offsets[t + 1]):
            out[n] = -center[i, t]
        for k in range(segments[i, t], segments[i, t + 1]):
            out[rows[k]] += values[k] if values.shape[0] > 0 else 1.0


@kernel
def step_grams(
    columns: FloatArray, curvature: FloatArray, score: FloatArray, step_offsets: IntArray
) -> Likelihood:
    """(T, m, m) and (T, m) sums of curvature * z z' and of score * z; columns are (m, n_rows)."""
    m, n_steps = columns.shape[0], step_offsets.shape[0] - 1
    gram, linear = np.zeros((n_steps, m, m)), np.zeros((n_steps, m))
    for t in range(n_steps):
        first, last = step_offsets[t], step_offsets[t + 1]
        for a in range(m):
            scaled = columns[a, first:last] * curvature[first:last]
            for b in range(a + 1):
                total = 0.0
                for n in range(last - first):
                    total += scaled[n] * columns[b, first + n]
                gram[t, a, b] = gram[t, b, a] = total
            for n in range(first, last):
                linear[t, a] += columns[a, n] * score[n]
    return gram, linear
