"""Finished pieces of a comparison on disk, one file each, so that a killed run goes on."""

from __future__ import annotations

import contextlib
import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftglm.evaluation.fingerprint import digest
from driftglm.files import DamagedFileError, StrPath, pack, unpack, write_atomically

ABANDONED = 3600.0
"""Seconds after which a temporary file belongs to a run that was killed."""

Piece = tuple[dict[str, Any], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Cache:
    """A folder of results; `run` names data, libraries and what else all pieces share.

    Several runs may share a folder: files are named by all that their content depends on, and
    appear whole or not at all.
    """

    folder: Path
    run: str

    @classmethod
    def open(cls, folder: StrPath, run: str) -> Cache:
        """Make the folder if need be, and clear away what killed runs left half written."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        for left in path.glob(".writing-*.tmp"):
            with contextlib.suppress(OSError):
                if clock.time() - left.stat().st_mtime > ABANDONED:
                    left.unlink()
        return cls(path, run)

    def read(self, key: str) -> Piece | None:
        """What was stored under the key; None if nothing was, or the file is damaged."""
        try:
            facts, arrays = unpack(self._path(key).read_bytes())
        except (FileNotFoundError, DamagedFileError):
            return None
        # A file that was renamed by hand is not taken for something it is not.
        return (facts["piece"], arrays) if facts.get("key") == key else None

    def write(self, key: str, piece: Piece) -> None:
        """Store a piece."""
        facts, arrays = piece
        write_atomically(self._path(key), pack({"key": key, "piece": facts}, arrays))

    def key(self, *parts: object) -> str:
        """Name of a piece from all it depends on."""
        return digest(self.run, *parts)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:40]}.zip"
