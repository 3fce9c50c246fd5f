"""What reader and writer agree on."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm.exceptions import DataError

FACTS = "model.json"
FORMAT = 2
JSON_LIMIT = 16 * 2**20
CHUNK = 2**20

Content = tuple[dict[str, Any], dict[str, np.ndarray]]


class DamagedFileError(DataError):
    """A file is torn, altered or of another kind."""
