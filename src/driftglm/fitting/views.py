"""What the intercept of a step may be, with the learned prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import Design
from driftglm.fitting.rows import Rows

ViewName = Literal["per-step", "residual"]
INTERCEPTS_MOVE, COLUMNS_MOVE = 0.01, 10.0
"""Intercepts move if their variance is above this share of what there is to explain; columns move
if, for one of them, the F statistic of its means by step is above this."""


@dataclass(frozen=True)
class View:
    """One answer to what the intercept of a step is.

    Columns are centred by a mixture of their mean in a step and their mean over all rows;
    `per_step_share` (T,) is the share of the former (None: 0). `flat_first` fits the columns before
    the intercept may move.
    """

    name: ViewName
    per_step_share: FloatArray | None
    flat_first: bool = False


def views_of(
    responses: Sequence[Rows], chosen: ViewName | None = None
) -> tuple[list[View], Design, IntArray]:
    """The views worth fitting, the columns before centring, and the order of their rows.

    "per-step": a column explains differences within steps, the intercept those between them.
    "residual": the intercept is what the columns leave unexplained. Where intercepts or the means
    of the columns hardly move the two agree, and one is enough. A fit that goes on from another
    has the view of that, `chosen`.
    """
    if not responses[0].intercept:
        return [View("per-step", None)], *responses[0].design()
    found = [each.per_step_shares() for each in responses]
    per_step = View("per-step", np.mean([share for share, _ in found], axis=0))
    residual = View("residual", None, flat_first=True)
    raw, order = responses[0].design()
    if chosen is not None:
        return [residual if chosen == "residual" else per_step], raw, order
    moved = max(v / each.scale.reference for (_, v), each in zip(found, responses, strict=True))
    columns = raw.movement(responses[0].design_weights(order)).max(initial=0.0)
    if moved < INTERCEPTS_MOVE or columns < COLUMNS_MOVE:
        return [per_step], raw, order
    return [per_step, residual], raw, order
