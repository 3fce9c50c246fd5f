"""What was tried, what held, and what did not, by kind."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

N_SHOWN = 5


@dataclass
class Tally:
    """Counts of one kind of attack; `failures` say what was seen and how to see it again."""

    kind: str
    held: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    took: float | None = None

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
        seconds = time.perf_counter() - self.began if self.took is None else self.took
        held = sum(self.held.values())
        counts = f"{self.tried} | {held} | {len(self.failures)}"
        return f"| {self.kind} | {counts} | {how} | {seconds:.0f} |"

    @classmethod
    def of(cls, kind: str, parts: list[dict[str, Any]]) -> Tally:
        """Several runs of one kind of attack, as `stored`, taken together."""
        whole = cls(kind)
        for part in parts:
            whole.held.update(part["held"])
            whole.failures += part["failures"]
        whole.took = sum(part["seconds"] for part in parts)
        return whole

    def stored(self) -> dict[str, Any]:
        """What a file keeps of it."""
        held, seconds = dict(self.held), time.perf_counter() - self.began
        return {"kind": self.kind, "held": held, "failures": self.failures, "seconds": seconds}

    def shown(self) -> list[str]:
        """The first failures."""
        return [f"  {self.kind}: {each}" for each in self.failures[:N_SHOWN]]


HEADER = "| kind | tried | held | failed | how | seconds |\n|---|---|---|---|---|---|"
