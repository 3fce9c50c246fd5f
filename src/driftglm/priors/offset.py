"""The posterior of one path of which all steps were measured with one unknown error in common.

Rows that belong together share an effect of their own. Integrated out, it leaves a path with the
likelihood exp(b'beta - beta'H beta / 2),

    H = diag(h) - (offset / (1 + offset 1'h)) h h',

as if every step had been measured by itself, and to all of them one error of variance `offset`
had been added: H^-1 = diag(1 / h) + offset 11'. So the error is one more static part of the path,
and what `mixture.py` knows about static parts gives evidences and moments in O(T). b and h are
those of beta; nothing is divided by h.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.priors import mixture
from driftglm.priors.mixture import (
    STATIC_CHAIN,
    ZERO_CHAIN,
    Tables,
    average_inplace,
    filter_chains,
    log_evidences_inplace,
    smooth_chains,
)

N_SUMS = 10


@kernel
def measured(h: FloatArray, b: FloatArray, offset: float) -> FloatArray:
    """The linear term of beta plus the common error, from that of beta."""
    return b + offset * b.sum() * h


@kernel
def times_information(h: FloatArray, path: FloatArray, offset: float) -> FloatArray:
    """H beta."""
    total = 0.0
    for t in range(h.shape[0]):
        total += h[t] * path[t]
    return h * (path - offset / (1.0 + offset * h.sum()) * total)


@kernel
def offset_evidences_inplace(
    h: FloatArray,
    b: FloatArray,
    offset: float,
    tables: Tables,
    evidence: FloatArray,
    parts: FloatArray,
) -> None:
    """Log evidence of every component; `parts` (3, K) keeps log|I + K H|, v and w'b.

    v and w'b are those of beta plus the error, whose static variance is larger by `offset`.
    """
    if offset == 0.0:
        log_evidences_inplace(h, b, tables, evidence, parts)
        return
    chains, static, n_chains = tables[0], tables[1], tables[2].shape[1]
    together = measured(h, b, offset)
    filtered = filter_chains(h, together, tables)
    reach, along = h.sum(), together.sum()
    alone_logdet = np.log1p(offset * reach)
    alone = 0.5 * (offset / (1.0 + offset * reach) * along * along - alone_logdet)
    for k in range(chains.shape[0]):
        # Without a chain the error is all there is: of a path at zero too.
        c = chains[k] if chains[k] >= 0 else n_chains + 1
        total = static[k] + offset
        if total == np.inf:
            v = 1.0 / filtered[2, c] if filtered[2, c] > 0.0 else 0.0
            logdet = np.log(filtered[2, c]) if filtered[2, c] > 0.0 else 0.0
        else:
            v, logdet = total / (1.0 + total * filtered[2, c]), np.log1p(total * filtered[2, c])
        logdet += filtered[1, c]
        wb = filtered[3, c]
        parts[0, k], parts[1, k], parts[2, k] = logdet - alone_logdet, v, wb
        evidence[k] = 0.5 * (filtered[0, c] + v * wb * wb - logdet) - alone
        if chains[k] == ZERO_CHAIN:
            parts[0, k] = evidence[k] = 0.0


@kernel
def _by_chain(
    offset: float,
    tables: Tables,
    phi: FloatArray,
    parts: FloatArray,
    sums: FloatArray,
    used: IntArray,
) -> tuple[int, float]:
    """As `mixture._by_chain`: sums (C + 1, N_SUMS), the number of chains, the divergence so far.

    With m = v w'b and f the share of the static part that is error, the sums are of phi times
    1, m, m f, v, v f, v f^2, offset (1 - f), m^2, m^2 f and m^2 f^2.
    """
    chains, static = tables[0], tables[1]
    divergence, n_used = 0.0, 0
    last = sums.shape[0] - 1
    for k in range(chains.shape[0]):
        if phi[k] == 0.0:
            continue
        divergence += phi[k] * (np.log(phi[k]) + 0.5 * parts[0, k])
        if chains[k] == ZERO_CHAIN:
            continue
        c = last if chains[k] == STATIC_CHAIN else chains[k]
        if c < last and sums[c, 0] == 0.0:
            used[n_used] = c
            n_used += 1
        v, m = parts[1, k], parts[1, k] * parts[2, k]
        f = 0.0 if static[k] == np.inf else offset / (static[k] + offset)
        terms = (1.0, m, m * f, v, v * f, v * f * f, offset * (1.0 - f), m * m, m * m * f)
        for j in range(N_SUMS - 1):
            sums[c, j] += phi[k] * terms[j]
        sums[c, N_SUMS - 1] += phi[k] * m * m * f * f
    return n_used, divergence


@kernel
def _second(sums: FloatArray, mean: float, variance: float, w: float) -> float:
    """E[x^2] of a number x = mean + m (w - f) + what is uncertain, summed over components.

    `variance` is that of the chain, v (w - f)^2 that of the static part, offset (1 - f) what of it
    is left open about the error.
    """
    one, m, mf, v, vf, vff, error, mm, mmf, mmff = sums
    return (
        one * (variance + mean * mean)
        + 2.0 * mean * (m * w - mf)
        + (v + mm) * w * w
        - 2.0 * (vf + mmf) * w
        + (vff + mmff)
        + error
    )


@kernel
def offset_average_inplace(
    h: FloatArray,
    b: FloatArray,
    offset: float,
    tables: Tables,
    phi: FloatArray,
    parts: FloatArray,
    out: FloatArray,
) -> tuple[float, float]:
    """Mean and variance of the mixture into `out` (2, T).

    Returns sum phi (log phi + KL), and by how much the trace of H times the covariance falls short
    of that of diag(h).
    """
    if offset == 0.0:
        return average_inplace(h, b, tables, phi, parts, out), 0.0
    n_steps, n_chains = tables[2].shape
    sums, used = np.zeros((n_chains + 1, N_SUMS)), np.empty(n_chains, dtype=np.int64)
    n_used, divergence = _by_chain(offset, tables, phi, parts, sums, used)
    used = used[:n_used]
    together = measured(h, b, offset)
    paths = np.empty((4, n_steps, n_used))
    smooth_chains(h, together, tables, used, paths)
    reach, along = h.sum(), together.sum()
    mean_total = 0.0
    for t in range(n_steps):
        flat = sums[n_chains]
        first = flat[1] - flat[2]
        second = _second(flat, 0.0, 0.0, 1.0)
        for j in range(n_used):
            part, mean, w = sums[used[j]], paths[0, t, j], paths[2, t, j]
            first += part[0] * mean + part[1] * w - part[2]
            second += _second(part, mean, paths[1, t, j], w)
        divergence += 0.5 * (b[t] * first - h[t] * second)
        mean_total += h[t] * first
        out[0, t] = first
        out[1, t] = max(second - first * first, 0.0)
    # The same of h'beta; of a chain h'V h = 1'h - h'w and h'V b = 1'b - w'b. Its error counts
    # with 1'h, as w does with h'w.
    total_square = 0.0
    if reach > 0.0:
        flat = sums[n_chains]
        total_square += reach * reach * _second(flat, 0.0, 0.0, 1.0)
        for j in range(n_used):
            hw = wb = 0.0
            for t in range(n_steps):
                hw += h[t] * paths[2, t, j]
                wb += together[t] * paths[2, t, j]
            mean, spread = (along - wb) / reach, (reach - hw) / reach / reach
            total_square += reach * reach * _second(sums[used[j]], mean, spread, hw / reach)
    lost = offset / (1.0 + offset * reach)
    divergence += 0.5 * lost * total_square
    return divergence, lost * max(total_square - mean_total * mean_total, 0.0)


def last_step_inplace(
    h: FloatArray,
    b: FloatArray,
    offset: FloatArray,
    phi: FloatArray,
    tables: Tables,
    out: FloatArray,
) -> None:
    """`mixture.last_step_inplace`; `offset` (n_paths,) is empty where no path has one.

    Where none has, the kernels of this module are not needed, nor compiled.
    """
    if offset.any():
        offset_last_step_inplace(h, b, offset, phi, tables, out)
    else:
        mixture.last_step_inplace(h, b, phi, tables, out)


@kernel
def offset_last_step_inplace(
    h: FloatArray,
    b: FloatArray,
    offset: FloatArray,
    phi: FloatArray,
    tables: Tables,
    out: FloatArray,
) -> None:
    """`mixture.last_step_inplace` of paths with an error in common, `offset` (n_paths,)."""
    n_steps, n_all, n_components = h.shape[1], tables[2].shape[0], phi.shape[1]
    longer = np.zeros((2, n_all))
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    moments = np.empty((2, n_all))
    for i in range(h.shape[0]):
        longer[0, :n_steps], longer[1, :n_steps] = h[i], b[i]
        offset_evidences_inplace(longer[0], longer[1], offset[i], tables, evidence, parts)
        offset_average_inplace(longer[0], longer[1], offset[i], tables, phi[i], parts, moments)
        out[i, 0], out[i, 1] = moments[0, n_all - 1], moments[1, n_all - 1]
