"""Comparisons: figures checked by hand, no look into the future, tuning, tests, files."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm import DriftClassifier, DriftRegressor
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.baselines.strength import sklearn_penalty
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.exceptions import DataError, DriftError


class Shift(RegressorMixin, BaseEstimator):
    """Predicts the last training step's mean plus a constant; takes time."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y, *, time):
        assert len(X) == len(y)
        self.mean_ = np.asarray(y)[np.asarray(time) == np.max(time)].mean()
        return self

    def predict(self, X, *, time=None):
        assert time is not None
        return np.full(len(X), self.mean_ + self.shift)


YEARS = np.array([2001, 2001, 2002, 2002, 2003, 2003, 2003, 2004])
Y = np.array([0.0, 2.0, 1.0, 3.0, 2.0, 4.0, 6.0, 5.0])
X = np.zeros((8, 1))
LAST_TWO = RollingOrigin(dev=2002, test=[2003, 2004])


def small(**settings):
    return compare({"zero": Shift(), "one": Shift(1.0)}, X, Y, YEARS, LAST_TWO, **settings)


def make_panel(rng, n_steps=6, n_rows=40, n_features=6):
    time = np.repeat(np.arange(2000, 2000 + n_steps), n_rows)
    X = rng.normal(size=(time.size, n_features))
    y = X[:, 0] * np.sin(time) + X[:, 1] + 0.5 * rng.normal(size=time.size)
    return X, y, time


def test_the_table_by_hand():
    # 2002 has mean 2, 2003 has mean 4: predictions 2 (3) for 2, 4, 6, then 4 (5) for 5.
    frame = small().table(format="frame")
    assert frame.columns.tolist() == ["zero", "one"]
    assert frame.index.tolist() == ["2003", "2004", "overall"]
    assert_allclose(frame.loc["2003"], [(0 + 4 + 16) / 3, (1 + 1 + 9) / 3])
    assert_allclose(frame.loc["2004"], [1.0, 0.0])
    assert_allclose(frame.loc["overall"], [21 / 4, 11 / 4])


def test_the_table_within_steps_by_hand():
    frame = small().table(format="frame", metric="within")
    assert_allclose(frame.loc["2003"], [8 / 3, 8 / 3])  # 2, 4, 6 about 4
    assert_allclose(frame.loc["2004"], [0.0, 0.0])
    assert_allclose(frame.loc["overall"], [2.0, 2.0])


def test_weights_count_in_means():
    weights = np.array([1, 1, 1, 1, 2.0, 1, 1, 4])
    frame = small(sample_weight=weights).table(format="frame")
    assert_allclose(frame.loc["2003"], [(0 + 4 + 16) / 4, (2 + 1 + 9) / 4])
    assert_allclose(frame.loc["overall", "zero"], (20 + 4) / 8)


def test_predictions_frame():
    frame = small().predictions
    assert frame.columns.tolist() == ["row", "step", "model", "y", "prediction", "loss"]
    first = frame[frame["model"] == "one"].iloc[0].to_dict()
    assert first == {
        "row": 4, "step": 2003, "model": "one", "y": 2.0, "prediction": 3.0, "loss": 1.0,
    }  # fmt: skip
    assert len(frame) == 8


def test_ranks_share_ties():
    assert small().ranks().loc["mean"].tolist() == [2.0, 1.0]
    assert small().ranks(metric="within").to_numpy().tolist() == [[1.5, 1.5]] * 3


def test_formats_mark_the_best():
    result = small()
    assert result.table().splitlines() == [
        "mean squared error (* best)",
        "step       zero     one",
        "2003     6.6667  3.6667*",
        "2004     1.0000  0.0000*",
        "overall  5.2500  2.7500*",
    ]
    assert result.table("markdown", digits=2).splitlines() == [
        "| mean squared error: step | zero | one |",
        "| --- | ---: | ---: |",
        "| 2003 | 6.67 | **3.67** |",
        "| 2004 | 1.00 | **0.00** |",
        "| overall | 5.25 | **2.75** |",
    ]
    assert r"2004 & 1.0000 & \textbf{0.0000} \\" in result.table("latex")
    assert "<td>1.0000</td><td><b>0.0000</b></td>" in result.table("html")
    assert "mean squared error" in repr(result)
    with pytest.raises(DataError, match="format='pdf'"):
        result.table("pdf")


def test_names_are_escaped():
    names = {"a_b & <c>": Shift(), "p|q": Shift(1.0)}
    result = compare(names, X, Y, YEARS, LAST_TWO)
    assert r"a\_b \& <c>" in result.table("latex")
    assert "a_b &amp; &lt;c&gt;" in result.table("html")
    assert r"p\|q" in result.table("markdown")


def test_plot_has_a_line_a_model():
    pytest.importorskip("matplotlib")
    (axes,) = small().plot().axes
    assert [line.get_label() for line in axes.lines] == ["zero", "one"]
    assert_allclose(axes.lines[1].get_ydata(), [11 / 3, 0.0])


# -------------------------------------------------------------------- no look-ahead

VECTORS = [
    Ridge(),
    LassoOne(),
    LassoAll(),
    RidgeOne(),
    RidgeAll(window=2),
    RidgeTS(max_iter=50),
    DriftRegressor(max_iter=30),
    DriftRegressor(prior="exact", max_iter=30),
    DriftRegressor(prior="variational", max_iter=30),
    make_pipeline(StandardScaler(), LassoAll(standardize=True)),
]


@pytest.mark.parametrize("tune", ["dev", "origin"])
@pytest.mark.parametrize("model", VECTORS, ids=lambda m: repr(m)[:40])
def test_nothing_after_a_step_moves_its_predictions(rng, model, tune):
    X, y, time = make_panel(rng)
    splitter = RollingOrigin(dev=2002, test=[2003, 2004, 2005])
    models = {"model": model}
    before = compare(models, X, y, time, splitter, tune=tune)
    late = time >= 2004
    # Of step 2004 itself the features are known when it is predicted, its target is not.
    noise = 50 * rng.normal(size=X.shape) + 7
    changed = np.where((time > 2004)[:, None], noise, X)
    wrong = np.where(late, 20 * noise[:, 0], y)
    after = compare(models, changed, wrong, time, splitter, tune=tune)
    known = before.codes <= 4
    assert (before.prediction["model"][known] == after.prediction["model"][known]).all()
    assert (before.prediction["model"][~known] != after.prediction["model"][~known]).any()


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
@pytest.mark.parametrize("final", [LassoAll, RidgeTS, DriftRegressor, Ridge])
def test_the_vocabulary_is_that_of_the_training_documents(rng, vectorizer, final):
    words = np.array(["oil", "loan", "war", "growth", "rate", "tax"])
    time = np.repeat(np.arange(2000, 2005), 30)
    texts = [" ".join(rng.choice(words, size=6)) for _ in time]
    y = np.array([text.count("war") for text in texts]) + 0.1 * rng.normal(size=time.size)
    model = make_pipeline(vectorizer(), final())
    splitter = RollingOrigin(n_test=2)
    before = compare({"m": model}, texts, y, time, splitter)
    late = [
        "new words in the last year" if t == 2004 else x for t, x in zip(time, texts, strict=True)
    ]
    after = compare({"m": model}, late, np.where(time == 2004, 9.0, y), time, splitter)
    known = before.codes == 3
    assert (before.prediction["m"][known] == after.prediction["m"][known]).all()


# -------------------------------------------------------------------- tuning


def test_a_grid_is_tuned_on_dev_or_at_every_origin(rng):
    X, y, time = make_panel(rng)
    grids = {"ridge": {"alpha": [1e-3, 1.0, 1e3, 1e6]}}
    splitter = RollingOrigin(dev=2002, test=[2003, 2004])

    def best(train, test):
        errors = [
            np.mean((y[test] - Ridge(alpha=a).fit(X[train], y[train]).predict(X[test])) ** 2)
            for a in grids["ridge"]["alpha"]
        ]
        return grids["ridge"]["alpha"][int(np.argmin(errors))]

    # The last step before 2004 is made hopeless, so that its own choice is the strongest.
    y[time == 2003] = -y[time == 2003]
    dev = compare({"ridge": Ridge()}, X, y, time, splitter, grids=grids)
    expected = best(time < 2002, time == 2002)
    assert dev.params["ridge"] == [{"alpha": expected}] * 2
    origin = compare({"ridge": Ridge()}, X, y, time, splitter, grids=grids, tune="origin")
    again = best(time < 2003, time == 2003)
    assert origin.params["ridge"] == [{"alpha": expected}, {"alpha": again}]
    assert again == 1e6 != expected
    final = Ridge(alpha=again).fit(X[time < 2004], y[time < 2004]).predict(X[time == 2004])
    assert_allclose(origin.prediction["ridge"][origin.codes == 4], final)


@pytest.mark.parametrize("maker", [RidgeOne, RidgeAll, LassoOne, LassoAll])
def test_a_baseline_tunes_itself_as_it_does_alone(rng, maker):
    """On the dev step with the steps before it, which is what strength=None means in fit."""
    X, y, time = make_panel(rng)
    known = time <= 2003
    alone = maker().fit(X[known], y[known], time=time[known])
    result = compare({"m": maker()}, X, y, time, RollingOrigin(dev=2003, test=[2004, 2005]))
    assert result.params["m"] == [{"strength": alone.strength_}] * 2
    assert_allclose(result.prediction["m"][result.codes == 4], alone.predict(X[time == 2004]))
    piped = compare(
        {"m": make_pipeline(StandardScaler(), maker())}, X, y, time, RollingOrigin(n_test=1)
    )
    (params,) = piped.params["m"]
    assert list(params) == [f"{maker.__name__.lower()}__strength"]


def test_a_lasso_of_scikit_learn_is_the_same_contestant(rng):
    X, y, time = make_panel(rng)
    models = {
        "ours": LassoAll(strength=8.0, tol=1e-10, standardize=False),
        "theirs": Lasso(**sklearn_penalty("Lasso", 8.0, int((time < 2005).sum())), tol=1e-10),
    }
    result = compare(models, X, y, time, RollingOrigin(n_test=1))
    assert_allclose(result.prediction["ours"], result.prediction["theirs"], atol=1e-6)


# -------------------------------------------------------------------- families


def test_classifiers_are_compared_by_log_loss(rng):
    X, y, time = make_panel(rng)
    classes = np.where(y > 0, "up", "down")
    models = {"lasso": LassoAll(family="binomial"), "logistic": LogisticRegression()}
    result = compare(models, X, classes, time, RollingOrigin(n_test=2))
    assert result.metric == "log_loss"
    probability = result.prediction["logistic"]
    expected = log_loss(result.y, np.column_stack([1 - probability, probability]))
    assert_allclose(result.table("frame").loc["overall", "logistic"], expected)
    with pytest.raises(DataError, match="within-step errors are squared"):
        result.table(metric="within")
    with pytest.raises(DataError, match="no loss in common"):
        compare(models | {"r": Ridge()}, X, classes, time, RollingOrigin(n_test=2))


def test_more_than_two_classes_and_a_class_not_seen_before(rng):
    X, y, time = make_panel(rng)
    classes = np.digitize(y, [-1, 1])
    classes[time < 2005] = np.minimum(classes[time < 2005], 1)
    result = compare({"m": LogisticRegression()}, X, classes, time, RollingOrigin(n_test=1))
    unseen = result.y == 2
    assert (result.prediction["m"][unseen] == 0).all()
    assert np.isfinite(result.loss["m"]).all()


def test_counts_are_compared_by_poisson_deviance(rng):
    X, y, time = make_panel(rng)
    exposure = rng.uniform(1, 3, size=y.size)
    counts = rng.poisson(exposure * np.exp(0.5 * X[:, 0])).astype(float)
    models = {"lasso": LassoAll(family="poisson"), "sklearn": PoissonRegressor()}
    result = compare(models, X, counts, time, RollingOrigin(n_test=2), exposure=exposure)
    assert result.metric == "poisson"
    expected = mean_poisson_deviance(result.y, result.prediction["lasso"])
    frame = result.table("frame")
    assert_allclose(frame.loc["overall", "lasso"], expected)
    assert frame.loc["overall", "lasso"] < frame.loc["overall", "sklearn"]  # knows the exposure
    with pytest.raises(DataError, match="'zero' predicts 0 where y is"):
        compare(
            {"zero": DummyRegressor(strategy="constant", constant=0.0)},
            X, counts, time, RollingOrigin(n_test=2), metric="poisson",
        )  # fmt: skip


def test_a_metric_of_ones_own(rng):
    X, y, time = make_panel(rng)

    def absolute(y, prediction):
        return np.abs(y - prediction)

    result = compare({"m": Ridge()}, X, y, time, RollingOrigin(n_test=1), metric=absolute)
    assert_allclose(result.loss["m"], np.abs(result.y - result.prediction["m"]))
    assert "absolute" in result.table()
    with pytest.raises(DataError, match="one loss per row"):
        compare(
            {"m": Ridge()}, X, y, time, RollingOrigin(n_test=1), metric=lambda y, p: np.mean(y - p)
        )


# -------------------------------------------------------------------- inputs


def test_kinds_of_input_agree(rng):
    X, y, time = make_panel(rng)
    splitter = RollingOrigin(n_test=1)
    models = {"m": LassoAll(), "drift": DriftRegressor(max_iter=20)}
    plain = compare(models, X, y, time, splitter)
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(y.size)[::-1])
    kinds = [
        (frame, pd.Series(y, index=frame.index), pd.Series(time, index=frame.index)),
        (sp.coo_matrix(X), y.tolist(), time.tolist()),
    ]
    for data in kinds:
        other = compare(models, *data, splitter)
        for name in models:
            assert_allclose(other.prediction[name], plain.prediction[name], rtol=1e-8)


def test_dates_need_a_freq_at_one_place_only(rng):
    X, y, time = make_panel(rng)
    dates = pd.to_datetime(time.astype(str)) + pd.to_timedelta(rng.integers(0, 300, y.size), "D")
    models = {"m": LassoOne(), "drift": DriftRegressor(max_iter=20)}
    by_date = compare(models, X, y, dates, RollingOrigin(n_test=2, freq="Y"))
    by_year = compare(models, X, y, time, RollingOrigin(n_test=2))
    for name in models:
        assert (by_date.prediction[name] == by_year.prediction[name]).all()
    assert [str(step) for step in by_date.steps] == ["2004", "2005"]
    sparse_years = compare(models, X, y, 5 * time, RollingOrigin(n_test=2, freq=5))
    assert (sparse_years.prediction["drift"] == by_year.prediction["drift"]).all()


def test_time_reaches_only_who_takes_it(rng):
    X, y, time = make_panel(rng)
    models = {
        "takes": make_pipeline(StandardScaler(), Shift()),
        "does not": make_pipeline(StandardScaler(), Ridge()),
        "wrapped": TransformedTargetRegressor(Ridge()),
    }
    result = compare(models, X, y, time, RollingOrigin(n_test=1))
    expected = y[time == 2004].mean()
    assert_allclose(result.prediction["takes"], expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": {}}, "at least one name"),
        ({"models": {"a": Ridge}}, "is the class Ridge"),
        ({"models": {"a": StandardScaler()}}, "has no predict"),
        ({"grids": {"b": {"alpha": [1]}}}, "grids names 'b'"),
        ({"grids": {"a": {"beta": [1]}}}, "'beta', which is no parameter"),
        ({"tune": "test"}, "tune='test'"),
        ({"metric": "mae"}, "metric='mae'"),
        ({"metric": "log_loss"}, "does not suit"),
        ({"y": Y[:-1]}, "y has 7 values for 8 rows"),
        ({"sample_weight": [1.0]}, "sample_weight has shape"),
        ({"time": None}, "time is None"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    arguments = {"models": {"a": Ridge()}, "X": X, "y": Y, "time": YEARS, "splitter": LAST_TWO}
    with pytest.raises(DataError, match=message):
        compare(**(arguments | changes))


def test_the_splitter_must_know_dev_and_test():
    with pytest.raises(TypeError, match="pass a RollingOrigin"):
        compare({"a": Ridge()}, X, Y, YEARS, 5)


def test_any_number_of_jobs_gives_the_same_digits(rng):
    X, y, time = make_panel(rng)
    models = {"lasso": LassoAll(), "ridge": RidgeAll(), "ts": RidgeTS(2.0, 0.9)}
    results = [
        compare(models, X, y, time, RollingOrigin(n_test=2), n_jobs=n_jobs) for n_jobs in (None, 2)
    ]
    for name in models:
        assert (results[0].prediction[name] == results[1].prediction[name]).all()


def test_what_fits_warn_of_is_kept(rng):
    X, y, time = make_panel(rng)
    models = {"short": Lasso(alpha=1e-9, max_iter=1), "fine": Ridge()}
    result = compare(models, X, y, time, RollingOrigin(n_test=1))
    assert result.warnings["fine"] == []
    assert "step 2005: ConvergenceWarning" in result.warnings["short"][0]


def test_a_bar_on_request_only(rng, capfd):
    X, y, time = make_panel(rng)
    compare({"m": Ridge()}, X, y, time, RollingOrigin(n_test=1))
    assert capfd.readouterr() == ("", "")
    compare({"m": Ridge()}, X, y, time, RollingOrigin(n_test=1), verbose=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "fitting" in err
    assert "1/1" in err


# -------------------------------------------------------------------- files


@pytest.mark.parametrize("kind", ["numbers", "classes", "dates"])
def test_a_saved_comparison_comes_back(rng, tmp_path, kind):
    X, y, time = make_panel(rng)
    models, splitter = {"m": LassoAll(), "n": RidgeAll()}, RollingOrigin(n_test=2)
    if kind == "classes":
        y = np.where(y > 0, "up", "down").astype(object)
        models = {name: model.set_params(family="binomial") for name, model in models.items()}
    if kind == "dates":
        time, splitter = pd.to_datetime(time.astype(str)), RollingOrigin(n_test=2, freq="Y")
    result = compare(models, X, y, time, splitter)
    result.save(tmp_path / "result.zip")
    again = Comparison.load(tmp_path / "result.zip")
    assert again.table() == result.table()
    assert again.params == result.params
    pd.testing.assert_frame_equal(again.significance(), result.significance())
    pd.testing.assert_frame_equal(again.predictions, result.predictions, check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == ["result.zip"]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "result.zip"
    small().save(path)
    whole = path.read_bytes()
    for damage in (whole[:-10], whole[: len(whole) // 2], b"", b"not a zip"):
        path.write_bytes(damage)
        with pytest.raises(DriftError, match=r"cannot be read|driftglm can use"):
            Comparison.load(path)
    with pytest.raises(FileNotFoundError):
        Comparison.load(tmp_path / "nothing.zip")


def correlated_classes(rng):
    """Four columns of correlation .95, two classes, three years."""
    time = np.repeat(np.arange(2003, 2006), 150)
    X = rng.normal(size=(time.size, 1)) + 0.25 * rng.normal(size=(time.size, 4))
    y = rng.random(time.size) < 1 / (1 + np.exp(-X @ [3.0, -3.0, 2.0, 2.0]))
    return X, y, time


@pytest.mark.parametrize("transformed", [False, True])
def test_warnings_about_columns_have_their_names(rng, transformed):
    X, y, time = correlated_classes(rng)
    names, model = ["red", "green", "blue", "grey"], DriftClassifier(extrapolate="forecast")
    given = X
    if transformed:
        given = pd.DataFrame(X, columns=names)
        model = Pipeline([("scaler", StandardScaler()), ("model", model)])
    found = compare(
        {"one": model}, given, y, time, RollingOrigin(n_test=1),
        feature_names=None if transformed else names,
    )  # fmt: skip
    said = " ".join(found.warnings["one"])
    assert "intervals are too narrow for" in said
    assert "'red'" in said
    assert "x0" not in said


def test_names_must_be_as_many_as_columns(rng):
    X, y, time = correlated_classes(rng)
    with pytest.raises(DataError, match=r"feature_names has 1 names for X of shape \(450, 4\)"):
        compare({"one": RidgeAll()}, X, y, time, RollingOrigin(n_test=1), feature_names=["red"])
