"""Figures of models: they show the numbers given, names as they are, and leave no trace behind."""

import io
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import driftglm
from driftglm import DriftClassifier, DriftRegressor, DriftTextModel, plots
from driftglm.baselines import RidgeAll, RidgeTS
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError
from driftglm.plots.style import COLOURS, shown
from driftglm.simulate import simulate_text

NAMES = ["tax_rate^2", "$x$ and $y$", r"\$100", "größe", "{a}_{b}", "x" * 200]
YEARS = np.repeat(np.arange(2001, 2006), 30)
rng = np.random.default_rng(1)
X = pd.DataFrame(rng.normal(size=(150, 6)), columns=NAMES)
ETA = ((YEARS - 2003) * X.iloc[:, 1] + X.iloc[:, 3]).to_numpy()


@pytest.fixture(scope="module")
def model():
    return DriftRegressor(max_iter=100).fit(X, ETA + 0.3 * rng.normal(size=150), time=YEARS)


@pytest.fixture(scope="module")
def classes():
    y = np.array(["low", "$mid$", "high"])[np.digitize(ETA, [-1.0, 1.0])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DriftClassifier(max_iter=5).fit(X, y, time=YEARS)


def test_paths_show_the_coefficients_and_bands_of_90_percent(drawn_texts, model):
    figure = model.plot_paths(features=["größe", 1])
    assert len(figure.axes) == 2
    lower, upper = model.coef_interval(0.9)
    for axes, j in zip(figure.axes, (3, 1), strict=True):
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), model.coef_path_[:, j])
        (band,) = axes.collections
        low, high = (
            band.get_paths()[0].vertices[:, 1].min(),
            band.get_paths()[0].vertices[:, 1].max(),
        )
        np.testing.assert_allclose([low, high], [lower[:, j].min(), upper[:, j].max()], rtol=1e-6)
    assert {"größe", "$x$ and $y$", "2001", "2005", "coefficient"} <= drawn_texts(figure)


def test_the_most_important_features_come_first(model):
    titles = [axes.get_title(loc="left") for axes in model.plot_paths(top=3).axes]
    assert titles == [shown(name, 30) for name in model.summary()["feature"][:3]]
    assert len(model.plot_paths(top=50).axes) == 6


def test_names_are_shown_as_they_are(drawn_texts, model, classes):
    for name in NAMES[:-1]:
        assert name in drawn_texts(model.plot_paths(features=name))
    for figure in (
        model.plot_heatmap(),
        model.plot_autocorrelation(),
        classes.plot_heatmap(),
        model.plot_paths(feature_names=[f"${i}_^" for i in range(6)]),
    ):
        assert len(drawn_texts(figure)) > 6
    assert "$mid$" in drawn_texts(classes.plot_paths())
    assert max(map(len, drawn_texts(model.plot_heatmap()))) < 40


def test_a_feature_that_is_likely_zero_is_grey(model):
    included = model.inclusion_probability_ >= 0.5
    assert included.any()
    assert not included.all()
    figure = model.plot_paths(features=range(6))
    colours = [axes.lines[0].get_color() for axes in figure.axes]
    assert [colour == COLOURS[0] for colour in colours] == included.tolist()


def test_classes_are_lines_and_panels(drawn_texts, classes):
    figure = classes.plot_paths(top=2)
    assert [len(axes.lines) for axes in figure.axes] == [4, 4]  # three classes and zero
    heat = classes.plot_heatmap(features=[2, 0])
    assert len(heat.axes) == 4  # three classes and the colours
    np.testing.assert_array_equal(
        heat.axes[1].images[0].get_array(), classes.coef_path_[:, 1, [2, 0]].T
    )
    rows = drawn_texts(classes.plot_autocorrelation(top=2))
    assert any(row.endswith(": $mid$") for row in rows)


def test_first_in_a_class_where_all_is_zero_is_no_merit(classes):
    best = classes.summary().query("inclusion_probability >= 0.5")["feature"]
    shown_first = classes.plot_paths(top=1).axes[0].get_title(loc="left")
    assert shown_first in {shown(name, 30) for name in best}


@pytest.mark.parametrize("prior", ["exact", "fixed"])
def test_a_mode_has_no_bands_and_one_step_is_a_dot(drawn_texts, prior, model):
    y = model.predict(X)
    mode = DriftRegressor(prior=prior).fit(X, y)
    for figure in (mode.plot_paths(), mode.plot_heatmap(), mode.plot_autocorrelation()):
        drawn_texts(figure)
    assert all(not axes.collections for axes in mode.plot_paths().axes)
    one = DriftRegressor().fit(X, y).plot_paths(top=1)
    assert one.axes[0].lines[0].get_xdata().size == 1
    assert one.axes[0].lines[0].get_marker() == "o"


def test_ridge_over_time_can_be_drawn_by_its_attributes_alone(drawn_texts):
    ridge = RidgeTS(strength=1.0, autocorrelation=0.9).fit(X, ETA, time=YEARS)
    assert len(plots.plot_paths(ridge, top=2).axes) == 2
    assert plots.plot_paths(ridge).axes[0].get_title(loc="left") == shown(NAMES[1])
    drawn_texts(plots.plot_heatmap(ridge))
    with pytest.raises(DataError, match="no autocorrelation of every feature"):
        plots.plot_autocorrelation(ridge)


def test_words_and_comparisons_use_the_same_style(drawn_texts):
    text = simulate_text(n_words=30, n_effects=2, random_state=0)
    names = [f"w_{j}$" for j in range(30)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = DriftTextModel(vocabulary=names, max_iter=3).fit(
            text.counts, text.effects, time=text.time
        )
        result = compare(
            {"a_$1$": RidgeAll(strength=1.0), "b": RidgeAll(strength=9.0)},
            X, ETA, YEARS, RollingOrigin(n_test=2),
        )  # fmt: skip
    figure = plots.plot_words(fitted, 0, words=["w_3$", "w_5$"])
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), fitted.coef_path_[:, 0, 3])
    assert {"w_3$", "w_5$", "words of x0"} <= drawn_texts(figure)
    drawn_texts(fitted.plot_words(1, words=[]))
    figure = plots.plot_comparison(result, metric="within")
    assert {"a_$1$", "b", "2004", "2005", "step"} <= drawn_texts(figure)
    assert figure.axes[0].lines[0].get_color() == COLOURS[0]
    with pytest.raises(DataError, match="use plot_words"):
        plots.plot_paths(fitted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": "nope"}, "features has 'nope', but the model has 6 features"),
        ({"features": 6}, "features has 6"),
        ({"features": []}, "names no feature"),
        ({"features": [True, False]}, "features has True"),
        ({"top": 0}, "top=0"),
        ({"feature_names": ["a"]}, "has 1 names but the model has 6"),
        ({"features": [0] * 61}, "61 features are too many panels"),
    ],
)
def test_what_cannot_be_drawn_says_so(model, change, message):
    with pytest.raises(DataError, match=message):
        model.plot_paths(**change)


def test_features_may_be_a_mask(model):
    mask = np.array([False, True, False, True, False, False])
    titles = [axes.get_title(loc="left") for axes in model.plot_paths(features=mask).axes]
    assert titles == [shown(NAMES[1]), shown(NAMES[3])]


def test_a_model_that_is_not_fitted_says_so():
    for method in ("plot_paths", "plot_heatmap", "plot_autocorrelation", "to_xarray"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(DriftRegressor(), method)()
    with pytest.raises(DataError, match="RidgeAll has no paths"):
        plots.plot_paths(RidgeAll())


def test_drawing_changes_no_setting_and_opens_no_window(model):
    before = dict(mpl.rcParams)
    for figure in (model.plot_paths(), model.plot_heatmap()):
        figure.savefig(io.BytesIO(), format="pdf")
    assert dict(mpl.rcParams) == before
    lines = [
        "import io, numpy as np, sys",
        "from driftglm.plots import figures",
        "assert 'matplotlib' not in sys.modules",
        "figures.paths([1, 2], np.zeros((2, 1, 1)), ['a']).savefig(io.BytesIO())",
        "assert 'matplotlib.pyplot' not in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)  # noqa: S603


@pytest.mark.parametrize(
    ("call", "extra"),
    [("plot_paths", r"driftglm\[plot\]"), ("to_xarray", r"driftglm\[xarray\]")],
)
def test_a_missing_library_names_its_extra(model, call, extra, monkeypatch):
    for name in ("matplotlib.figure", "xarray"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(driftglm.exceptions.DriftError, match=extra):
        getattr(model, call)()


def test_figures_of_the_wrong_object_say_what_to_pass(model):
    with pytest.raises(DataError, match="pass what evaluation"):
        plots.plot_comparison(model)
    with pytest.raises(DataError, match="pass a fitted DriftTextModel"):
        plots.plot_words(model, "x")
