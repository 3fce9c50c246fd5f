"""Fitted models and comparisons as one HTML page."""

from driftglm.report.story import Story
from driftglm.report.write import write_report

__all__ = ["Story", "write_report"]
