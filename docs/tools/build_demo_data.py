# ruff: noqa: INP001
"""Rebuild the table of the demo: how the countries of the G20 voted in the United Nations.

    python docs/tools/build_demo_data.py cells.csv.gz

Writes `src/driftglm/demo/votes.csv.gz` and `votes.json` (where it comes from). The same input gives
the same bytes. `cells.csv.gz` has a row a year, country and set of issues: year, country_code (ISO
3166, two letters), combo (six flags, in the order of `FLAGS`), sum (yes votes), count (votes cast:
yes, abstentions, no). It was made of the R package unvotes 0.3.0.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from pathlib import Path

import pandas as pd

from driftglm.demo.votes import COUNTRIES, FIRST, ISSUES, OTHER
from driftglm.files import write_atomically

FOLDER = Path(__file__).resolve().parents[2] / "src" / "driftglm" / "demo"
FLAGS = (
    "colonialism",
    "arms control",
    "economic development",
    "human rights",
    "Palestinian conflict",
    "nuclear weapons",
)


def main_issue(combo: str) -> str:
    """Of the issues of a roll call the first in the order of `ISSUES`."""
    named = {issue for issue, flag in zip(FLAGS, combo, strict=True) if flag == "1"}
    return next((issue for issue in ISSUES if issue in named), OTHER)


def votes_table(cells: pd.DataFrame) -> pd.DataFrame:
    """The demo's rows: year, country, issue, yes, votes."""
    chosen = cells[cells["country_code"].isin(COUNTRIES) & (cells["year"] >= FIRST)]
    table = pd.DataFrame(
        {
            "year": chosen["year"],
            "country": chosen["country_code"].map(COUNTRIES),
            "issue": chosen["combo"].map(main_issue),
            "yes": chosen["sum"],
            "votes": chosen["count"],
        }
    )
    return table.groupby(["year", "country", "issue"], as_index=False).sum()


def main() -> None:
    """Write the table and its provenance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", type=Path, help="cells.csv.gz, see above")
    path = parser.parse_args().cells
    cells = pd.read_csv(path, dtype={"combo": str}, keep_default_na=False)
    table = votes_table(cells)
    text = table.to_csv(index=False, lineterminator="\n")
    data = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    write_atomically(FOLDER / "votes.csv.gz", data)
    facts = {
        "what": "Votes of the 19 countries of the G20 in the United Nations General Assembly.",
        "rows": len(table),
        "votes": int(table["votes"].sum()),
        "years": [int(table["year"].min()), int(table["year"].max())],
        "sha256": hashlib.sha256(data).hexdigest(),
        "built_from": "E. Voeten, A. Strezhnev and M. Bailey, United Nations General Assembly "
        "Voting Data (Harvard Dataverse), by way of the R package unvotes 0.3.0 (MIT, D. Robinson "
        "and N. Goguen-Compagnoni)",
        "source_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "issues": "of a roll call about several issues the first of "
        f"{', '.join(ISSUES)}; {OTHER!r} if it is about none of them",
        "rebuild": "python docs/tools/build_demo_data.py cells.csv.gz",
    }
    written = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    write_atomically(FOLDER / "votes.json", written.encode())


if __name__ == "__main__":
    main()
