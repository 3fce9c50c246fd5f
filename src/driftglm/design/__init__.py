"""Who multiplies X: rows grouped by timestep, columns stored one after the other."""

from driftglm.design.columns import ColumnDesign

__all__ = ["ColumnDesign"]
