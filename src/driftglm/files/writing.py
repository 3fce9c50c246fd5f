"""Files appear whole or not at all; the same content gives the same bytes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import itertools
import json
import os
import stat
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from driftglm.exceptions import DataError
from driftglm.files.layout import CHUNK, FACTS, FORMAT, JSON_LIMIT, Arrays, Facts, StrPath

fcntl: Any = None
with contextlib.suppress(ImportError):  # where there are no such locks, drafts of the dead stay
    fcntl = import_module("fcntl")

WRITTEN_RATIO = 100
SMALL_MEMBER = 2**14
"""What would shrink more than `WRITTEN_RATIO` to 1 is stored as it is if it is larger than this."""
WORTH = 0.9
DRAFT = ".writing-{}.tmp"
N_TRIES = 20
OUT_OF_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a write may end with that says nothing of the file it was for."""


def pack(facts: Facts, arrays: Arrays) -> bytes:
    """One file's bytes; the same content gives the same bytes."""
    buffer = io.BytesIO()
    _write(buffer, facts, arrays)
    return buffer.getvalue()


def save(path: StrPath, facts: Facts, arrays: Arrays) -> None:
    """Write facts and arrays to a file, in one step and without a second copy in memory."""
    with replacing(path) as stream:
        _write(stream, facts, arrays)


def write_atomically(path: StrPath, data: bytes) -> None:
    """Replace `path` in one step: whoever reads it sees the old file or the whole new one."""
    with replacing(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[IO[bytes]]:
    """A stream whose content takes the place of `path` once all of it is on disk.

    A link stays a link; its target is replaced, and keeps who may read and write it.
    """
    target = Path(os.path.realpath(path))
    _check_target(target)
    sweep_drafts(target.parent)
    try:
        draft, opened = _open_draft(target.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        with opened as stream:
            if target.exists():
                os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is not None:  # while it is locked; elsewhere an open file cannot be moved
                draft.replace(target)
        if fcntl is None:
            draft.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        unnamed = isinstance(error, OSError) and error.filename is None
        full = unnamed and getattr(error, "errno", None) in OUT_OF_ROOM
        if isinstance(error, OSError) and (full or error.filename == str(draft)):
            # The user knows the file asked for, not the draft.
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise
    sync_folder(target.parent)


def _open_draft(folder: Path) -> tuple[Path, IO[bytes]]:
    """A draft of one's own, locked: who sweeps at the same moment may take it for a dead one."""
    for _ in range(N_TRIES):
        draft = folder / DRAFT.format(uuid.uuid4().hex)
        # "x" as everyone's files are made, unlike tempfile's, which only their owner may read.
        stream = draft.open("xb")
        if _lock(stream.fileno()) and draft.exists():
            return draft, stream
        stream.close()
        with contextlib.suppress(OSError):
            draft.unlink()
    # A file system without locks: nobody can sweep there either.
    draft = folder / DRAFT.format(uuid.uuid4().hex)
    return draft, draft.open("xb")


def sweep_drafts(folder: Path) -> None:
    """Remove drafts of saves that were killed: whoever still writes one holds a lock on it."""
    for path in folder.glob(DRAFT.format("*")):
        with contextlib.suppress(OSError), path.open("rb") as stream:
            if _lock(stream.fileno()):
                path.unlink()


def _lock(file: int) -> bool:
    """Whether an open file could be locked; the lock goes with the process that has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync_folder(path: Path) -> None:
    """See to it that names given to files of a folder outlast a failure of power."""
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _check_target(target: Path) -> None:
    """Refuse what must not be replaced: a folder, a device, a pipe."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "No such folder, make it before saving", str(target.parent)
        )
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder, name a file in it", str(target))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise OSError(errno.EINVAL, "Is no regular file and cannot be replaced", str(target))


def _write(stream: IO[bytes], facts: Facts, arrays: Arrays) -> None:
    arrays = dict(sorted(arrays.items()))
    manifest = {name: _summed(array) for name, array in arrays.items()}
    content = {"format": FORMAT, "arrays": manifest, "facts": facts}
    text = json.dumps(content, sort_keys=True).encode()
    if len(text) > JSON_LIMIT:
        raise DataError(
            f"the facts beside the arrays take {len(text)} bytes, {JSON_LIMIT} can be read back; "
            "pass long lists as arrays."
        )
    with zipfile.ZipFile(stream, "w") as archive:
        with archive.open(_member(FACTS, len(text)), "w") as out:
            out.write(text)
        for name, array in arrays.items():
            info = _member(f"{name}.npy", manifest[name]["size"])
            if info.file_size > SMALL_MEMBER and not _worth_compressing(array):
                info.compress_type = zipfile.ZIP_STORED
            with archive.open(info, "w") as out:
                for part in _npy(array):
                    out.write(part)
        archive.comment = f"driftglm {FORMAT} sha256={hashlib.sha256(text).hexdigest()}".encode()


def _member(name: str, size: int) -> zipfile.ZipInfo:
    # A fixed date and system, so that equal content is equal bytes.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    info.file_size = size
    return info


def _npy(array: np.ndarray) -> Iterator[bytes]:
    """The bytes of a .npy file, in pieces."""
    if array.dtype.hasobject:
        raise ValueError("Object arrays cannot be saved: they would need pickle.")
    if array.dtype.itemsize == 0:
        raise ValueError(f"an array of {array.dtype} holds nothing and cannot be saved.")
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    header = io.BytesIO()
    descr = np.lib.format.dtype_to_descr(array.dtype)
    entries = {"descr": descr, "fortran_order": fortran, "shape": array.shape}
    np.lib.format.write_array_header_1_0(header, entries)
    yield header.getvalue()
    flat = (array.T if fortran else np.ascontiguousarray(array)).reshape(-1).view(np.uint8)
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK].tobytes()


def _summed(array: np.ndarray) -> dict[str, Any]:
    """Size and checksum of an array's .npy."""
    digest, size = hashlib.sha256(), 0
    for part in _npy(array):
        digest.update(part)
        size += len(part)
    return {"sha256": digest.hexdigest(), "size": size}


def _worth_compressing(array: np.ndarray) -> bool:
    """Neither noise, which takes long and gains nothing, nor what would look like an attack.

    Either is known from the first pieces, unless the array is all the same.
    """
    parts = _npy(array)
    first = next(parts) + next(parts)
    if len(zlib.compress(first)) > WORTH * len(first):
        return False
    press, size = zlib.compressobj(), 0
    for part in itertools.chain([first], parts):
        size += len(press.compress(part))
        if size * WRITTEN_RATIO > array.nbytes:
            return True
    return (size + len(press.flush())) * WRITTEN_RATIO > array.nbytes
