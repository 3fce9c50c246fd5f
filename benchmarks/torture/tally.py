"""What was tried, what held, and what did not, by kind."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

N_SHOWN = 5


@dataclass
class Tally:
    """Counts of one kind of attack; `failures` say what was seen and how to see it again."""

    kind: str
    held: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def hold(self, how: str) -> None:
        """Something held: refused, answered, resumed."""
        self.held[how] += 1

    def fail(self, what: str) -> None:
        """Something did not."""
        self.failures.append(what)

    @property
    def tried(self) -> int:
        """All attempts."""
        return sum(self.held.values()) + len(self.failures)

    def line(self) -> str:
        """One row of the table."""
        how = ", ".join(f"{name} {count}" for name, count in self.held.most_common())
        seconds = time.perf_counter() - self.began
        held = sum(self.held.values())
        counts = f"{self.tried} | {held} | {len(self.failures)}"
        return f"| {self.kind} | {counts} | {how} | {seconds:.0f} |"

    def shown(self) -> list[str]:
        """The first failures."""
        return [f"  {self.kind}: {each}" for each in self.failures[:N_SHOWN]]


HEADER = "| kind | tried | held | failed | how | seconds |\n|---|---|---|---|---|---|"
