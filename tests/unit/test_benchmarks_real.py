"""The benchmark on real data: its tables say what was measured, and it goes on where it was."""

import importlib

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftRegressor
from driftglm.evaluation import RollingOrigin
from driftglm.simulate import simulate_panel


@pytest.fixture
def benchmark_module():
    pytest.importorskip("matplotlib")
    return importlib.import_module


@pytest.fixture
def small_set(benchmark_module):
    panel = simulate_panel(n_features=6, n_active=3, rows_per_step=60, random_state=0)
    real_sets = benchmark_module("real_sets")
    models = {"learned": DriftRegressor()} | {
        name: model
        for name, model in real_sets.contestants(DriftRegressor).items()
        if name in {"ridge-one", "lasso-3"}
    }
    splitter = RollingOrigin(dev=5, test=[6, 7])
    return real_sets.RealSet(
        "A panel.",
        panel.X,
        panel.y,
        panel.time,
        splitter,
        models,
        intervals=True,
        earlier=(4, 5),
    )


def measured(real, real_set, folder):
    arguments = real.argparse.Namespace(tune=["dev", "origin"], jobs=1)
    return real.measure("panel", real_set, arguments, folder)


def test_sets_that_are_absent_are_none(benchmark_module, monkeypatch, tmp_path):
    monkeypatch.setenv("DRIFTGLM_DATA", str(tmp_path))
    real_sets = benchmark_module("real_sets")
    assert [real_sets.load_set(name) for name in real_sets.SETS] == [None] * 4


def test_all_sets_have_the_same_contestants(benchmark_module):
    real_sets = benchmark_module("real_sets")
    found = [real_sets.load_set(name, quick=True) for name in real_sets.SETS]
    names = {tuple(one.models) for one in found if one is not None}
    if not names:
        pytest.skip("the real data are not here")
    assert len(names) == 1
    assert set(real_sets.WINDOWS) < set(*names)


def test_coverage_is_the_share_of_rows_inside_intervals(benchmark_module, small_set, tmp_path):
    found = benchmark_module("real").coverage(small_set, small_set.splitter, tmp_path, 1)
    past, now = small_set.time < 7, small_set.time == 7
    model = DriftRegressor().fit(small_set.X[past], small_set.y[past], time=small_set.time[past])
    low, high = model.predict_interval(small_set.X[now]).T
    y = small_set.y[now]
    assert found["covered"][7] == np.mean((low <= y) & (y <= high))
    assert found["covered"]["overall"] == pytest.approx(found["covered"][[6, 7]].mean())


def test_coverage_of_all_steps_counts_rows(benchmark_module, small_set, tmp_path):
    real = benchmark_module("real")
    one = measured(real, small_set, tmp_path)
    assert list(one.earlier.index) == [4, 5, "overall"]
    rows = pd.concat([one.earlier, one.coverage]).drop(index="overall")
    whole = np.average(rows["covered"], weights=rows["n_rows"])
    assert real.earlier_cells(one)[1] == f"{whole:.3f}"
    assert rows["n_rows"].sum() == (small_set.time >= 4).sum()


def test_second_run_fits_nothing_and_gives_the_same_page(
    benchmark_module, small_set, tmp_path, monkeypatch
):
    real = benchmark_module("real")
    first = real.page({"panel": measured(real, small_set, tmp_path)}, "", "")

    def never(*_args, **_options):
        raise AssertionError("fitted again")

    for model in small_set.models.values():
        monkeypatch.setattr(type(model), "fit", never)
    assert real.page({"panel": measured(real, small_set, tmp_path)}, "", "") == first


def test_losses_are_relative_to_the_best_of_each_column(benchmark_module, small_set, tmp_path):
    real = benchmark_module("real")
    found = {"panel": measured(real, small_set, tmp_path)}
    ratios = real.over_sets(found, real.relative)
    comparison = found["panel"].comparisons["dev"]
    losses = pd.Series({name: loss.mean() for name, loss in comparison.loss.items()})
    pd.testing.assert_series_equal(ratios["panel", "dev"], losses / losses.min(), check_names=False)
    assert list(ratios.columns) == [("panel", "dev"), ("panel", "origin")]
    real.draw(ratios, tmp_path / "plot.svg")
    assert "learned" in (tmp_path / "plot.svg").read_text()
