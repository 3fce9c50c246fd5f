"""A table is read in little more memory than its numbers and its different texts need."""

import tracemalloc

import numpy as np
import pandas as pd

from driftglm.tables import TableSpec, encode, read_data

N_ROWS = 60_000
MOST = 4.0
"""Times the size of the frame's numbers; with a text object a cell it would be ten."""


def test_equal_texts_are_one_object_and_reading_stays_small(rng, tmp_path):
    frame = pd.DataFrame({f"x{k}": rng.normal(size=N_ROWS).round(3) for k in range(4)})
    for k in range(6):
        frame[f"place{k}"] = rng.choice([f"airport number {j}" for j in range(30)], N_ROWS)
    path = tmp_path / "flights.csv"
    frame.to_csv(path, index=False)
    del frame
    tracemalloc.start()
    table = read_data(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    numbers = 8 * N_ROWS * 10
    assert peak < MOST * numbers
    for k in range(6):
        assert len({id(text) for text in table.frame[f"place{k}"]}) == 30
    assert table.frame["x0"].dtype == np.float64


def test_many_levels_are_sparse(rng, tmp_path):
    frame = pd.DataFrame({"year": np.repeat([1, 2], N_ROWS // 2), "y": rng.normal(size=N_ROWS)})
    frame["place"] = rng.choice([f"p{j}" for j in range(200)], N_ROWS)
    frame.to_csv(tmp_path / "a.csv", index=False)
    _, X = encode(read_data(tmp_path / "a.csv"), TableSpec(target="y", time="year"))
    assert X.nnz < 1.01 * N_ROWS
