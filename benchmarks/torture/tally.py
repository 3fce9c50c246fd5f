"""What was tried, what held, and what did not, by kind."""

from __future__ import annotations

import resource
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
    cpu: float | None = None

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
        processor = used() if self.cpu is None else self.cpu
        held = sum(self.held.values())
        counts = f"{self.tried} | {held} | {len(self.failures)}"
        return f"| {self.kind} | {counts} | {how} | {seconds:.0f} | {processor:.0f} |"

    @classmethod
    def of(cls, kind: str, parts: list[dict[str, Any]]) -> Tally:
        """Several runs of one kind of attack, as `stored`, taken together."""
        whole = cls(kind)
        for part in parts:
            whole.held.update(part["held"])
            whole.failures += part["failures"]
        whole.took = sum(part["seconds"] for part in parts)
        whole.cpu = sum(part.get("cpu", 0.0) for part in parts)
        return whole

    def stored(self) -> dict[str, Any]:
        """What a file keeps of it."""
        found = {"kind": self.kind, "held": dict(self.held), "failures": self.failures}
        return found | {"seconds": time.perf_counter() - self.began, "cpu": used()}

    def shown(self) -> list[str]:
        """The first failures."""
        return [f"  {self.kind}: {each}" for each in self.failures[:N_SHOWN]]


def used() -> float:
    """Seconds of processor time of this process and of those it started and saw the end of."""
    each = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in each)


HEADER = (
    "| kind | tried | held | failed | how | seconds | of a core |\n|---|---|---|---|---|---|---|"
)
