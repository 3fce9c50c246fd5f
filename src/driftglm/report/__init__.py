"""Fitted models and comparisons as one HTML page."""

from driftglm.report.write import write_report

__all__ = ["write_report"]
