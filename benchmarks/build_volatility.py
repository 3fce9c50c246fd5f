"""Rebuild the table of weekly volatility from the daily series in the package `arch`.

    python benchmarks/build_volatility.py

Writes `benchmarks/volatility.csv.gz` and `volatility.json` (where it comes from). The same
versions give the same bytes. Needs `pip install arch`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from volatility_features import weekly_table

from volatility import TARGET
from driftglm.files import write_atomically

FOLDER = Path(__file__).resolve().parent
SERIES = {
    "sp500": "S&P 500, daily, 1999-2018 (Yahoo! Finance)",
    "nasdaq": "NASDAQ Composite, daily, 1999-2018 (Yahoo! Finance)",
    "wti": "West Texas Intermediate crude oil, daily (FRED DCOILWTICO)",
    "default": "Moody's seasoned Aaa and Baa corporate bond yields, monthly (FRED AAA, BAA)",
}
DIGITS = 4


def load(name: str) -> pd.DataFrame:
    """One series of the package."""
    frame: pd.DataFrame = import_module(f"arch.data.{name}").load()
    return frame


def source_checksum(name: str) -> str:
    """SHA-256 of the file inside the package."""
    module = import_module(f"arch.data.{name}")
    path = Path(str(module.__file__)).parent / f"{name}.csv.gz"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Write the table and its provenance."""
    indices = {"sp500": load("sp500"), "nasdaq": load("nasdaq")}
    table = weekly_table(indices, load("wti")["DCOILWTICO"], load("default"))
    text = table.round(DIGITS).to_csv(index=False, lineterminator="\n")
    data = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    write_atomically(FOLDER / "volatility.csv.gz", data)
    facts = {
        "what": "Weekly log realised volatility of two stock indices, and what was known before.",
        "target": f"{TARGET}: log of the root mean square of the week's daily log returns",
        "rows": len(table),
        "columns": len(table.columns),
        "sha256": hashlib.sha256(data).hexdigest(),
        "built_from": f"arch {version('arch')} (PyPI), package licence NCSA; figures derived from "
        "published prices and yields, no prices are contained",
        "series": {
            name: {"what": what, "sha256": source_checksum(name)} for name, what in SERIES.items()
        },
        "rebuild": "python benchmarks/build_volatility.py",
    }
    written = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    write_atomically(FOLDER / "volatility.json", written.encode())


if __name__ == "__main__":
    main()
