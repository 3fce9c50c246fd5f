"""Fits of the row families on worker processes equal those of one process."""

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.design.directions import COLUMNS_PER_DIRECTION
from driftglm.exceptions import DataError
from driftglm.priors import Fixed, Learned
from driftglm.simulate import simulate_panel

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
import dask  # noqa: E402

from driftglm.distributed.engine import Engine  # noqa: E402

N_ROWS, N_FEATURES, N_STEPS = 240, 8, 4
SAME = 1e-8
MODELS = {
    "gaussian": DriftRegressor,
    "binomial": DriftClassifier,
    "multiclass": DriftClassifier,
    "poisson": DriftPoissonRegressor,
}
LOCAL = {}
pytestmark = pytest.mark.usefixtures("four")


@pytest.fixture(scope="module")
def four():
    """Four worker processes of one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows(family, n_features=N_FEATURES, n_rows=N_ROWS):
    """Columns with zeros, columns far from zero, a mean that moves, an uneven number of rows."""
    rng = np.random.default_rng(3)
    time = rng.integers(2001, 2001 + N_STEPS, n_rows)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)
    X[:, ::3] += 2.0 + 0.2 * (time[:, None] - 2001)
    X[:, 4] = X[:, 4] > 0
    eta = (time - 2002.5) * 0.5 * X[:, 1] + X[:, 2] - 0.7 * X[:, 3]
    if family == "gaussian":
        return X, eta + 0.5 * rng.normal(size=n_rows), time
    if family == "binomial":
        return X, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-eta)), "up", "down"), time
    if family == "poisson":
        return X, rng.poisson(np.exp(0.4 * eta)), time
    scores = np.column_stack([eta, -eta, np.zeros(n_rows)]) + rng.gumbel(size=(n_rows, 3))
    return X, np.argmax(scores, axis=1), time


def model(family, prior, **more):
    prior = Fixed(scale=0.3, autocorrelation=0.8) if prior == "fixed" else prior
    given = {"prior": prior, "init": "zero", "tol": 1e-10, "max_iter": 15}
    given |= {"extrapolate": "forecast", **more}  # averages have a test of their own
    return MODELS[family](**given)


def fitted(one, X, y, time, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that were not enough
        return one.fit(X, y, time=time, **more)


def assert_same(far, near, *, passes=True, inclusion=SAME):
    for name in ("coef_path_", "intercept_path_", "coef_", "inclusion_probability_"):
        most = inclusion if name == "inclusion_probability_" else SAME
        expected = getattr(near, name)
        most *= max(
            1.0, np.abs(expected).max(initial=0.0)
        )  # an intercept at a far-off zero is large
        assert_allclose(getattr(far, name), expected, rtol=0, atol=most, err_msg=name)
    assert_allclose(far.residuals_, near.residuals_, rtol=0, atol=1e-5)
    for name in ("deviance", "null_deviance", "minimum", "maximum"):
        one, two = (getattr(each._checks, name) for each in (far, near))
        assert_allclose(one, two, rtol=1e-6, err_msg=name)
    if passes:
        assert far.n_iter_ == near.n_iter_
        assert_allclose(far.objective_history_, near.objective_history_, rtol=SAME)


def local(family, prior):
    if (family, prior) not in LOCAL:
        LOCAL[family, prior] = fitted(model(family, prior), *rows(family))
    return LOCAL[family, prior]


@pytest.mark.parametrize("prior", ["learned", "exact", "variational", "fixed"])
@pytest.mark.parametrize("family", MODELS)
def test_workers_find_what_one_process_finds(family, prior):
    sparse = prior in {"exact", "variational"}
    # With few rows of classes or counts all modes are zero, and nothing is compared.
    n_rows = 10 * N_ROWS if sparse and family != "gaussian" else N_ROWS
    X, y, time = rows(family, n_rows=n_rows)
    long = family == "multiclass"  # several classes converge slowly
    given = {"max_iter": 4 if long else 1000}
    near = fitted(model(family, prior, **given), X, y, time)
    far = fitted(model(family, prior, **given), da.from_array(X, (n_rows // 3 - 10, 3)), y, time)
    assert near.coef_path_.any()
    assert near.converged_ or long
    # A ridge may be finished by L-BFGS, whose last steps are made of rounding errors.
    assert_same(far, near, passes=prior != "fixed")


@pytest.mark.parametrize("prior", ["learned", "exact"])
@pytest.mark.parametrize("family", ["negative-binomial", "gamma", "beta-binomial"])
def test_workers_find_the_same_dispersion(family, prior):
    panel = simulate_panel(family=family, n_features=6, n_active=3, rows_per_step=60, scale=0.6)
    settings = {"family": family, "prior": prior, "init": "zero", "extrapolate": "forecast"}
    near = DriftGLM(**settings).fit(panel.X, panel.y, time=panel.time)
    far = DriftGLM(**settings).fit(da.from_array(panel.X, (170, 3)), panel.y, time=panel.time)
    assert_same(far, near)
    assert_allclose(far.noise_, near.noise_, rtol=1e-8)
    if family == "beta-binomial":
        given = {"time": panel.time, "trials": da.from_array(panel.y.sum(axis=1), 170)}
        hits = da.from_array(panel.y[:, 0], 170)
        far = DriftGLM(**settings).fit(da.from_array(panel.X, (170, 3)), hits, **given)
        assert_same(far, near)


@pytest.mark.parametrize("chunks", [(1, 238, 1), (240,), (0, 80, 60, 40, 30, 20, 10)])
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_it_does_not_matter_how_rows_are_cut(family, chunks):
    X, y, time = rows(family)
    far = fitted(model(family, "learned"), da.from_array(X, chunks=(chunks, -1)), y, time)
    assert_same(far, local(family, "learned"))


@pytest.mark.parametrize("prior", ["learned", "exact"])
def test_single_precision_is_the_same_here_and_there(prior):
    X, y, time = rows("gaussian")
    X = X.astype(np.float32)
    X[:, 3] += 100.0
    near = fitted(model("gaussian", prior), X, y, time)
    assert_same(fitted(model("gaussian", prior), da.from_array(X, (90, -1)), y, time), near)


@pytest.mark.parametrize("form", ["one delayed", "futures"])
def test_other_forms_of_rows_and_vectors(four, form):
    X, y, time = rows("gaussian")
    if form == "one delayed":
        given = dask.delayed(X), dask.delayed(y), dask.delayed(time)
    else:
        cut = [slice(0, 100), slice(100, N_ROWS)]
        given = [[four.submit(np.copy, part[rows]) for rows in cut] for part in (X, y)]
        given.append(four.submit(np.copy, time))
    assert_same(fitted(model("gaussian", "learned"), *given), local("gaussian", "learned"))


def factors():
    """Signal spread over all columns, intercepts and columns that move."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(6), 60)
    both = rng.normal(size=(360, 2)) + time[:, None] / 2
    X = both @ rng.normal(size=(2, 100)) + rng.normal(size=(360, 100))
    return X, both[:, 0] + time + rng.normal(size=360), time


def test_shared_directions_and_two_views_of_the_intercepts():
    X, y, time = factors()
    near = fitted(model("gaussian", "learned"), X, y, time)
    far = fitted(model("gaussian", "learned"), da.from_array(X, (100, -1)), y, time)
    assert near._fits[0].shared.root.shape[1] > 0
    assert_same(far, near)


def test_partitions_are_read_once(monkeypatch):
    X, y, time = factors()
    loaded = []
    submit = Engine._submit_load

    def counted(self, number, *args):
        loaded.append(number)
        return submit(self, number, *args)

    monkeypatch.setattr(Engine, "_submit_load", counted)
    far = fitted(model("gaussian", "learned"), da.from_array(X, (72, -1)), y, time)
    assert far._fits[0].shared.root.shape[1] > 0
    assert sorted(loaded) == list(range(5))


def test_shared_directions_of_counts():
    X, y, time = rows("poisson", n_features=20)
    X[:, 5:] += np.random.default_rng(1).normal(size=(N_ROWS, 1))
    near = fitted(model("poisson", "learned", max_iter=5), X, y, time)
    far = fitted(model("poisson", "learned", max_iter=5), da.from_array(X, (90, -1)), y, time)
    assert_same(far, near, inclusion=10 * SAME)


def test_sparse_blocks_weights_intercepts_and_static_columns():
    X, y, time = rows("gaussian")
    X = sp.csr_matrix(np.where(np.abs(X) < 1.0, 0.0, X))
    weights = np.random.default_rng(5).integers(0, 3, N_ROWS).astype(float)
    given = {"always_in": [2], "static": [1, 6]}
    parts = [dask.delayed(X[a:b]) for a, b in ((0, 100), (100, 101), (101, N_ROWS))]
    near = fitted(model("gaussian", "learned", **given), X, y, time, sample_weight=weights)
    far = fitted(
        model("gaussian", "learned", **given),
        parts,
        da.from_array(y, chunks=50),
        da.from_array(time, chunks=50),
        sample_weight=da.from_array(weights, chunks=60),
    )
    assert_same(far, near)


def test_exposure_and_class_weights():
    X, y, time = rows("poisson")
    exposure = np.random.default_rng(6).uniform(0.5, 2.0, N_ROWS)
    chunked = da.from_array(X, chunks=(100, -1))
    few = {"max_iter": 5}
    near = fitted(model("poisson", "learned", **few), X, y, time, exposure=exposure)
    far = fitted(model("poisson", "learned", **few), chunked, y, time, exposure=exposure)
    assert_same(far, near)
    X, y, time = rows("binomial")
    few |= {"class_weight": "balanced"}
    near = fitted(model("binomial", "exact", **few), X, y, time)
    far = fitted(model("binomial", "exact", **few), chunked, da.from_array(y, 60), time)
    assert_same(far, near)


def test_lbfgs_works_through_the_same_design():
    X, y, time = rows("gaussian")
    given = {"solver": "lbfgs", "max_iter": 60}
    near = fitted(model("gaussian", "fixed", **given), X, y, time)
    far = fitted(model("gaussian", "fixed", **given), da.from_array(X, chunks=(100, -1)), y, time)
    assert_allclose(far.coef_path_, near.coef_path_, atol=1e-6)


def test_a_column_far_from_zero_and_a_constant_one():
    X, y, time = rows("gaussian")
    X[:, 0] += 1e6
    X[:, 7] = 3.7
    near = fitted(model("gaussian", "learned"), X, y, time)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        far = model("gaussian", "learned").fit(da.from_array(X, (60, -1)), y, time=time)
    assert any("one value in every row" in str(each.message) for each in said)
    assert_same(far, near)


def test_bad_values_are_found_where_they_are():
    X, y, time = rows("gaussian")
    bad = X.copy()
    bad[200, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        DriftRegressor(extrapolate="forecast").fit(da.from_array(bad, (60, -1)), y, time=time)
    bad[200, 3] = 1e120
    with pytest.raises(DataError, match="Change their unit"):
        DriftRegressor(extrapolate="forecast").fit(da.from_array(bad, (60, -1)), y, time=time)
    with pytest.raises(DataError, match="y has 10 values but X has 240 rows"):
        DriftRegressor(extrapolate="forecast").fit(da.from_array(X, (60, -1)), y[:10], time=time)
    parts = [dask.delayed(X[:100]), dask.delayed(X[100:, :7])]
    with pytest.raises(DataError, match="partition 1 has 7 columns but partition 0 has 8"):
        DriftRegressor(extrapolate="forecast").fit(parts, y, time=time)
    parts = [dask.delayed(X[:100]), dask.delayed(X[100:, 0])]
    with pytest.raises(DataError, match="partition 1 of X has 1 dimension"):
        DriftRegressor(extrapolate="forecast").fit(parts, y, time=time)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"init": "lasso-all"}, "init='lasso-all' needs all rows"),
        ({"n_starts": 3}, "needs all rows"),
        ({"keep_data": True}, "keep_data=True"),
    ],
)
def test_what_needs_all_rows_in_one_place_is_refused(given, message):
    X, y, time = rows("gaussian")
    with pytest.raises(DataError, match=message):
        DriftRegressor(**{"extrapolate": "forecast"} | given).fit(
            da.from_array(X, (60, -1)), y, time=time
        )


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_workers_average_as_one_process_does(family, four):
    """Rows are cut before every origin on the workers, and scored there; nothing is left behind."""
    rng = np.random.default_rng(5)
    time = np.repeat(np.arange(6), 40)
    X = rng.normal(size=(240, 4)) + 3.0
    eta = 0.3 * X[:, 0] + 0.1 * time - 1.0
    y = (
        rng.poisson(np.exp(eta)).astype(float)
        if family == "poisson"
        else eta + rng.normal(size=240)
    )
    near, far = (model(family, "learned", always_in=[1], extrapolate="average") for _ in range(2))
    fitted(near, X, y, time)
    fitted(far, da.from_array(X, (70, -1)), y, time)
    assert_allclose(far.extrapolation_scores_, near.extrapolation_scores_, rtol=1e-8)
    assert_allclose(far.extrapolation_weights_, near.extrapolation_weights_, rtol=1e-6)
    assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    assert_allclose(far.predict_interval(X), near.predict_interval(X), rtol=1e-6)
    assert set(four.run(_stores).values()) == {0}


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
@pytest.mark.parametrize("other", [None, 2.0])
def test_columns_of_ones_are_fitted_as_in_one_process(family, other):
    """Values are not stored where all of a partition's are one; another partition has others."""
    # Of some data the two stop five passes apart, where rounding decides; of these they do not.
    rng = np.random.default_rng(11)
    time = rng.integers(0, 3, 300)
    X = (rng.random((300, 7)) < [0.02, 0.1, 0.5, 0.9, 0.95, 0.5, 1.0]) * 1.0
    if other is not None:
        X[250:] *= other
    X[:, 5] = np.where(time == 1, 0.0, X[:, 5])
    eta = 0.5 * time * X[:, 1] + X[:, 2] - X[:, 3]
    y = rng.poisson(np.exp(eta)) if family == "poisson" else eta + 0.3 * rng.normal(size=300)
    near, far = (model(family, "learned", max_iter=40) for _ in range(2))
    groups = rng.integers(0, 40, 300) if other else None
    fitted(near, X, y, time, groups=groups)
    fitted(far, da.from_array(sp.csr_matrix(X), (90, -1)), y, time, groups=groups)
    assert near.coef_path_.any()
    assert_same(far, near)


def test_workers_average_forecasters_with_shared_directions(four):
    """Rows along directions are found anew for every origin: nobody has the entries at hand."""
    rng = np.random.default_rng(6)
    time, n_features = np.repeat(np.arange(5), 60), 5 * COLUMNS_PER_DIRECTION
    X = (rng.random((300, n_features)) < 0.2) * 1.0
    y = X @ (0.3 * rng.normal(size=n_features)) + rng.normal(size=300)
    near, far = (model("gaussian", "learned", extrapolate="average") for _ in range(2))
    fitted(near, X, y, time)
    fitted(far, da.from_array(sp.csr_matrix(X), (70, -1)), y, time)
    assert near.n_iter_ == far.n_iter_
    assert_allclose(far.extrapolation_scores_, near.extrapolation_scores_, rtol=1e-7)
    assert_allclose(far.coef_, near.coef_, rtol=0, atol=1e-7)
    assert set(four.run(_stores).values()) == {0}


def test_workers_find_the_seasons_one_process_finds(four):
    rng = np.random.default_rng(5)
    time = np.repeat(np.arange(5), 40)
    X = rng.normal(size=(200, 3)) + 1.0
    y = np.array([1.5, -1.0])[time % 2] * X[:, 0] + rng.normal(size=200)
    settings = {"seasonality": 2, "extrapolate": "average", "max_iter": 8}
    near, far = (model("gaussian", "learned", **settings) for _ in range(2))
    fitted(near, X, y, time)
    fitted(far, da.from_array(X, (70, -1)), y, time)
    assert far.seasonality_ == 2
    assert near.seasonal_probability_[0] > 0.9
    assert_allclose(far.seasonal_path_, near.seasonal_path_, rtol=1e-6, atol=1e-9)
    assert_allclose(far.extrapolation_weights_, near.extrapolation_weights_, rtol=1e-6)
    assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    assert set(four.run(_stores).values()) == {0}


def test_workers_forget_a_fit(four):
    X, y, time = rows("gaussian")
    fitted(model("gaussian", "fixed"), da.from_array(X, (60, -1)), y, time)
    assert set(four.run(_stores).values()) == {0}


def _stores():
    from driftglm.distributed import worker

    return len(worker._STORES)


def test_rows_here_go_to_workers_where_asked():
    X, y, time = rows("gaussian")
    far = fitted(model("gaussian", "learned"), X, y, time, n_workers=2)
    assert_same(far, local("gaussian", "learned"))


def test_importing_the_package_does_not_import_dask():
    import subprocess

    code = "import sys, driftglm; sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)  # noqa: S603


def test_without_prior_directions_no_rows_are_gathered():
    X, y, time = rows("gaussian", n_features=20)
    prior = Learned(n_directions=0)
    near = fitted(model("gaussian", prior, max_iter=6), X, y, time)
    far = fitted(model("gaussian", prior, max_iter=6), da.from_array(X, (90, -1)), y, time)
    assert_same(far, near)


def test_kinds_of_features_on_workers_are_those_of_one_process():
    X, y, time = rows("gaussian")
    groups = {"first": [0, 1, 2], "second": np.arange(N_FEATURES) == 5}
    model = DriftRegressor(feature_groups=groups, always_in=[7], static=[1])
    here = model.fit(X, y, time=time).kinds_summary()
    coef = model.coef_path_.copy()
    far = model.fit(da.from_array(X, chunks=(70, -1)), y, time=time).kinds_summary()
    assert here["kind"].tolist() == far["kind"].tolist() == ["first", "second", "other"]
    assert_allclose(far.iloc[:, 1:].astype(float), here.iloc[:, 1:].astype(float), rtol=1e-6)
    assert_allclose(model.coef_path_, coef, rtol=SAME, atol=SAME)
    with pytest.raises(DataError, match="X came without column names"):
        DriftRegressor(feature_groups={"words": "w_*"}).fit(da.from_array(X), y, time=time)


def test_steps_that_are_all_of_the_usual_value_are_known_to_workers():
    """Whichever of two values it is, in columns with zeros and without, in both views."""
    rng = np.random.default_rng(8)
    time = np.sort(rng.integers(0, 6, 60))
    X = np.where(rng.random((60, 6)) < [0.1, 0.5, 0.55, 0.8, 0.9, 0.5], 1.0, 0.0)
    X[np.isin(time, [1, 2])] = [0, 0, 1, 1, 1, 0]
    X[:, 4] += 5.0
    X[:, 5] = 1e3 + rng.integers(2, 5, 60) + 10.0 * time
    y = X[:, 0] + 2.0 * X[:, 2] + 0.1 * X[:, 5] + time + 0.3 * rng.normal(size=60)
    weights = rng.uniform(0.5, 2.0, 60)
    near = fitted(model("gaussian", "learned"), X, y, time, sample_weight=weights)
    chunked = da.from_array(X, chunks=(9, 6))
    far = fitted(model("gaussian", "learned"), chunked, y, time, sample_weight=weights)
    assert_same(far, near)
