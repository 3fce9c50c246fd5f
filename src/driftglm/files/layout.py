"""What reader and writer agree on."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from driftglm.exceptions import DataError

FACTS = "model.json"
FORMAT = 3
JSON_LIMIT = 16 * 2**20
CHUNK = 2**20

StrPath = str | os.PathLike[str]
Facts = Mapping[str, object]
"""What JSON can hold, to be written."""
Arrays = dict[str, np.ndarray]
Content = tuple[dict[str, Any], Arrays]


class DamagedFileError(DataError):
    """A file is torn, altered or of another kind."""


def check_regular(path: StrPath) -> None:
    """Raise DataError for a pipe or a device, whose content may never come, or never end.

    What is not there is left to who opens it.
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(
            f"{os.fspath(path)} is no regular file but a pipe, a device or a socket; write its "
            "content to a file first."
        )
