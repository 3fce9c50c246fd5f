"""How far a fit is, on one rewritten line of standard error, and how long it may still take."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable, Sequence
from math import log

AVERAGING = "fits as of earlier steps"
WINDOW, LEAST = 10, 4
"""Passes over which rises of the objective are averaged, and compared with as many before: at most,
and at least. Single ones tell little, since passes over all paths and over few take turns."""


class Line:
    """One line that is written again and again, and then ended."""

    def __init__(self) -> None:
        self.width = 0

    def write(self, text: str) -> None:
        """Put a text in the place of the one before."""
        sys.stderr.write(f"\r{text:<{self.width}}")
        sys.stderr.flush()
        self.width = len(text)

    def end(self, text: str | None = None) -> None:
        """Leave the line, with a last text if there is one."""
        if text is not None:
            self.write(text)
        sys.stderr.write("\n")


class Passes:
    """What a solver's passes say: their number, the objective, and the time left.

    Rises of the objective fall by about the same share every pass near the end, so that the pass
    at which they are small enough can be told from the last dozen.

    Parameters
    ----------
    enough
        The rise of a pass at which the solver will about stop.
    follows
        What is done after that, of unknown length; "" for nothing.
    now
        A clock, in seconds.
    """

    def __init__(
        self,
        enough: float,
        *,
        follows: str = "",
        now: Callable[[], float] = clock.perf_counter,
    ) -> None:
        self.enough, self.follows, self.now = enough, follows, now
        self.values: list[float] = []
        self.times: list[float] = []
        self.began, self.line, self.said = now(), Line(), ""

    def __call__(self, iteration: int, objective: float, n_alive: int) -> None:
        """Note a pass and say how far it is."""
        self.values.append(objective)
        self.times.append(self.now())
        self.said = f"driftglm: pass {iteration}, objective {objective:.8g}, {n_alive} paths"
        seconds = self.seconds_left()
        if seconds is None:
            self.line.write(self.said)
            return
        # Fitted values go on moving when the objective hardly rises.
        ahead = "settling" if seconds == 0.0 else f"about {in_words(seconds)} left"
        self.line.write(f"{self.said}, {ahead}{self.follows and ', then '}{self.follows}")

    def seconds_left(self) -> float | None:
        """Until the objective hardly rises; None if that cannot be told yet."""
        passes = passes_left(self.values, self.enough)
        if passes is None:
            return None
        # The first pass may have compiled.
        recent = self.times[-WINDOW:]
        return passes * (recent[-1] - recent[0]) / (len(recent) - 1)

    def end(self) -> None:
        """Leave the line, saying how long it took."""
        self.line.end(f"{self.said}, {in_words(self.now() - self.began)}")


class Origins:
    """Fits as of earlier steps: how many are made, and the time the others will take.

    Parameters
    ----------
    works
        What every one of them costs, in any unit, in their order.
    now
        A clock, in seconds.
    """

    def __init__(
        self, works: Sequence[float], now: Callable[[], float] = clock.perf_counter
    ) -> None:
        self.works, self.now, self.began = list(works), now, now()
        self.line = Line()

    def done(self, n_done: int) -> None:
        """Say that so many are made."""
        total = len(self.works)
        text = f"driftglm: {n_done} of {total} fits as of earlier steps"
        gone, ahead = sum(self.works[:n_done]), sum(self.works[n_done:])
        still = (self.now() - self.began) * ahead / gone
        self.line.write(f"{text}, about {in_words(still)} left")
        if n_done == total:
            self.line.end(f"{text}, {in_words(self.now() - self.began)}")


def passes_left(values: Sequence[float], enough: float) -> float | None:
    """Passes until one raises an objective by less than `enough`; None if that cannot be told.

    Rises are taken to go on falling as they did.
    """
    look = min(WINDOW, (len(values) - 1) // 2)
    if look < LEAST:
        return None
    now = (values[-1] - values[-1 - look]) / look
    before = (values[-1 - look] - values[-1 - 2 * look]) / look
    if now <= enough:
        return 0.0
    if before <= now:
        return None
    return look * log(now / enough) / log(before / now)


def in_words(seconds: float) -> str:
    """A time in the unit one would choose."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:  # 90 s are still seconds
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1.0 else f"{seconds:.1f} s"
