"""Tables to files, in one step: whoever reads sees the old file or the whole new one."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from driftglm.exceptions import DataError
from driftglm.files import write_atomically

DRAFT = ".writing-"


def table_bytes(frame: pd.DataFrame, path: Path) -> bytes:
    """A frame as .csv, .csv.gz or .parquet, by the ending of the path."""
    check_table_path(path)
    ending = path.suffix.lower()
    if ending != ".parquet":
        text = frame.to_csv(index=False, lineterminator="\n").encode()
        return gzip.compress(text, mtime=0) if ending == ".gz" else text
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(f"{path.name}: Parquet needs pyarrow; install it, or write .csv.")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def check_table_path(path: Path) -> None:
    """Raise DataError unless `write_table` knows the ending."""
    if not path.name.lower().endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(
            f"{path.name} cannot be written; the endings .csv, .csv.gz and .parquet are allowed."
        )


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a frame as .csv, .csv.gz or .parquet."""
    target = Path(path)
    write_atomically(target, table_bytes(frame, target))


def check_writable(
    path: str | os.PathLike[str], *, folder: bool = False, inputs: Iterable[Path | None] = ()
) -> Path:
    """Raise DataError unless a file (or folder) can be written there; the path otherwise.

    Asked before long work, so that an hour of it is not lost to a mistyped name. `inputs` are the
    files that are read: none of them is ever written over. A folder is not made yet.
    """
    target = Path(path)
    if folder:
        if target.exists() and not target.is_dir():
            raise DataError(f"{target} is a file; a folder is needed. Choose another name.")
    elif target.is_dir():
        raise DataError(f"{target} is a folder; name a file in it.")
    for source in inputs:
        if source is not None and target.exists() and source.exists() and target.samefile(source):
            raise DataError(f"{target} is what is read; writing would destroy it. Name another.")
    parent = _lowest_there(target) if folder else target.parent
    if not parent.is_dir():
        raise DataError(f"the folder {parent} does not exist; make it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(f"the folder {parent} cannot be written to; choose another place.")
    return target


def _lowest_there(folder: Path) -> Path:
    """The folder, or the first above it that exists: where it would be made."""
    found = folder.resolve()
    while not found.exists() and found != found.parent:
        found = found.parent
    return found


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """A folder that is there; one that was made and is empty when something fails is removed."""
    there = _lowest_there(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be made ({error.strerror}).") from error
    try:
        yield folder
    except BaseException:
        remove_empty(folder, there)
        raise


def remove_empty(folder: Path, there: Path) -> None:
    """Remove a folder that holds nothing but empty folders, and those above it that were made."""
    with suppress(OSError):
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                with suppress(OSError):
                    path.rmdir()
        above = folder.resolve()
        while above != there:
            above.rmdir()
            above = above.parent


def check_own(folder: Path, names: Iterable[str], record: str) -> None:
    """Raise DataError if a folder has one of these files with content that was not written here.

    `record`, a file of the folder, says what was: digests by name (see `own_files`).
    """
    known = _known(folder / record)
    there = [name for name in names if (folder / name).exists()]
    foreign = [name for name in there if _digest(folder / name) not in known.get(name, "")]
    if foreign:
        raise DataError(
            f"{folder} has {', '.join(foreign)} that this command did not write, or that was "
            "changed since; choose another folder, or pass --overwrite to replace it."
        )


@contextmanager
def own_files(folder: Path, record: str) -> Iterator[Path]:
    """A folder to write files to, which take the place of earlier ones and are known as our own.

    Before the first is moved the record has the digests of all, new and old: whenever a run is
    killed, what it left is known.
    """
    place = (folder / record).parent
    place.mkdir(parents=True, exist_ok=True)
    for left in place.glob(f"{DRAFT}*"):  # of a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=place) as name:
        yield Path(name)
        made = sorted(Path(name).iterdir())
        known = _known(folder / record)
        known |= {each.name: [_digest(each), _digest(folder / each.name)] for each in made}
        write_atomically(folder / record, json.dumps(known, indent=2).encode())
        for each in made:
            target = folder / each.name
            if target.exists():  # who may read it stays as it was
                each.chmod(stat.S_IMODE(target.stat().st_mode))
            each.replace(target)


def _known(record: Path) -> dict[str, Any]:
    if not record.is_file():
        return {}
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    texts = str | list
    sound = isinstance(found, dict) and all(isinstance(each, texts) for each in found.values())
    return found if sound else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
