"""Who multiplies X: rows grouped by timestep, columns stored one after the other."""

from driftglm.design.columns import ColumnDesign
from driftglm.design.directions import leading_directions

__all__ = ["ColumnDesign", "leading_directions"]
