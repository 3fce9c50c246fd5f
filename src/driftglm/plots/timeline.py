"""The time axis of a figure: as many labels as fit, at round years, months or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import pandas as pd

from driftglm.plots.style import SMALL, shown

ROUND = (1, 2, 5)
STRIDES = {12: (1, 2, 3, 6, 12, 24, 60, 120, 240, 600), 4: (1, 2, 4, 8, 20, 40, 80, 200)}
PER_YEAR = {"M": 12, "W": 12, "D": 12, "Q": 4}
"""Which part of a year the labels of steps name: months or quarters."""
INCHES_PER_LETTER = 0.62 * SMALL / 72
GAP = 0.12
FEWEST = 2


def ticks(labels: Sequence[Any], width: float) -> tuple[list[int], list[str]]:
    """Positions and names of the steps to be labelled on an axis `width` inches long."""
    first = labels[0]
    if isinstance(first, pd.Period):
        at, texts = _calendar_ticks(labels, width)
        if len(at) >= min(FEWEST, len(labels)):
            return at, texts
    names = [_name(label) for label in labels]
    stride = _stride(len(names), _room(names, width))
    years = isinstance(first, pd.Period) and _unit(first) == "Y"
    start = _round_start([label.year if years else label for label in labels], stride)
    at = list(range(start, len(names), stride))
    return at, [names[i] for i in at]


def _room(names: list[str], width: float) -> int:
    """How many names fit side by side."""
    letters = max(len(name.replace("\\", "")) for name in names)
    return max(1, int((width + GAP) / (letters * INCHES_PER_LETTER + GAP)))


def _stride(n_steps: int, most: int) -> int:
    """The least round number that leaves at most so many labels."""
    power = 1
    while True:
        for digit in ROUND:
            if -(-n_steps // (digit * power)) <= most:
                return digit * power
        power *= 10


def _round_start(labels: list[Any], stride: int) -> int:
    """The first step to be labelled: 1990, 1995 rather than 1991, 1996."""
    if len(labels) == 1 or not isinstance(labels[0], Integral):
        return 0
    step = int(labels[1]) - int(labels[0])
    near = range(min(stride, len(labels)))
    return next((i for i in near if int(labels[i]) % (stride * step) == 0), 0)


def _calendar_ticks(labels: Sequence[pd.Period], width: float) -> tuple[list[int], list[str]]:
    """Where months or quarters begin, as many as fit; Januaries are called by their year."""
    per_year = PER_YEAR.get(_unit(labels[0]))
    if per_year is None:
        return [], []
    parts = [
        label.year * per_year + (label.month - 1) * per_year // PER_YEAR["M"] for label in labels
    ]
    begins = [i for i, part in enumerate(parts) if i == 0 or parts[i - 1] != part]
    for stride in STRIDES[per_year]:
        at = [i for i in begins if parts[i] % stride == 0]
        # The first step of weeks or days need not be where its month begins.
        names = [_part_name(labels[i], per_year, yearly=stride % per_year == 0) for i in at]
        if at and len(at) <= _room(names, width):
            return at, names
    return [], []


def _part_name(label: pd.Period, per_year: int, *, yearly: bool) -> str:
    if yearly:
        return str(label.year)
    if per_year == PER_YEAR["Q"]:
        return f"{label.year}Q{label.quarter}"
    return label.strftime("%Y-%m")


def _unit(label: pd.Period) -> str:
    """Y, Q, M, W, D, ... of a period, whatever its anchor and multiple."""
    return label.freqstr.split("-")[0].lstrip("0123456789")


def _name(label: object) -> str:
    if isinstance(label, pd.Period) and _unit(label) in {"W", "D"}:
        return label.start_time.strftime("%Y-%m-%d")
    return shown(label, 16)
