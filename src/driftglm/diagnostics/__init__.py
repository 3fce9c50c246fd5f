"""What residuals say about a fit: checks, in words and numbers."""

from driftglm.diagnostics.diagnose import diagnose, findings, findings_frame
from driftglm.diagnostics.finding import Finding
from driftglm.diagnostics.inputs import Residuals
from driftglm.diagnostics.ranges import range_check

__all__ = [
    "Finding",
    "Residuals",
    "diagnose",
    "findings",
    "findings_frame",
    "range_check",
]
