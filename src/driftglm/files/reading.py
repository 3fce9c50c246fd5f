"""Nothing in a file is believed: sizes first, then checksums, and never code."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from driftglm.files.layout import (
    CHUNK,
    FACTS,
    FORMAT,
    JSON_LIMIT,
    Content,
    DamagedFileError,
    StrPath,
    check_regular,
)

LEAST_LIMIT = 256 * 2**20
MOST_RATIO = 200
"""A file may hold this many times its own size, or `LEAST_LIMIT` bytes, unless told otherwise."""
ENCRYPTED = 0x1
COMMENT = re.compile(rb"driftglm ([0-9]{1,9}) sha256=([0-9a-f]{64})")
COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What zipfile, zlib, json and numpy raise about bytes they cannot use."""


def unpack(data: bytes, *, limit: int | None = None) -> Content:
    """Facts and arrays; DamagedFileError unless every byte is as it was written."""
    return _read(io.BytesIO(data), len(data), limit)


def load(path: StrPath, *, limit: int | None = None) -> Content:
    """Facts and arrays of a file that `save` wrote.

    Parameters
    ----------
    path
        The file.
    limit
        Most bytes of content to read into memory; None: 256 MiB, or 200 times the file's size if
        that is more, which every file written here keeps.
    """
    check_regular(path)
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        try:
            return _read(stream, size, limit)
        except DamagedFileError as error:
            raise DamagedFileError(f"{path} cannot be read: {error}") from error


def _read(stream: IO[bytes], size: int, limit: int | None) -> Content:
    if limit is None:
        limit = max(LEAST_LIMIT, MOST_RATIO * size)
    try:
        if not zipfile.is_zipfile(stream):
            raise DamagedFileError(  # noqa: TRY301
                "it is no zip archive, so it is cut short or no file of driftglm; write it again."
            )
        with zipfile.ZipFile(stream) as archive:
            members = _members(archive, limit)
            content = _facts(archive, members)
            arrays = {
                name: _array(archive, members[f"{name}.npy"], entry)
                for name, entry in content["arrays"].items()
            }
            if members.keys() != {FACTS, *(f"{name}.npy" for name in arrays)}:
                raise DamagedFileError(  # noqa: TRY301
                    "it holds parts it does not list; write it again."
                )
            if not isinstance(content["facts"], dict):
                raise DamagedFileError("its facts are no table; write it again.")  # noqa: TRY301
            return content["facts"], arrays
    except DamagedFileError:
        raise
    except MemoryError as error:
        raise DamagedFileError("it asks for more memory than there is.") from error
    except UNREADABLE as error:
        shown = f"{type(error).__name__}: {error}"
        raise DamagedFileError(
            f"it is damaged ({shown}); write it again or take another copy."
        ) from error


def _members(archive: zipfile.ZipFile, limit: int) -> dict[str, zipfile.ZipInfo]:
    """The parts of an archive by name, if it is one that may be read."""
    parts = archive.infolist()
    members = {part.filename: part for part in parts}
    if len(members) < len(parts):
        raise DamagedFileError("it holds two parts of one name; write it again.")
    for part in parts:
        if part.flag_bits & ENCRYPTED or part.compress_type not in COMPRESSIONS:
            raise DamagedFileError(
                f"its part {part.filename!r} is encrypted or compressed in a way driftglm never "
                "uses; write it again."
            )
    total = sum(part.file_size for part in parts)
    if total > limit:
        raise DamagedFileError(
            f"it would take {total} bytes of memory, more than the limit of {limit}; if you trust "
            f"it, pass max_bytes={total} to load."
        )
    if FACTS not in members:
        raise DamagedFileError(
            f"it is a zip archive without {FACTS}, so no file of driftglm; name another file."
        )
    return members


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("a key occurs twice")
    return out


def _facts(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    """What model.json says, once it is known to be as written."""
    sealed = COMMENT.fullmatch(archive.comment)
    if sealed is not None:
        _check_format(int(sealed[1]))
    if members[FACTS].file_size > JSON_LIMIT:
        raise DamagedFileError(
            f"its {FACTS} has {members[FACTS].file_size} bytes, more than the {JSON_LIMIT} that "
            "driftglm ever writes; write it again."
        )
    text = archive.read(members[FACTS])
    content: dict[str, Any] = json.loads(text, object_pairs_hook=_without_repeats)
    if not isinstance(content, dict):
        raise DamagedFileError(f"its {FACTS} is no table of facts; write it again.")
    _check_format(content.get("format"))
    if sealed is None or hashlib.sha256(text).hexdigest() != sealed[2].decode():
        raise DamagedFileError(f"its {FACTS} does not match its checksum; write it again.")
    return content


def _check_format(found: object) -> None:
    if found == FORMAT:
        return
    said = f"it has format {found!r}, this version reads {FORMAT}; write it again."
    if isinstance(found, int) and found > FORMAT:
        numbers = f"(format {found}; this version reads {FORMAT})"
        said = f"it was written by a newer driftglm {numbers}: upgrade driftglm."
    raise DamagedFileError(said)


def _array(
    archive: zipfile.ZipFile, part: zipfile.ZipInfo, entry: Mapping[str, object]
) -> np.ndarray:
    """One array: its header is compared with the sizes listed before memory is taken."""
    if part.file_size != entry["size"]:
        raise DamagedFileError(f"its part {part.filename!r} has not the size listed.")
    with archive.open(part) as stream:
        start = stream.read(10)
        length = struct.unpack("<H", start[8:])[0]
        opening = io.BytesIO(start + stream.read(length))
        if np.lib.format.read_magic(opening) != (1, 0):
            raise DamagedFileError(f"its part {part.filename!r} is of an unknown .npy version.")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(opening)
        if dtype.hasobject or dtype.itemsize == 0:
            raise DamagedFileError(
                f"its part {part.filename!r} is an array of Python objects, which could run code "
                "and is never read; get the file from someone you trust."
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or n_bytes + 10 + length != part.file_size:
            raise DamagedFileError(f"its part {part.filename!r} has another size than its header.")
        digest = hashlib.sha256(opening.getvalue())
        flat = _filled(stream, n_bytes, digest)
    if digest.hexdigest() != entry["sha256"]:
        raise DamagedFileError(f"its part {part.filename!r} does not match its checksum.")
    return np.ndarray(shape, dtype, flat, order="F" if fortran else "C")


def _filled(stream: IO[bytes], n_bytes: int, digest: hashlib._Hash) -> np.ndarray:
    """So many bytes of a stream; memory is touched only as they come."""
    flat = np.empty(n_bytes, dtype=np.uint8)
    at = 0
    while part := stream.read(min(CHUNK, n_bytes - at + 1)):
        if at + len(part) > n_bytes:
            raise DamagedFileError("a part of it is longer than listed.")
        flat[at : at + len(part)] = np.frombuffer(part, dtype=np.uint8)
        digest.update(part)
        at += len(part)
    if at < n_bytes:
        raise DamagedFileError("a part of it is shorter than listed.")
    return flat
