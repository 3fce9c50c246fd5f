"""Values on their way into the page: arrays as base64, JSON that cannot end its script element."""

from __future__ import annotations

import base64
import json
import math
import re

import numpy as np
from numpy.typing import ArrayLike

# What could end a script element or a line of a script, and halves of surrogate pairs, which
# UTF-8 cannot hold.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
BASE64_PER_BYTE = 4 / 3


def floats(values: ArrayLike) -> str:
    """Base64 of little-endian 32-bit floats, row by row; NaN and infinity stay what they are."""
    wide = np.asarray(values, dtype=np.float64)
    largest = float(np.finfo(np.float32).max)
    small = np.where(np.isfinite(wide), np.clip(wide, -largest, largest), wide)
    return base64.b64encode(small.astype("<f4").tobytes()).decode("ascii")


def integers(values: ArrayLike) -> str:
    """Base64 of little-endian 32-bit integers."""
    return base64.b64encode(np.asarray(values).astype("<i4").tobytes()).decode("ascii")


def number(value: float) -> float | None:
    """A number as JSON knows it: None for NaN and infinity, which it does not have."""
    return float(value) if math.isfinite(value) else None


def page_json(content: object) -> str:
    """JSON for a script element: no markup and no line separator survives in it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def significant(value: float, digits: int = 3) -> str:
    """A number for a sentence, with so many significant digits and no exponent if it can be."""
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    if value == 0 or not 1e-4 <= abs(value) < 1e6:  # noqa: PLR2004
        return f"{value:.{digits}g}"
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
