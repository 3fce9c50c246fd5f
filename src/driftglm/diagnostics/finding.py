"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Severity = Literal["none", "minor", "major"]


@dataclass(frozen=True)
class Finding:
    """One check in words and numbers.

    Parameters
    ----------
    check
        Short name of the check.
    finding
        A sentence with the numbers.
    advice
        What to do about it.
    statistic
        How large it is; the sentence says in which unit.
    p_value
        Of a model that is right; None where size alone decides.
    severity
        "none" below the size that matters, "minor", or "major".
    """

    check: str
    finding: str
    advice: str
    statistic: float
    p_value: float | None
    severity: Severity


def severity(size: float, minor: float, major: float) -> Severity:
    """How much a size matters, whatever its p-value."""
    if not np.isfinite(size) or size < minor:
        return "none"
    return "major" if size >= major else "minor"
