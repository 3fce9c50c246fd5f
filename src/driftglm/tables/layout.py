"""How a file of text is laid out: separator, encoding and marks in numbers, given or guessed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zipfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from driftglm.exceptions import DataError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
WESTERN = "cp1252"
N_SAMPLE = 50
LONGEST = 2**24
"""Bytes of a line, at most: a packed file may hold one that fills the memory."""
ALIKE = 0.9
"""Share of the first lines that must have as many cells as the header."""
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
_MARKS = {"decimal": ".,", "thousands": ",.' \u2019\u00a0\u202f_"}


@dataclass(frozen=True)
class Layout:
    """What is known about a file of text; None: it is guessed, and what was guessed is said.

    Parameters
    ----------
    sep
        What stands between cells.
    encoding
        Of the letters, such as "cp1252".
    decimal, thousands
        Marks in numbers: 1.234,5 has "," and ".".
    sheet
        Name or number (from 1) of a sheet of an Excel file; None: the first.
    """

    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    def checked(self) -> Layout:
        """The same with names of separators replaced; DataError about what cannot be."""
        sep = None if self.sep is None else _NAMED.get(self.sep.lower(), self.sep)
        if sep is not None and len(sep) != 1:
            raise DataError(f"the separator {sep!r:.20}; one character is needed, such as ';'.")
        for name, allowed in _MARKS.items():
            mark = getattr(self, name)
            if mark is not None and (len(mark) != 1 or mark not in allowed):
                shown = " ".join(repr(each) for each in allowed)
                raise DataError(f"the {name} mark {mark!r:.20}; one of {shown} is allowed.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise DataError(f"decimal and thousands marks are both {self.decimal!r}; name two.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError as error:
            raise DataError(
                f"the encoding {self.encoding!r:.30} is not known; utf-8, cp1252, latin-1 and "
                "utf-16 are usual ones."
            ) from error
        return replace(self, sep=sep)


def open_packed(path: Path) -> IO[bytes]:
    """The bytes of a file; unpacked if its name ends in .gz or .zip."""
    kind = path.suffix.lower()
    if kind == ".gz":
        unpacked: Any = gzip.open(path)  # noqa: SIM115 (the caller closes it)
        return cast("IO[bytes]", unpacked)
    if kind != ".zip":
        return path.open("rb")
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise DataError(f"{path.name} is no zip file ({error}).") from error
    names = [name for name in archive.namelist() if not name.endswith("/")]
    names = [name for name in names if not name.startswith("__MACOSX")]
    if len(names) != 1:
        raise DataError(f"{path.name} holds {len(names)} files; pack one table, or unpack it.")
    return archive.open(names[0])


def open_laid_out(path: Path, layout: Layout) -> IO[str]:
    """The text of a file, in the encoding of its layout."""
    encoding = layout.encoding or "utf-8-sig"
    if encoding.lower().replace("_", "-") in {"utf-8", "utf8"}:
        encoding = "utf-8-sig"  # a byte order mark is no part of a name
    stream: Any = open_packed(path)
    return io.TextIOWrapper(stream, encoding=encoding, newline="")


def settled(path: Path, given: Layout) -> tuple[Layout, list[str]]:
    """The layout of a file, and what of it was guessed, in sentences."""
    layout, said = given.checked(), []
    _refuse_endless(path)
    if layout.encoding is None:
        found = _encoding(path)
        if found != "utf-8-sig":
            said.append(f"{path.name} is no UTF-8 and is read as {found} (--encoding {found}).")
        layout = replace(layout, encoding=found)
    if layout.sep is None:
        found = _separator(path, layout)
        if found != ",":
            option = "tab" if found == "\t" else f"'{found}'"
            said.append(f"{path.name} has {SEPARATORS[found]} between cells (--sep {option}).")
        layout = replace(layout, sep=found)
    return layout, said


def _refuse_endless(path: Path) -> None:
    """Raise DataError if one of the first lines is too long for any table."""
    with open_packed(path) as stream:
        for line in islice(iter(lambda: stream.readline(LONGEST), b""), N_SAMPLE):
            if len(line) == LONGEST:
                raise DataError(f"{path.name} has a line of {LONGEST} bytes or more: no table.")


def _encoding(path: Path) -> str:
    """utf-8-sig, or utf-16 if the file begins so, or that of Western Windows."""
    with open_packed(path) as stream:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        block = stream.read(1 << 20)
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        try:
            while block:
                decoder.decode(block)
                block = stream.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return WESTERN
    return "utf-8-sig"


def _separator(path: Path, layout: Layout) -> str:
    """The separator under which the first lines have most cells, all as many as the header."""
    try:
        with open_laid_out(path, layout) as stream:
            lines = [line for line in islice(stream, N_SAMPLE) if line.strip()]
    except UnicodeError as error:
        raise DataError(
            f"{path.name} is no text in {layout.encoding} ({error}); name its encoding (--encoding "
            "cp1252), or save it as UTF-8."
        ) from error
    best, most = ",", 1
    for mark in SEPARATORS:
        try:
            cells = [len(row) for row in csv.reader(lines, delimiter=mark)]
        except csv.Error:
            continue
        alike = sum(each == cells[0] for each in cells) if cells else 0
        if cells and cells[0] > most and alike >= ALIKE * len(cells):
            best, most = mark, cells[0]
    return best
