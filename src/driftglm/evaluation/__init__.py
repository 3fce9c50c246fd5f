"""Rolling-origin evaluation: splits, comparison of models, coefficient paths as of each step."""

from driftglm.evaluation.as_of import AsOfPaths, as_of_paths
from driftglm.evaluation.compare import compare
from driftglm.evaluation.comparison import Comparison
from driftglm.evaluation.permutation import PermutationCheck, permutation_check
from driftglm.evaluation.splits import Fold, RollingOrigin

__all__ = [
    "AsOfPaths",
    "Comparison",
    "Fold",
    "PermutationCheck",
    "RollingOrigin",
    "as_of_paths",
    "compare",
    "permutation_check",
]
