"""How far single steps move what a fit says of the next one."""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray
from driftglm.priors.left_out import moved_without_steps
from driftglm.priors.mixture import Components
from driftglm.priors.offset import last_step_inplace


def influence_of(
    components: Components, phi: FloatArray, h: FloatArray, b: FloatArray, offset: FloatArray
) -> FloatArray:
    """See `PosteriorFit.influence`; of paths with these curvatures and linear terms."""
    included = np.flatnonzero(phi[:, components.is_zero].sum(axis=1) < 0.5)  # noqa: PLR2004
    tables = components.extended(1).tables()
    h, b, phi = h[included], b[included], phi[included]
    offset = offset[included] if offset.size else offset
    now = np.empty((included.size, 2))
    last_step_inplace(h, b, offset, phi, tables, now)
    found = moved_without_steps(h, b, offset, phi, tables)
    # A column of zeros has no variance, and does not move.
    changes = np.abs(found) / np.sqrt(now[:, 1:] + 1e-300)
    return np.asarray(changes.max(axis=0, initial=0.0))
