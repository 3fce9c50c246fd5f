"""What a reader did: rows read, rows dropped and why, and checks against known figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from driftglm._warnings import warn
from driftglm.exceptions import DataError, DataWarning


@dataclass(frozen=True)
class Check:
    """One figure beside the one expected.

    Examples
    --------
    >>> Check("rows of 1996", 1408, 1400).ok
    False
    """

    what: str
    expected: Any
    found: Any

    @property
    def ok(self) -> bool:
        """Whether the figures agree."""
        return bool(self.expected == self.found)

    def __str__(self) -> str:
        found = f"{self.what}: {self.found}"
        return found if self.ok else f"{found}, expected {self.expected}"


@dataclass(frozen=True)
class Provenance:
    """Record of how a table came about.

    Parameters
    ----------
    what
        What was read, and from which file or folder (its name, not where it lies).
    rows_read
        Rows in the files.
    rows
        Rows of the result.
    dropped
        Reason -> number; also things skipped that are no rows, such as stray documents.
    checks
        Figures beside those expected.

    Examples
    --------
    >>> from driftglm.datasets import Provenance
    >>> record = Provenance("sales.csv", rows_read=10, rows=9, dropped={"no price": 1})
    >>> record.rows_read - record.rows == sum(record.dropped.values())
    True
    """

    what: str
    rows_read: int
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check found what was expected."""
        return all(check.ok for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON."""
        checks = [{**asdict(check), "ok": check.ok} for check in self.checks]
        return {**asdict(self), "dropped": dict(self.dropped), "checks": checks}

    def report_differences(self, *, strict: bool = False) -> None:
        """Warn of checks that failed, all in one DataWarning; DataError if `strict`."""
        failed = "; ".join(str(check) for check in self.checks if not check.ok)
        if not failed:
            return
        message = f"{self.what} differs from what is known of it: {failed}."
        if strict:
            raise DataError(f"{message} Pass strict=False to use it all the same.")
        warn(message, DataWarning)

    def __str__(self) -> str:
        lines = [f"{self.what}: {self.rows_read:,} rows read, {self.rows:,} kept"]
        lines += [f"  skipped {number:,}: {why}" for why, number in self.dropped.items() if number]
        lines += [f"  {'ok' if check.ok else 'DIFFERS'}: {check}" for check in self.checks]
        return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """A frame and the record of how it came about.

    Examples
    --------
    >>> import pandas as pd
    >>> from driftglm.datasets import Provenance, Table
    >>> frame = pd.DataFrame({"price": [1.0, 2.0]})
    >>> Table(frame, Provenance("sales.csv", rows_read=2, rows=2)).frame["price"].sum()
    np.float64(3.0)
    """

    frame: pd.DataFrame
    provenance: Provenance
