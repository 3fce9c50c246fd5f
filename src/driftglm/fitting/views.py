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
LEVELS_MOVE, COLUMNS_MOVE = 0.01, 10.0
"""Intercepts move if their variance is above this share of what there is to explain, columns if the F
statistic of their means by step is above this for one of them."""


@dataclass(frozen=True)
class View:
    """A view of what the intercepts of the steps are.

    `per_step_share` is the share of a step's own mean in what is taken off its columns (None: the mean of all
    rows throughout), `flat_first` lets the columns speak before intercepts may move.
    """

    name: ViewName
    per_step_share: FloatArray | None
    flat_first: bool = False


def views_of(
    responses: Sequence[Rows], chosen: ViewName | None = None
) -> tuple[list[View], Design, IntArray]:
    """What an intercept may be: its step's own, or what is left when the columns have spoken.

    Where intercepts hardly move, or the means of the columns do not, the two are the same; a fit that
    goes on keeps the view it is given in `chosen`. Also the columns as they are, and the order of
    their rows.
    """
    if not responses[0].intercept:
        return [View("per-step", None)], *responses[0].design()
    found = [each.own_means() for each in responses]
    per_step = View("per-step", np.mean([share for share, _ in found], axis=0))
    residual = View("residual", None, flat_first=True)
    raw, order = responses[0].design()
    if chosen is not None:
        return [residual if chosen == "residual" else per_step], raw, order
    moved = max(v / each.scale.reference for (_, v), each in zip(found, responses, strict=True))
    columns = raw.movement(responses[0].weights[order]).max(initial=0.0)
    if moved < LEVELS_MOVE or columns < COLUMNS_MOVE:
        return [per_step], raw, order
    return [per_step, residual], raw, order
