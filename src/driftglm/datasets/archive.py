"""Files of a .tgz, read as a stream: nothing is written, and memory for one file is needed.

Blocks are walked here rather than by `tarfile.TarFile`, which reads the records that carry long
names whole, of whatever size they claim to be; its parser of a single header is used.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from driftglm.exceptions import DataError

BLOCK = tarfile.BLOCKSIZE
_MAX_RECORD = 64 * 2**10  # records of long names; a path has at most a few thousand bytes
_MAX_PADDING = 16 * 2**20  # after the end; tar pads to its record size, usually 10 kB
_CHUNK = 2**20
_DRIVE = re.compile(r"[A-Za-z]:")
_NUMBER = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True)
class Limits:
    """Sizes beyond which an archive is refused, unpacked, in bytes."""

    document: int = 64 * 2**20
    archive: int = 32 * 2**30


def read_members(
    path: Path, limits: Limits, advance: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file, in the order of the archive.

    Parameters
    ----------
    path
        A tar archive packed by gzip.
    limits
        Sizes beyond which the archive is refused.
    advance
        Called with numbers of packed bytes read, for a progress bar.

    Raises
    ------
    DataError
        If the archive is damaged or cut short, exceeds a limit, or has a member that is a link, a
        device, or whose path leads out of the folder.
    """
    with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as unpacked:
        stream, done = _Stream(unpacked, path, limits), 0
        for name, size in _headers(stream):
            yield name, stream.read_padded(size)
            advance(packed.tell() - done)
            done = packed.tell()
        stream.drain()
        advance(packed.tell() - done)


class _Stream:
    """Exact reads from an unpacked archive; whatever goes wrong is a DataError with its name."""

    def __init__(self, unpacked: gzip.GzipFile, path: Path, limits: Limits) -> None:
        self._unpacked, self.limits = unpacked, limits
        self._path = path
        self._n_read = 0

    def fail(self, why: str) -> DataError:
        """Error about the archive."""
        return DataError(f"{self._path.name}: {why}")

    def read(self, size: int) -> bytes:
        """The next `size` bytes, no fewer."""
        data = self._read_some(size)
        if len(data) < size:
            raise self.fail(
                f"the archive is cut short after {self._n_read:,} unpacked bytes; copy it again."
            )
        return data

    def read_padded(self, size: int) -> bytes:
        """The content of a member, whose last block is filled up."""
        return self.read(size + -size % BLOCK)[:size]

    def drain(self) -> None:
        """Read on to the end, where gzip keeps the checksum of all that came before."""
        n_padding = 0
        while data := self._read_some(_CHUNK):
            n_padding += len(data)
            if n_padding > _MAX_PADDING:
                raise self.fail(
                    f"more than {_MAX_PADDING:,} bytes follow the end of the archive; make it "
                    "again with tar -czf."
                )

    def _read_some(self, size: int) -> bytes:
        try:
            data = self._unpacked.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise self.fail(
                f"the archive is damaged or cut short after {self._n_read:,} unpacked bytes "
                f"({error}); copy or download it again."
            ) from error
        self._n_read += len(data)
        if self._n_read > self.limits.archive:
            raise self.fail(
                f"the archive unpacks to more than {self.limits.archive:,} bytes, the limit; raise "
                "max_archive_bytes if it is meant to."
            )
        return data


def _headers(stream: _Stream) -> Iterator[tuple[str, int]]:
    """Name and size of each regular file; the caller reads its content before going on."""
    override: dict[str, str] = {}
    while (block := stream.read(BLOCK)).strip(b"\0"):
        try:
            member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise stream.fail(
                f"no tar header where one must be ({error}); it is damaged."
            ) from error
        if member.type in {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME}:
            record = _record(stream, member)
            if member.type == tarfile.GNUTYPE_LONGNAME:
                override["path"] = record.split(b"\0")[0].decode("utf-8", "surrogateescape")
            elif member.type == tarfile.XHDTYPE:
                override |= _pax_fields(stream, record)
            continue
        name, size = _checked(stream, member, override)
        override = {}
        if not member.isdir():
            yield name, size


def _record(stream: _Stream, member: tarfile.TarInfo) -> bytes:
    """Content of a record that describes the member after it."""
    if not 0 <= member.size <= _MAX_RECORD:
        raise stream.fail(
            f"a record of {member.size:,} bytes describes a member; {_MAX_RECORD:,} are allowed."
        )
    return stream.read_padded(member.size)


def _pax_fields(stream: _Stream, record: bytes) -> dict[str, str]:
    """Fields of a pax record, lines "<length> <name>=<value>"; those that matter here."""
    fields: dict[str, str] = {}
    rest = record.rstrip(b"\0")
    while rest:
        digits = rest.partition(b" ")[0]
        length = int(digits) if _NUMBER.fullmatch(digits.decode("latin-1")) else 0
        name, equals, value = rest[len(digits) + 1 : length].rstrip(b"\n").partition(b"=")
        if not equals:
            raise stream.fail("a pax record cannot be read; the archive is damaged.")
        if name.startswith(b"GNU.sparse"):
            raise stream.fail("a member is a sparse file; pack plain files with tar -czf.")
        if name in {b"path", b"size"}:
            fields[name.decode()] = value.decode("utf-8", "surrogateescape")
        rest = rest[length:]
    return fields


def _checked(stream: _Stream, member: tarfile.TarInfo, override: dict[str, str]) -> tuple[str, int]:
    """Name and size of a member, refused unless it is a harmless file or folder."""
    name = override.get("path", member.name)
    shown = name.encode("utf-8", "replace").decode()
    if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE}:
        raise stream.fail(
            f"the member {shown!r} is a link, device or other special file; pack plain files."
        )
    slashed = name.replace("\\", "/")
    if slashed.startswith("/") or _DRIVE.match(slashed) or ".." in slashed.split("/"):
        raise stream.fail(
            f"the member {shown!r} leads out of the folder; pack relative paths without '..'."
        )
    text = override.get("size", str(member.size))
    size = int(text) if _NUMBER.fullmatch(text) else -1
    if not 0 <= size <= stream.limits.document:
        raise stream.fail(
            f"the member {shown!r} claims {text} bytes; the limit is {stream.limits.document:,}. "
            "Raise max_document_bytes if it is meant to be that long."
        )
    return name, 0 if member.isdir() else size
