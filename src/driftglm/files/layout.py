"""What reader and writer agree on."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
