"""Model files: everything comes back as it was, to the last bit."""

import copy
import pickle
import warnings
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone

import driftglm
from driftglm import (
    DriftClassifier,
    DriftPoissonRegressor,
    DriftRegressor,
    DriftTextModel,
    files,
)
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.files import DamagedFileError, pack
from driftglm.priors import Exact, Fixed, Learned, Variational
from driftglm.registry import estimators, resolve
from driftglm.simulate import simulate_text
from driftglm.text import RankedVocabulary

TIME = np.repeat(np.arange(2001, 2006), 12)

NEXT = np.repeat([2004, 2007], 6)

PRIORS = {
    "learned": "learned",
    "exact": "exact",
    "variational": "variational",
    "fixed": "fixed",
    "Learned": Learned(correlations=(0.0, 0.9), n_scales=4),
    "Exact": Exact(rate=2.0, boundary="stationary"),
    "Variational": Variational(rate="estimate", bound="elbo"),
    "Fixed": Fixed(scale=0.5, autocorrelation=0.8),
}


@pytest.fixture(autouse=True)
def _quiet():
    """A few passes are enough; what is stored does not depend on convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def panel(seed=0, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(TIME.size, n_features))
    eta = (TIME - 2003) * X[:, 0] / 2 + X[:, 1]
    return X, eta, rng


def target(kind, eta, rng):
    if kind == "gaussian":
        return eta + 0.3 * rng.normal(size=eta.size)
    if kind == "poisson":
        return rng.poisson(np.exp(0.5 * eta)).astype(float)
    if kind == "binary":
        return np.where(eta + rng.normal(size=eta.size) > 0, "Ja", "näh $")
    return np.digitize(eta + rng.normal(size=eta.size), [-1.0, 1.0])


def through_file(model, path):
    model.save(path)
    return driftglm.load(path)


def same(a, b, where=""):
    """The same class, the same constructor parameters and fitted content, bit by bit."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        if a.dtype.hasobject:
            same(a.ravel().tolist(), b.ravel().tolist(), where)
        else:
            assert a.tobytes() == b.tobytes(), where
            assert a.flags.f_contiguous == b.flags.f_contiguous or not a.flags.forc, where
    elif sp.issparse(a):
        same([a.shape, a.data, a.indices, a.indptr], [b.shape, b.data, b.indices, b.indptr], where)
    elif isinstance(a, pd.Index | pd.Categorical | pd.Series):
        assert a.dtype == b.dtype, where
        same(list(a), list(b), where)
    elif isinstance(a, dict):
        same(list(a), list(b), where)  # order too
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{i}]")
    elif type(a).__module__.startswith(("driftglm", "sklearn")):
        parts = [{k: v for k, v in sorted(vars(each).items()) if k != "owner"} for each in (a, b)]
        same(*parts, where)
    else:
        assert a == b or (a != a and b != b), where  # noqa: PLR0124 (NaN)


COPIES = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),  # noqa: S301
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "joblib": lambda model, path: joblib.load(joblib.dump(model, path)[0]),
    "file": through_file,
}


def check(model, path, outputs):
    """Every way of copying gives the same outputs; the file gives the same content as well."""
    wanted = outputs(model)
    assert wanted
    for name, copied in COPIES.items():
        again = copied(model, path)
        if name == "file":
            same(model, again, type(model).__name__)
        for mine, its in zip(wanted, outputs(again), strict=True):
            same(mine, its, name)
    same(clone(model).get_params(), clone(again).get_params())
    return again


def regression_outputs(X, **more):
    rows = X[:12]

    def outputs(model):
        out = [
            model.predict(rows, **more),
            model.predict(rows, time=NEXT, **more),
            model.coef_,
            model.timesteps_,
        ]
        if hasattr(model, "predict_proba"):
            out.append(model.predict_proba(rows, time=NEXT))
        if hasattr(model, "coef_std_path_"):
            out += [model.predict_interval(rows, time=NEXT, **more), model.coef_interval()]
        if hasattr(model, "summary"):
            out.append(model.summary().astype(str).to_numpy().tolist())
        return out

    return outputs


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", ["gaussian", "poisson", "binary", "multiclass"])
def test_every_estimator_and_prior_comes_back_to_the_last_bit(kind, prior, tmp_path):
    X, eta, rng = panel()
    y = target(kind, eta, rng)
    settings = {"prior": PRIORS[prior], "max_iter": 3}
    if kind == "gaussian":
        model = DriftRegressor(noise="paper" if prior == "exact" else "auto", **settings)
    elif kind == "poisson":
        model = DriftPoissonRegressor(**settings)
    else:
        weights = {c: 1.0 + i for i, c in enumerate(np.unique(y).tolist())}
        model = DriftClassifier(class_weight=weights if prior == "fixed" else None, **settings)
    model.fit(X, y, time=TIME)
    check(model, tmp_path / "m.zip", regression_outputs(X))


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("kind", [RidgeOne, RidgeAll, RidgeTS, LassoOne, LassoAll])
def test_every_baseline_comes_back_to_the_last_bit(kind, family, tmp_path):
    X, eta, rng = panel()
    y = target({"binomial": "binary"}.get(family, family), eta, rng)
    given = {"autocorrelation": 0.7} if kind is RidgeTS else {}
    model = kind(strength=0.7, family=family, **given).fit(X, y, time=TIME)
    check(model, tmp_path / "m.zip", regression_outputs(X))


def text_outputs(text):
    def outputs(model):
        return [
            model.log_prob(text.effects_next),
            model.log_prob(text.effects[:5], time=text.time[:5]),
            model.document_log_likelihood(text.counts_next, text.effects_next),
            model.score(text.counts, text.effects, time=text.time),
        ]

    return outputs


TEXT = [
    *(DriftTextModel(prior=prior, max_iter=2) for prior in ("learned", "exact", "fixed")),
    DriftTextModel(prior=Learned(n_scales=3), tie="path", background="all", max_iter=2),
    DriftTextModel(prior=Variational(), background=np.zeros(20), max_iter=2),
    *(
        kind(strength=3.0, family="text", max_iter=2)
        for kind in (RidgeOne, RidgeAll, LassoOne, LassoAll)
    ),
    RidgeTS(strength=3.0, autocorrelation=0.5, family="text", max_iter=2),
]


@pytest.mark.parametrize("model", TEXT, ids=str)
def test_text_models_come_back_to_the_last_bit(model, tmp_path):
    text = simulate_text(n_words=20, n_effects=2, random_state=0)
    counts = pd.DataFrame(
        text.counts.toarray() if sp.issparse(text.counts) else text.counts,
        columns=[f"wörd ${j}^_" for j in range(20)],
    )
    model = clone(model).fit(counts, text.effects, time=text.time)
    again = check(model, tmp_path / "m.zip", text_outputs(text))
    if isinstance(model, DriftTextModel):
        assert again.top_words(0).equals(model.top_words(0))


@pytest.mark.parametrize(
    "kind", [resolve(home) for home in estimators().values()], ids=[*estimators()]
)
def test_what_is_not_fitted_comes_back_unfitted(kind, tmp_path):
    again = check(kind(), tmp_path / "m.zip", lambda model: [model.get_params()])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        sklearn.utils.validation.check_is_fitted(again)


TIMES = {
    "dates": (pd.to_datetime([f"{year}-03-04" for year in TIME]), {"freq": "Y"}),
    "periods": (pd.PeriodIndex(TIME.astype(str), freq="Y"), {}),
    "quarters": (pd.PeriodIndex([f"{year}Q2" for year in TIME], freq="Q"), {"freq": "Y"}),
    "categories": (
        pd.Categorical([f"é{year}" for year in TIME], [f"é{y}" for y in range(2000, 2009)], True),
        {},
    ),
    "decades": (TIME * 10, {"freq": 10}),
    "none": (None, {}),
}


@pytest.mark.parametrize("kind", TIMES)
def test_every_kind_of_time_comes_back(kind, tmp_path):
    X, eta, rng = panel()
    time, settings = TIMES[kind]
    model = DriftRegressor(max_iter=3, **settings).fit(X, target("gaussian", eta, rng), time=time)
    check(model, tmp_path / "m", lambda m: [m.predict(X), m.predict(X, time=time), m.timesteps_])


OPTIONS = [
    {"always_in": ["b"], "static": "é_$x^2"},
    {"always_in": [0, True], "extrapolate": "hold"},
    {"always_in": np.array([True, False, False, False]), "static": np.array([1, 2])},
    {"always_in": pd.Index(["b", "c"]), "static": pd.Index([0], name="n")},
    {"static": range(2), "random_state": np.int64(3), "tol": np.float64(1e-3)},
    {"static": ("b",), "fit_intercept": False, "n_jobs": 1, "random_state": 7},
    {"static": pd.Series(["b"], name="s"), "extrapolate": "average"},
]


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
def test_frames_names_and_options_come_back(options, tmp_path):
    X, eta, rng = panel()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "é_$x^2"])
    if 0 in np.asarray(options.get("always_in", []), dtype=object):
        options = options | {"always_in": [0, 3]}
    model = DriftRegressor(max_iter=3, **options).fit(
        frame, target("gaussian", eta, rng), time=TIME
    )
    model.save(tmp_path / "m")
    again = driftglm.load(tmp_path / "m")
    params = model.get_params()
    if isinstance(params["static"], pd.Series):  # its index says nothing: values come back
        assert list(again.static) == list(params["static"])
        again.set_params(static=params["static"])
    same(model, again)
    same(regression_outputs(frame)(model), regression_outputs(frame)(again))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("kind", ["dense", "sparse", "poisson", "multiclass"])
def test_a_model_that_kept_its_data_can_be_updated_after_loading(kind, tmp_path):
    X, eta, rng = panel()
    y = target({"dense": "gaussian", "sparse": "gaussian"}.get(kind, kind), eta, rng)
    X_now, y_now, more = X[:12], y[:12], {}
    if kind == "sparse":
        X, X_now = sp.csr_array(X), sp.csr_matrix(X_now)
    model = {"poisson": DriftPoissonRegressor, "multiclass": DriftClassifier}.get(
        kind, DriftRegressor
    )(keep_data=True, max_iter=4)
    if kind == "poisson":
        more = {"exposure": np.linspace(0.5, 2.0, 12)}
        model.fit(X, y, time=TIME, exposure=np.linspace(0.5, 2.0, TIME.size))
    else:
        model.fit(X, y, time=TIME)
    again = check(model, tmp_path / "m", regression_outputs(X, **more))
    both = [m.update(X_now, y_now, time=np.full(12, 2006), **more) for m in (model, again)]
    same(*both)


def test_an_exposure_and_metadata_requests_come_back(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        model = DriftPoissonRegressor().set_fit_request(time=True, exposure="hours")
        model.set_score_request(time=True)
        again = through_file(model, tmp_path / "m")
        wanted = sklearn.utils.metadata_routing.get_routing_for_object(model)
        assert str(wanted) == str(sklearn.utils.metadata_routing.get_routing_for_object(again))
    assert "hours" in str(wanted)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"binary": False, "dtype": np.float32},
        {"dtype": int, "lowercase": False},
        {"dtype": np.dtype("int8"), "token_pattern": r"\S+"},
    ],
    ids=str,
)
def test_a_vocabulary_comes_back(given, tmp_path):
    documents = ["the Risk of the loss é \ud800", "the risk #", "a loss 日本 " * 3]
    words = RankedVocabulary(first=1, last=None, **given).fit(documents)
    again = check(
        words, tmp_path / "v", lambda v: [v.transform(documents), v.get_feature_names_out()]
    )
    assert again.partial_fit(["a new word"]).n_documents_ == 4


def test_a_long_vocabulary_is_stored_in_arrays(tmp_path):
    """The JSON stays small however many words there are; 50,000 take well under a second."""
    words = RankedVocabulary(first=1, last=None)
    words.fit([" ".join(f"w{i}" for i in range(50_000))])
    same(words, through_file(words, tmp_path / "v"))
    with zipfile.ZipFile(tmp_path / "v") as archive:
        assert archive.getinfo("model.json").file_size < 10_000


def test_a_comparison_comes_back_by_load(tmp_path):
    X, eta, rng = panel()
    models = {"ridge": RidgeAll(strength=1.0), "läss o$": LassoAll(strength=1.0)}
    for kind in ("gaussian", "binary"):
        family = {"family": "binomial" if kind == "binary" else "gaussian"}
        named = {name: clone(model).set_params(**family) for name, model in models.items()}
        result = compare(named, X, target(kind, eta, rng), TIME, RollingOrigin(n_test=2))
        result.save(tmp_path / "c")
        for again in (driftglm.load(tmp_path / "c"), Comparison.load(tmp_path / "c")):
            assert again.predictions.equals(result.predictions)
            assert (again.params, again.table()) == (result.params, result.table())
    RidgeAll().save(tmp_path / "m")
    with pytest.raises(DamagedFileError, match="holds no comparison but a RidgeAll"):
        Comparison.load(tmp_path / "m")


def resealed(data, change):
    """A file whose JSON was changed by someone who knows how to seal it again."""
    facts, arrays = files.unpack(data)
    change(facts["content"]["estimator"][2], arrays)
    return pack(facts, arrays)


def fit_of(state):
    """The fields of the first fit of the first forecaster."""
    forecaster = state["_forecasters"]["tuple"][0]["record"][1]
    return forecaster["fits"]["tuple"][0]["record"][1]


def longer_components(state, _):
    fit_of(state)["components"]["record"][1]["n_timesteps"] += 1


def shorter_curvature(state, arrays):
    name = fit_of(state)["h"]["array"][0]
    arrays[name] = arrays[name][:, 1:]


def steps_beyond(state, arrays):
    name = state["_rows"]["record"][1]["codes"]["array"][0]
    arrays[name] = arrays[name] + 10**9


@pytest.mark.parametrize("change", [longer_components, shorter_curvature, steps_beyond])
def test_arrays_that_would_lead_compiled_code_astray_are_refused(change, tmp_path):
    """Kernels do not check their indices; a forged file must not reach them."""
    X, eta, _ = panel()
    model = DriftRegressor(max_iter=2, keep_data=True).fit(X, eta, time=TIME)
    model.save(tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(resealed(whole, lambda *_: None))
    same(model, driftglm.load(tmp_path / "m"))
    (tmp_path / "m").write_bytes(resealed(whole, change))
    with pytest.raises(DamagedFileError, match=r"fit each other|unlike its neighbours"):
        driftglm.load(tmp_path / "m")
