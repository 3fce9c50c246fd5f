"""Figures for papers, in one style; they need matplotlib, the extra ``driftglm[plot]``."""

from driftglm.plots.models import (
    plot_autocorrelation,
    plot_comparison,
    plot_heatmap,
    plot_paths,
    plot_permutations,
    plot_weights,
    plot_words,
)

__all__ = [
    "plot_autocorrelation",
    "plot_comparison",
    "plot_heatmap",
    "plot_paths",
    "plot_permutations",
    "plot_weights",
    "plot_words",
]
