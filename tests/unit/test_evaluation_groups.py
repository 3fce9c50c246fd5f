"""Groups in comparisons: held out by the splitter, handed to models that take them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge

from driftglm import DriftRegressor
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError, TimeError

TIME = np.repeat(np.arange(2001, 2007), 20)
IDS = np.tile(np.repeat([f"firm {k}" for k in range(10)], 2), 6)
X = np.arange(240.0).reshape(120, 2)


@pytest.mark.parametrize(("wanted", "count"), [(0.3, 3), (4, 4), (0.01, 1)])
def test_held_out_groups_are_tested_and_never_trained_on(wanted, count):
    splitter = RollingOrigin(n_test=2, hold_out_groups=wanted)
    folds = list(splitter.split(X, time=TIME, ids=IDS))
    assert len(folds) == splitter.get_n_splits() == 2
    held = {name for _, test in folds for name in IDS[test]}
    assert len(held) == count
    for train, test in folds:
        assert set(IDS[test]) == held
        assert set(IDS[train]) == set(IDS) - held
        assert TIME[train].max() < TIME[test].min()
        # All rows of these groups and steps are there.
        assert test.size == 2 * count
    dev = splitter.dev_split(X, time=TIME, ids=IDS)
    assert set(IDS[dev[1]]) == held
    assert set(IDS[dev[0]]) == set(IDS) - held


def test_ids_can_be_named_and_a_seed_draws_others():
    named = RollingOrigin(n_test=1, hold_out_groups=["firm 3", "firm 7"])
    ((_, test),) = named.split(X, time=TIME, ids=IDS)
    assert set(IDS[test]) == {"firm 3", "firm 7"}
    drawn = [
        RollingOrigin(n_test=1, hold_out_groups=3, random_state=seed).folds(TIME, 120, IDS)[0].test
        for seed in (0, 0, 1)
    ]
    assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_without_groups_held_out_ids_change_nothing():
    splitter = RollingOrigin(n_test=2)
    for one, two in zip(splitter.folds(TIME, 120), splitter.folds(TIME, 120, IDS), strict=True):
        assert_array_equal(one.train, two.train)
        assert_array_equal(one.test, two.test)


@pytest.mark.parametrize("wanted", [0, 10, 1.0, -0.5, True, "firm 3"])
def test_numbers_that_make_no_sense_are_refused(wanted):
    with pytest.raises(DataError, match=r"hold_out_groups=.* of 10 groups; pass a share"):
        RollingOrigin(n_test=1, hold_out_groups=wanted).folds(TIME, 120, IDS)


def test_ids_must_be_there():
    with pytest.raises(DataError, match=r"needs the group of every row; pass ids="):
        RollingOrigin(n_test=1, hold_out_groups=2).folds(TIME, 120)
    with pytest.raises(DataError, match="1 ids that no row has; name ids such as 'firm 0'"):
        RollingOrigin(n_test=1, hold_out_groups=["firm 3", "x"]).folds(TIME, 120, IDS)
    gone = (IDS != "firm 3") | (TIME < 2006)
    with pytest.raises(TimeError, match="step 2006 has no row of a group that is held out"):
        RollingOrigin(n_test=1, hold_out_groups=["firm 3"]).folds(
            TIME[gone], int(gone.sum()), IDS[gone]
        )


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(120, 2))
    number = np.array([int(name[5:]) for name in IDS])
    y = columns[:, 0] + 2.0 * rng.normal(size=10)[number] + 0.2 * rng.normal(size=120)
    return columns, y


def models():
    given = {"extrapolate": "forecast"}
    return {
        "learned": DriftRegressor(**given),
        "exact": DriftRegressor(prior="exact"),
        "ridge": Ridge(),
    }


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_models_that_take_ids_have_them_in_fits_and_predictions(panel, tmp_path):
    columns, y = panel
    given = models(), columns, y, TIME, RollingOrigin(n_test=1)
    blind = compare(*given, cache_dir=tmp_path).table("frame").loc["overall"]
    found = compare(*given, groups=IDS, cache_dir=tmp_path).table("frame").loc["overall"]
    assert found["learned"] < 0.1 * blind["learned"]
    assert found["ridge"] == blind["ridge"]
    assert found["exact"] == blind["exact"]
    # The number is that of a fit by hand.
    train = TIME < 2006
    model = DriftRegressor(extrapolate="forecast")
    model.fit(columns[train], y[train], time=TIME[train], groups=IDS[train])
    by_hand = model.predict(columns[~train], time=TIME[~train], groups=IDS[~train])
    assert found["learned"] == pytest.approx(np.mean((by_hand - y[~train]) ** 2), rel=1e-6)


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_effects_do_not_help_with_groups_that_are_held_out(panel):
    columns, y = panel
    splitter = RollingOrigin(n_test=1, hold_out_groups=0.5)
    found = compare(models(), columns, y, TIME, splitter, groups=IDS, metric="mse")
    assert len(found.rows) == 10
    assert found.table("frame").loc["overall", "learned"] > 1.0  # the variance between groups


def test_ids_that_nobody_takes_are_refused(panel):
    columns, y = panel
    with pytest.raises(DataError, match="no model takes ids"):
        compare({"ridge": Ridge()}, columns, y, TIME, RollingOrigin(n_test=1), groups=IDS)
