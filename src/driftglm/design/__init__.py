"""Who multiplies X: rows grouped by timestep, columns stored one after the other."""

from driftglm.design.base import Columns, Design, RowState, UpdateBlock
from driftglm.design.columns import ColumnDesign
from driftglm.design.directions import RowSample
from driftglm.design.scores import ArrayScores, Scores

__all__ = [
    "ArrayScores",
    "ColumnDesign",
    "Columns",
    "Design",
    "RowSample",
    "RowState",
    "Scores",
    "UpdateBlock",
]
