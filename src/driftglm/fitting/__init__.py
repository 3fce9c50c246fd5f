"""From validated rows to a fit: plain functions over frozen records.

read_vectors, rows_in_memory, rows_on_workers   what a user gave becomes Rows
fit_rows                                        Rows become an Outcome
Forecaster                                      what an Outcome can say about any step
"""

from driftglm.fitting.fit import fit_rows
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.reading import Given, Reading, Vectors, read_vectors
from driftglm.fitting.rows import Rows, rows_in_memory
from driftglm.fitting.settings import Settings

__all__ = [
    "Forecaster",
    "Given",
    "Outcome",
    "Reading",
    "Rows",
    "Settings",
    "Vectors",
    "fit_rows",
    "read_vectors",
    "rows_in_memory",
]
