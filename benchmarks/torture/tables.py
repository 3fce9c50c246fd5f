"""Odd tables: bytes, cells and columns that no table should have, and some that change nothing."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from commands import run, table, wrong
from tally import Tally

import driftglm

CELLS = [
    *("\x00", "\ufeff1", "inf", "-inf", "1e400", "nan", "NaN", "0x1p3", "1_000", "١٢", "½", "--1"),
    *("1,5", '"', "\x1b[31m", "9" * 400, "TRUE", "\u202e", "=1+1", "1e308", " ", "<script>"),
]
TIMES = [
    *("0000-00-00", "9999-12-31", "99999-01-01", "2001-13-01", "2001-02-30", "1677-01-01"),
    *("-500", "1e300", "24:00", "2001-01-01T25:00", "0001-01-01", "999999999999", "2000.5"),
    *("2003-W01", "2003Q1", "20030101", "12/31/2005", "2003-01-01T00:00:00+14:00", ""),
]
SPLITS = ["\n", "\r\n", "\r"]


def same_bytes(text: str, rng: np.random.Generator) -> tuple[str, bytes]:
    """A table written in another way, which is the same table."""
    lines, data = text.splitlines(), text.encode()
    mixed = "".join(line + SPLITS[int(rng.integers(3))] for line in lines)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../a.csv", data)
    ways = {
        "mark.csv": b"\xef\xbb\xbf" + data,
        "wide.csv": text.encode("utf-16"),
        "mixed.csv": mixed.encode(),
        "old.csv": "\r".join(lines).encode(),
        "quoted.csv": "\n".join(",".join(f'"{c}"' for c in x.split(",")) for x in lines).encode(),
        "semicolons.csv": text.replace(",", ";").encode(),
        "packed.csv.gz": gzip.compress(data),
        "packed.zip": packed.getvalue(),
        "blank.csv": ("\n".join(lines) + "\n" * int(rng.integers(1, 9))).encode(),
    }
    name = list(ways)[int(rng.integers(len(ways)))]
    return name, ways[name]


def odd_bytes(text: str, rng: np.random.Generator) -> tuple[str, bytes]:
    """A table with something in it that should not be there."""
    lines = text.splitlines()
    row, how = int(rng.integers(1, len(lines))), int(rng.integers(8))
    cells = lines[row].split(",")
    if how < 3:
        at = int(rng.integers(len(cells)))
        odd = TIMES if at == len(cells) - 1 else CELLS
        cells[at] = odd[int(rng.integers(len(odd)))]
        lines[row] = ",".join(cells)
    elif how == 3:
        lines[row] += ",9" * int(rng.integers(1, 5))
    elif how == 4:
        lines[row] = ",".join(cells[:-1])
    elif how == 5:
        lines[0] = ["a" * 10**6 + ",b", "a\x00,b", "a,a", ",", '"a,b', "\ufeff\ufeffa,b"][
            int(rng.integers(6))
        ] + lines[0][3:]
    elif how == 6:
        return "bomb.csv.gz", gzip.compress(b"a,b,y,year\n" + b"0" * 2**25)
    else:
        at = int(rng.integers(len(text)))
        bad = [b"\x00" * 9, b"\xff\xfe", b"\xf0\x9f", b"\x1a", "\u2028".encode()]
        data = text.encode()
        return "bytes.csv", data[:at] + bad[int(rng.integers(len(bad)))] + data[at:]
    return "odd.csv", "\n".join(lines).encode()


def odd_frame(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[str, pd.DataFrame]:
    """A column, or the target, or the time, of a type that files know and tables do not."""
    import pyarrow as pa

    n, k = len(frame), np.arange(len(frame))
    kinds = {
        "list": pa.array([[1, 2]] * n),
        "struct": pa.array([{"x": 1}] * n),
        "map": pa.array([[("a", 1)]] * n, type=pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff\x00", b"a"] * (n // 2)),
        "null": pa.nulls(n),
        "time of day": pa.array(k, type=pa.int64()).cast(pa.time64("us")),
        "duration": pa.array(k, type=pa.duration("s")),
        "date": pa.array(k.astype(np.int32), type=pa.date32()),
        "far": pa.array(2**55 + k, type=pa.timestamp("us")),
        "unsigned": pa.array(2**64 - 1 - k.astype(np.uint64)),
        "dictionary": pa.array(["u", None] * (n // 2)).dictionary_encode(),
        "text": pa.array(["\x1b[2J", "</script>"] * (n // 2)),
    }
    kind = list(kinds)[int(rng.integers(len(kinds)))]
    name = ["c", "c", "y", "year", "\x1b[31m"][int(rng.integers(5))]
    arrow = pa.Table.from_pandas(frame)
    at = arrow.column_names.index(name) if name in arrow.column_names else None
    column = pa.field(name, kinds[kind].type), kinds[kind]
    return kind, arrow.append_column(*column) if at is None else arrow.set_column(at, *column)


def attack_tables(n_times: int, seed: int, folder: Path) -> Tally:
    """Tables of all three kinds, and JSON lines: the same answer, an answer, or one clear line."""
    import pyarrow.parquet as pq

    tally, rng = Tally("odd tables"), np.random.default_rng(seed)
    text = table(folder).read_text()
    frame = pd.read_csv(folder / "good.csv")
    wanted = _coefficients(folder / "good.csv", folder)[3]
    for k in range(n_times):
        how, kind = k % 4, ""
        if how == 0:
            kind, data = same_bytes(text, rng)
        elif how == 1:
            kind, data = odd_bytes(text, rng)
        elif how == 2:
            column, arrow = odd_frame(frame, rng)
            path, stream = folder / "odd.parquet", io.BytesIO()
            pq.write_table(arrow, stream)
            kind, data = f"{column}.parquet", stream.getvalue()
        else:
            rows = frame.to_dict("records")
            odd = [10**400, float("inf"), [1], {"d": 1}, None, "x", True, "0001-01-01"]
            rows[int(rng.integers(len(rows)))]["a"] = odd[int(rng.integers(len(odd)))]
            kind, data = "odd.jsonl", "\n".join(map(json.dumps, rows)).encode()
        path = folder / kind
        path.write_bytes(data)
        try:
            code, out, err, found = _coefficients(path, folder)
        except BaseException as error:  # noqa: BLE001 (what is looked for)
            tally.fail(f"seed {seed} table {k} {kind}: {type(error).__name__}: {error!s:.80}")
            continue
        said = wrong(code, out, err, folder / "found.drift")
        if how == 0 and not said and (code or not np.array_equal(found, wanted)):
            said = "is another table now"
        path.unlink()
        if said:
            tally.fail(f"seed {seed} table {k} {kind}: {said}")
        else:
            tally.hold("the same" if how == 0 else "refused" if code else "fitted")
    return tally


def _coefficients(path: Path, folder: Path) -> tuple[int, str, str, np.ndarray]:
    """What `driftglm fit` says of a table, and what it finds."""
    made = folder / "found.drift"
    made.unlink(missing_ok=True)
    call = ["fit", str(path), "--target", "y", "--time", "year", "-o", str(made)]
    code, out, err = run(call)
    found = driftglm.load(made).estimator.coef_path_ if code == 0 else np.empty(0)
    return code, out, err, found
