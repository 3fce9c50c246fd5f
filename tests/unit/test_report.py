"""The report as a file: its content, its safety, its size; tests/browser opens it."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor, DriftTextModel
from driftglm.baselines import LassoAll, RidgeAll
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError
from driftglm.report import write_report
from driftglm.report.encode import floats, page_json, significant
from driftglm.report.paths import PathRows
from driftglm.report.write import page
from driftglm.simulate import simulate_text

ODD = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "{{7*7}}",
    "__proto__",
    "",
    "twice",
    "%%DATA%%",
    "n" * 500,
    "\u202e\u05d9\u05d7\u05e1 \u05d7\u05d5\u05d1\u202c",
    "line\u2028break\u2029 & 'quote' \"double\" \\u003c \ud800",
]
LIMIT = 8_000_000


class Page(HTMLParser):
    """Tags, attributes and script texts of a page, as a parser of HTML sees them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.scripts, self.inside, self.attributes = [], [], False, []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append([dict(attrs), ""])

    def handle_endtag(self, tag):  # noqa: ARG002
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1][1] += data

    @property
    def content(self):
        texts = [text for attrs, text in self.scripts if attrs.get("id") == "report-data"]
        assert len(texts) == 1
        return json.loads(texts[0], parse_constant=pytest.fail)


def read(path):
    return Page(path.read_bytes().decode("utf-8"))


def decode(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def rows(n_features=4, n_steps=4, n=30, seed=0):
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(2001, 2001 + n_steps), n)
    X = rng.normal(size=(time.size, n_features))
    y = X[:, 0] * np.where(time % 2, 1.5, 0.5) + 0.3 * rng.normal(size=time.size)
    return X, y, time


@pytest.fixture(scope="module")
def model():
    X, y, time = rows(n_features=len(ODD))
    return DriftRegressor().fit(X, y, time=time)


@pytest.fixture(scope="module")
def comparison():
    X, y, time = rows(n_steps=5)
    models = {ODD[0]: DriftRegressor(), "ridge": RidgeAll(strength=1.0), "": LassoAll(strength=9.0)}
    return compare(models, X, y, time, RollingOrigin(n_test=2))


@pytest.fixture(scope="module")
def text_model():
    text = simulate_text(n_words=len(ODD), n_effects=2, words_per_effect=3, random_state=0)
    words = [name or "empty" for name in ODD]
    effects = pd.DataFrame(text.effects, columns=ODD[:2])
    return DriftTextModel(vocabulary=words).fit(text.counts, effects, time=text.time)


def test_names_from_outside_come_back_as_they_were_and_add_no_markup(tmp_path, model, comparison):
    plain = read(write_report(tmp_path / "plain.html", model=model, comparison=comparison))
    path = write_report(
        tmp_path / "odd.html",
        model=model,
        comparison=comparison,
        title=ODD[1],
        sentence=ODD[0],
        settings={ODD[1]: ODD[0], "__proto__": ODD[9]},
        feature_names=ODD,
    )
    odd = read(path)
    assert odd.tags == plain.tags
    assert [a for a in odd.attributes if a[1].startswith("on")] == []
    assert sorted(odd.content["model"]["names"]) == sorted(ODD)
    assert (odd.content["title"], odd.content["sentence"]) == (ODD[1], ODD[0])
    assert odd.content["comparison"]["models"] == [ODD[0], "ridge", ""]
    given = odd.content["facts"][0]["rows"]
    assert given == [[ODD[1], ODD[0]], ["__proto__", ODD[9]]]


def test_words_and_effects_from_outside_come_back_as_they_were(tmp_path, text_model):
    content = read(write_report(tmp_path / "r.html", model=text_model)).content
    assert set(content["model"]["names"]) <= {name or "empty" for name in ODD}
    assert content["model"]["groups"] == ODD[:2]


def test_json_for_a_script_element_has_no_way_out_of_it():
    text = page_json(ODD)
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)
    assert json.loads(text) == ODD


def test_features_of_the_same_name_keep_their_own_numbers(tmp_path, model):
    names = ["same"] * len(ODD)
    found = read(write_report(tmp_path / "r.html", model=model, feature_names=names)).content
    part = found["model"]
    assert part["names"] == names
    order = model.summary([str(i) for i in range(len(ODD))])["feature"].astype(int)
    expected = model.coef_path_.T[order]
    paths = decode(part["path"]).reshape(expected.shape)
    np.testing.assert_allclose(paths, expected, rtol=1e-6)


def test_intervals_of_the_page_are_those_of_the_model(tmp_path, model):
    part = read(write_report(tmp_path / "r.html", model=model)).content["model"]
    order = model.summary([str(i) for i in range(len(ODD))])["feature"].astype(int)
    upper = (decode(part["path"]) + decode(part["reach"])).reshape(len(ODD), -1)
    np.testing.assert_allclose(upper, model.coef_interval(0.9)[1].T[order], rtol=1e-5, atol=1e-7)


def test_the_same_input_gives_the_same_bytes(tmp_path, model, comparison):
    first, second = (
        write_report(tmp_path / f"{k}.html", model=model, comparison=comparison).read_bytes()
        for k in "ab"
    )
    assert first == second


def test_parts_without_data_are_left_out(tmp_path, model, comparison):
    only_model = read(write_report(tmp_path / "m.html", model=model)).content
    only_comparison = read(write_report(tmp_path / "c.html", comparison=comparison)).content
    assert "comparison" not in only_model
    assert "model" not in only_comparison
    titles = [part["title"] for part in only_comparison["facts"]]
    assert titles == ["Comparison", "Versions"]


def test_a_mode_has_paths_but_no_intervals(tmp_path):
    X, y, time = rows()
    model = DriftRegressor(prior="exact").fit(X, y, time=time)
    part = read(write_report(tmp_path / "r.html", model=model)).content["model"]
    assert part["reach"] is None
    assert "lower" not in part["columns"]
    assert decode(part["path"]).size == 4 * 4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_groups_only_if_there_are_more_than_two(tmp_path, n_classes):
    X, y, time = rows()
    labels = np.array(["<b>a</b>", "b", "c"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    model = DriftClassifier().fit(X, labels, time=time)
    part = read(write_report(tmp_path / "r.html", model=model)).content["model"]
    assert part["groups"] == ([""] if n_classes == 2 else ["<b>a</b>", "b", "c"])
    assert part["nRows"] == X.shape[1] * len(part["groups"])
    group, name = decode(part["group"], "<i4"), decode(part["name"], "<i4")
    path = model.coef_path_.reshape(4, len(part["groups"]), 4)
    feature = [int(part["names"][k][1:]) for k in name]
    np.testing.assert_allclose(
        decode(part["path"]).reshape(-1, 4), path[:, group, feature].T, rtol=1e-6
    )


def test_counts_by_quarter_are_labelled_by_quarter(tmp_path):
    X, y, time = rows()
    quarters = pd.PeriodIndex.from_ordinals(time - 2001 + 200, freq="Q")
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * y))
    model = DriftPoissonRegressor(freq="Q").fit(X, counts, time=quarters)
    part = read(write_report(tmp_path / "r.html", model=model)).content["model"]
    assert part["steps"] == ["2020Q1", "2020Q2", "2020Q3", "2020Q4"]


@pytest.mark.parametrize(("n_features", "n_steps", "n"), [(1, 1, 20), (3, 200, 4)])
def test_one_step_and_many_steps_are_both_fine(tmp_path, n_features, n_steps, n):
    X, y, time = rows(n_features, n_steps, n)
    time = None if n_steps == 1 else time
    model = DriftRegressor(tol=0.1).fit(X, y, time=time)
    part = read(write_report(tmp_path / "r.html", model=model)).content["model"]
    assert len(part["steps"]) == n_steps
    assert (part["autocorrelation"] is None) == (n_steps == 1)


def test_numbers_json_does_not_have_do_not_break_it(tmp_path, comparison):
    X, y, time = rows()
    model = DriftRegressor().fit(X, y, time=time)
    model.coef_path_[1, 0], model.coef_path_[2, 0] = np.nan, np.inf
    content = read(write_report(tmp_path / "r.html", model=model, comparison=comparison)).content
    paths = decode(content["model"]["path"])
    assert np.isnan(paths).sum() == 1
    assert np.isinf(paths).sum() == 1
    assert np.isinf(decode(floats([np.inf, 1e300]))).tolist() == [True, False]


def test_the_headline_names_the_winner_its_lead_and_whether_it_is_chance(tmp_path, comparison):
    found = read(write_report(tmp_path / "r.html", comparison=comparison)).content["comparison"]
    overall = comparison.table("frame").iloc[-1].sort_values()
    best, second = overall.index[:2]
    headline = found["headline"]
    assert headline[0] == [best]
    assert [second] in headline
    text = "".join(part if isinstance(part, str) else part[0] for part in headline)
    lead = 100 * (overall[second] - overall[best]) / overall[second]
    assert f"{significant(lead, 2)} % below" in text
    tests = comparison.significance(baseline=best).set_index("model")["p_holm"]
    assert ("not significant" in text) == (tests[second] >= 0.05)
    p = dict(zip(found["models"], found["p"], strict=True))
    assert p == {best: None} | tests.to_dict()


def test_a_mean_won_by_few_rows_is_told_from_one_won_by_most(tmp_path):
    X, y, time = rows(n_steps=3, n=60)
    found = compare(
        {"a": RidgeAll(strength=1.0), "b": LassoAll(strength=1.0)},
        X,
        y,
        time,
        RollingOrigin(n_test=1),
    )
    # b is a little better on all rows but one, where it is much worse.
    found.loss["a"][:] = 1.0 + 1e-3 * np.arange(60)
    found.loss["b"][:] = 0.9 + 1e-3 * np.arange(60)
    found.loss["b"][0] = 100.0
    part = read(write_report(tmp_path / "r.html", comparison=found)).content["comparison"]
    text = "".join(part if isinstance(part, str) else part[0] for part in part["headline"])
    assert part["headline"][0] == ["a"]
    assert "more of the rows favour b" in text
    assert part["favours"] == [0.0, -1.0]


def test_forecasts_of_two_classes_are_compared_with_the_share_of_the_second(tmp_path):
    X, y, time = rows(n_steps=5, n=40)
    labels = np.where(y > 0, "up", "down")
    found = compare({"drift": DriftClassifier()}, X, labels, time, RollingOrigin(n_test=2))
    part = read(write_report(tmp_path / "r.html", comparison=found)).content["comparison"]
    forecasts = part["forecasts"]
    assert forecasts["what"] == "share of up"
    total = sum(tenth[1] * tenth[4] for tenth in forecasts["bins"][0])
    assert total == pytest.approx((found.y == "up").sum())


def test_forecasts_of_three_classes_or_of_documents_are_no_values_to_plot(tmp_path):
    X, y, time = rows(n_steps=4, n=40)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    found = compare({"drift": DriftClassifier()}, X, labels, time, RollingOrigin(n_test=1))
    part = read(write_report(tmp_path / "r.html", comparison=found)).content["comparison"]
    assert part["forecasts"] is None


def test_many_forecasts_are_sampled_and_their_means_are_of_all_rows(tmp_path):
    X, y, time = rows(n_steps=3, n=3000)
    found = compare({"ridge": RidgeAll(strength=1.0)}, X, y, time, RollingOrigin(n_test=1))
    part = read(write_report(tmp_path / "r.html", comparison=found)).content["comparison"]
    forecasts = part["forecasts"]
    assert (forecasts["nPoints"], forecasts["nRows"]) == (2000, 3000)
    chosen = decode(forecasts["row"], "<i4")
    np.testing.assert_allclose(decode(forecasts["actual"]), y[chosen], rtol=1e-6)
    assert sum(tenth[4] for tenth in forecasts["bins"][0]) == 3000


class BigTextModel(DriftTextModel):
    """A fitted text model of any size, without the time to fit one."""

    def __init__(self, *, shape=(10, 50, 5000)):
        super().__init__()
        self.shape = shape

    def grow(self):
        rng = np.random.default_rng(0)
        n_steps, n_effects, n_words = self.shape
        self.coef_path_ = rng.normal(size=self.shape)
        self.inclusion_probability_ = rng.random((n_effects, n_words))
        self.vocabulary_ = np.array([f"some word {j}" for j in range(n_words)], dtype=object)
        self.base_background_ = np.zeros((n_steps, n_words))
        self.timesteps_, self.n_features_in_ = np.arange(n_steps), n_effects
        self.n_contexts_, self.n_iter_, self.converged_ = 1, 1, True
        self.stop_reason_, self.objective_history_ = "converged", np.zeros(1)
        return self

    @property
    def coef_std_path_(self):
        return np.abs(self.coef_path_)


def test_a_large_text_model_keeps_the_best_words_of_every_effect_and_says_so(tmp_path):
    model = BigTextModel().grow()
    path = write_report(tmp_path / "r.html", model=model)
    assert path.stat().st_size < LIMIT
    part = read(path).content["model"]
    assert 10_000 < part["nPaths"] < 250_000
    assert str(f"{part['nPaths']:,}") in " ".join(part["leftOut"])
    shares = np.bincount(decode(part["group"], "<i4")[: part["nPaths"]], minlength=50)
    assert shares.max() - shares.min() <= 1
    chosen = model.inclusion_probability_ >= 0.5
    assert part["included"] == chosen.sum()
    assert decode(part["kind"], "<i4")[:500].all()


def many(names, n_steps):
    """Rows of so many features as there are names."""
    n = len(names)
    place = np.arange(n)
    return PathRows(
        noun="feature",
        group_noun=None,
        groups=[""],
        names=names,
        name=place,
        group=np.zeros(n, dtype=int),
        kind=np.ones(n, dtype=int),
        kinds=["zero", "static"],
        columns={key: place.astype(float) for key in ("first", "last", "next", "change")},
        path=np.zeros((n, n_steps)),
        reach=np.ones((n, n_steps)),
        steps=[str(t) for t in range(n_steps)],
    )


@pytest.mark.parametrize(
    ("letters", "n_steps", "all_rows", "all_paths"),
    [(20, 10, True, True), (20, 200, True, False), (500, 10, False, False)],
)
def test_ten_thousand_features_stay_below_the_limit(letters, n_steps, all_rows, all_paths):
    accents = "\u00e9" * (letters - 5)
    content = many([f"{i:05d}{accents}" for i in range(10_000)], n_steps).content()
    html = page({"title": "", "model": content}).encode()
    assert len(html) < LIMIT / (2 if all_paths else 1)
    assert (content["nRows"] == 10_000) == all_rows
    assert (content["nPaths"] == 10_000) == all_paths
    assert (content["leftOut"] == []) == all_paths
    assert decode(content["path"]).size == content["nPaths"] * n_steps
    assert content["nPaths"] > 300


def test_the_page_forbids_the_network_and_code_made_of_text(tmp_path, model):
    page = read(write_report(tmp_path / "r.html", model=model))
    policies = [value for tag, name, value in page.attributes if (tag, name) == ("meta", "content")]
    policy = next(value for value in policies if "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    addresses = [a for a in page.attributes if a[1] in {"src", "href"}]
    assert addresses == [("a", "href", "#content")]
    bundle = next(text for attrs, text in page.scripts if attrs.get("id") == "bundle")
    assert len(bundle.encode()) < 1_500_000


def test_wrong_input_is_refused_with_what_to_do(tmp_path, model):
    path = tmp_path / "r.html"
    with pytest.raises(DataError, match="pass model=, comparison= or both"):
        write_report(path)
    with pytest.raises(TypeError, match="Of a pipeline pass the last step"):
        write_report(path, model=make_pipeline(Ridge()))
    with pytest.raises(TypeError, match="comparison is a dict"):
        write_report(path, comparison={})
    with pytest.raises(NotFittedError):
        write_report(path, model=DriftRegressor())
    with pytest.raises(DataError, match="2 names but the model has 10 features"):
        write_report(path, model=model, feature_names=["a", "b"])
    with pytest.raises(DataError, match="top=0"):
        write_report(path, model=model, top=0)
    with pytest.raises(TypeError, match="settings is a list"):
        write_report(path, model=model, settings=["a"])
    with pytest.raises(DataError, match=r"is a folder; name a file in it, e\.g\."):
        write_report(tmp_path, model=model)
    with pytest.raises(DataError, match="nowhere does not exist; create it"):
        write_report(tmp_path / "nowhere" / "r.html", model=model)
    assert list(tmp_path.iterdir()) == []


def test_settings_of_any_kind_become_short_text(tmp_path, model):
    settings = {"array": np.zeros(5000), "long": "x" * 10_000, "object": object, 3: None}
    facts = read(write_report(tmp_path / "r.html", model=model, settings=settings)).content["facts"]
    shown = dict(facts[0]["rows"])
    assert shown["array"] == "ndarray of 5,000"
    assert len(shown["long"]) == 300
    assert shown["3"] == "None"
    fitted = dict(next(part for part in facts if part["title"] == "Fit")["rows"])
    assert fitted["timesteps"] == "4, 2001 to 2004"
    assert fitted["converged"] == "yes"


def test_the_scatter_of_a_model_is_shown_under_its_own_name(tmp_path):
    X, y, time = rows()
    counts = np.random.default_rng(1).negative_binomial(2, 0.2, size=y.size)
    of_counts = DriftPoissonRegressor().fit(X, counts, time=time)
    assert of_counts.dispersion_ > 2
    facts = read(write_report(tmp_path / "r.html", model=of_counts)).content["facts"]
    shown = dict(facts[0]["rows"])
    assert shown["dispersion (variance over mean)"] == significant(of_counts.dispersion_, 4)
    assert "noise variance" not in shown
    of_numbers = DriftRegressor().fit(X, y, time=time)
    facts = read(write_report(tmp_path / "s.html", model=of_numbers)).content["facts"]
    shown = dict(facts[0]["rows"])
    assert shown["noise variance"] == significant(of_numbers.noise_variance_, 4)
    assert not any("dispersion" in name for name in shown)
