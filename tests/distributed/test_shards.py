"""A folder of shards is the same rows for a fit here and for one on workers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftRegressor
from driftglm.exceptions import DataError
from driftglm.tables import TableSpec, fit_table, read_data, write_shards

N_ROWS, N_STEPS = 240, 4


@pytest.fixture(scope="module", autouse=True)
def quick_start():
    """Workers of this module begin as Dask would have it."""


def shards(folder, lines, name, **options):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    write_shards(path, folder / "shards", rows=70, **options)
    return folder / "shards"


def near(folder, target, time, **options):
    spec = TableSpec(target=target, time=time, **options)
    return fit_table(read_data(folder), spec).estimator


def far(model, folder, target, time, client):
    with client.as_current():
        return model.fit(folder, y=target, time=time)


def agree(one, other):
    assert_allclose(one.coef_path_, other.coef_path_, atol=1e-8)
    assert_allclose(one.intercept_path_, other.intercept_path_, atol=1e-8)


@pytest.fixture
def labelled():
    """Lines of a CSV file with classes as texts."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(N_STEPS), N_ROWS // N_STEPS)
    x = rng.normal(size=(N_ROWS, 3))
    label = np.where(x[:, 0] + rng.normal(size=N_ROWS) > 0, "yes", "no")
    return [
        f"{t},{a:.6f},{b:.6f},{c:.6f},{y}" for t, (a, b, c), y in zip(time, x, label, strict=True)
    ]


def test_classes_that_are_texts_are_the_same_here_and_there(client, labelled, tmp_path):
    folder = shards(tmp_path, ["year,a,b,c,label", *labelled], "a.csv")
    one, other = (
        near(folder, "label", "year"),
        far(DriftClassifier(extrapolate="forecast"), folder, "label", "year", client),
    )
    assert_array_equal(one.classes_, ["no", "yes"])
    assert_array_equal(other.classes_, one.classes_)
    agree(one, other)


@pytest.mark.parametrize("gaps", [(5, 200), (239,)])
def test_a_missing_class_is_no_class_here_nor_there(gaps, client, labelled, tmp_path):
    for row in gaps:
        labelled[row] = labelled[row].rsplit(",", 1)[0] + ","
    folder = shards(tmp_path, ["year,a,b,c,label", *labelled], "a.csv")
    said = []
    for fit in (
        lambda: near(folder, "label", "year"),
        lambda: far(DriftClassifier(extrapolate="forecast"), folder, "label", "year", client),
    ):
        with pytest.raises(DataError) as error:
            fit()
        said.append(str(error.value))
    assert said[0] == said[1]
    assert f"'label' has no value in {len(gaps)} of 240 rows, first in row {gaps[0]}" in said[0]


def test_a_missing_number_and_a_missing_time_are_named(client, labelled, tmp_path):
    numbers = [f"{k % 3 if k != 90 else ''},{line}" for k, line in enumerate(labelled)]
    folder = shards(tmp_path, ["y,year,a,b,c,label", *numbers], "a.csv")
    with pytest.raises(DataError, match="'y' has no value in 1 of 240 rows, first in row 90"):
        far(DriftRegressor(extrapolate="forecast"), folder, "y", "year", client)


def svmlight(first):
    """Lines whose features count from `first`; of them `first` + 1 and + 3 matter."""
    rng = np.random.default_rng(1)
    lines = []
    for row in range(N_ROWS):
        x = np.where(rng.random(4) < 0.7, rng.normal(size=4), 0.0)
        y = 2 * x[1] - x[3] + 0.3 * rng.normal()
        entries = " ".join(f"{first + k}:{value:.6f}" for k, value in enumerate(x) if value)
        lines.append(f"{y:.6f} qid:{row * N_STEPS // N_ROWS + 1} {entries}")
    return lines


@pytest.mark.parametrize(("first", "width"), [(0, 4), (1, 4)])
def test_svmlight_has_the_same_columns_here_and_there(first, width, client, tmp_path):
    folder = shards(tmp_path, svmlight(first), "a.svm", time="qid")
    one, other = (
        near(folder, "label", "qid"),
        far(DriftRegressor(extrapolate="forecast"), folder, "label", "qid", client),
    )
    assert one.coef_path_.shape[1] == other.coef_path_.shape[1] == width
    agree(one, other)


def test_dates_are_times_here_and_there(client, labelled, tmp_path):
    pytest.importorskip("pyarrow")
    rows = [line.split(",") for line in labelled]
    frame = pd.DataFrame(rows, columns=["year", "a", "b", "c", "label"])
    frame = frame.astype(dict.fromkeys("abc", np.float64))
    frame["year"] = pd.to_datetime((2001 + frame["year"].astype(int)).astype(str) + "-05-01")
    frame.to_parquet(tmp_path / "a.parquet")
    write_shards(tmp_path / "a.parquet", tmp_path / "s", rows=70, time="year", freq="Y")
    one = near(tmp_path / "s", "label", "year", freq="Y")
    other = far(
        DriftClassifier(extrapolate="forecast", freq="Y"), tmp_path / "s", "label", None, client
    )
    assert list(map(str, other.timesteps_)) == ["2001", "2002", "2003", "2004"]
    agree(one, other)
