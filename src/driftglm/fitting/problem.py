"""Rows become problems: one a response, over one design, with what ties them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import Design
from driftglm.families import Family
from driftglm.fitting.fits import Columns
from driftglm.fitting.rows import Rows
from driftglm.fitting.settings import Settings
from driftglm.objective import Noise, Problem, Shape
from driftglm.solvers.coupling import Coupling, Softmax, Uncoupled

LEAST_STEPS = 4
"""Steps with rows from which on the noise moves unless the user says."""


@dataclass(frozen=True)
class Posed:
    """The problems of all responses.

    Parameters
    ----------
    problems
        Data and likelihood of every response.
    columns
        How its paths and intercepts map to the user's columns.
    coupling
        What ties the responses together.
    """

    problems: tuple[Problem, ...]
    columns: tuple[Columns, ...]
    coupling: Coupling


def pose(responses: Sequence[Rows], design: Design, order: IntArray, settings: Settings) -> Posed:
    """The problems of some responses, over a design whose rows are theirs in `order`."""
    offsets = [rows.offset[order] for rows in responses]
    weights, together = responses[0].design_weights(order), responses[0].row_groups(order)
    families, coupling = _coupled(responses[0].family, offsets, weights, settings)
    problems = tuple(
        Problem(
            design=design,
            family=family,
            intercepts=rows.intercepts(order),
            noise=_noise(rows, settings),
            shape=_shape(rows, settings.given_noise),
            y=rows.design_target(order),
            weights=weights,
            offset=offset,
            static=rows.static[~rows.always_in],
            reference=rows.scale.reference,
            effective_rows=rows.scale.effective_rows,
            row_groups=together,
        )
        for rows, family, offset in zip(responses, families, offsets, strict=True)
    )
    return Posed(problems, tuple(_columns(rows, design) for rows in responses), coupling)


def _coupled(
    family: Family, offsets: Sequence[FloatArray], weights: FloatArray, settings: Settings
) -> tuple[list[Family], Coupling]:
    """The responses' families, and the coupling that changes their offsets (and tilts) in place."""
    if not family.coupled:
        return [family for _ in offsets], Uncoupled()
    start = tuple(offsets), np.ones_like(weights), weights
    if not settings.prior.posterior:  # a mode has next to no uncertainty to tilt
        return [family for _ in offsets], Softmax(*start)
    tilts = tuple(np.zeros(weights.size) for _ in offsets)
    return [family.tilted(tilt) for tilt in tilts], Softmax(*start, tilts)


def _noise(rows: Rows, settings: Settings) -> Noise:
    """What is known about the noise before the fit."""
    family, given = rows.family, settings.given_noise
    if not family.has_noise:
        return Noise(given=1.0, reference=1.0)
    drifts = settings.noise == "drift" and family.noise_drifts
    if settings.noise == "auto" and settings.prior.posterior and family.noise_drifts:
        drifts = np.unique(rows.codes).size >= LEAST_STEPS
    least = rows.scale.least_noise
    return Noise(given=given, reference=rows.scale.noise, least=least, drifts=drifts)


def _shape(rows: Rows, given: float | None) -> Shape:
    """What is known about the family's own parameter before the fit."""
    family = rows.family
    if family.shape_range is None:
        return Shape()
    start = family.shape_start(rows.y, rows.weights, rows.exposure + rows.scale.center)
    # With a noise beside it, what the user gave is that.
    return Shape(None if family.has_noise else given, start, family.shape_range)


def _columns(rows: Rows, design: Design) -> Columns:
    center = np.zeros((rows.n_timesteps, rows.always_in.size))
    center[:, ~rows.always_in], center[:, rows.always_in] = design.mean.T, rows.always_in_means
    return Columns(rows.always_in, center, rows.intercept, rows.scale.center)
