"""Arrays and plain facts in one file: a zip of .npy and JSON, checked when read, never pickled."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import uuid
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from driftglm.exceptions import DataError

FACTS = "content.json"
FORMAT = 1


class DamagedFileError(DataError):
    """A file is torn, altered or of another kind."""


def pack(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """One file's bytes; the same content gives the same bytes."""
    encoded = {name: _npy(array) for name, array in arrays.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in encoded.items()}
    text = json.dumps({"format": FORMAT, "sha256": sums, "facts": facts}, sort_keys=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, FACTS, text.encode())
        for name, data in encoded.items():
            _add(archive, f"{name}.npy", data)
    return buffer.getvalue()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Facts and arrays; DamagedFileError unless every byte is as it was written."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            content = json.loads(archive.read(FACTS))
            raw = {name: archive.read(f"{name}.npy") for name in content["sha256"]}
            if content["format"] != FORMAT:
                raise DamagedFileError(
                    f"the file has format {content['format']}, this version reads {FORMAT}; "
                    "use the version of driftglm that wrote it."
                )
            sums = {name: hashlib.sha256(part).hexdigest() for name, part in raw.items()}
            if sums != content["sha256"]:
                raise DamagedFileError("the file's checksums do not match its content.")
            arrays = {
                name: np.load(io.BytesIO(part), allow_pickle=False) for name, part in raw.items()
            }
            return content["facts"], arrays
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, OSError, EOFError) as error:
        if isinstance(error, DamagedFileError):
            raise
        raise DamagedFileError(f"the file cannot be read ({error!r}).") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` in one step: whoever reads it sees the old file or the whole new one."""
    draft = path.parent / f".writing-{uuid.uuid4().hex}.tmp"
    try:
        # "x" as everyone's files are made, unlike tempfile's, which only their owner may read.
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # A fixed date, so that equal content is equal bytes.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)
