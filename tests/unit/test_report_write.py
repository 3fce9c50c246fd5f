"""The report as a file: its content, its safety, its size; tests/browser opens it."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from driftglm import DriftRegressor, DriftTextModel
from driftglm.baselines import LassoAll, RidgeAll
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError
from driftglm.report import write_report
from driftglm.report.encode import floats
from driftglm.simulate import simulate_text
from driftglm.tables import Table, TableSpec, fit_table

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


def test_the_model_of_a_table_knows_the_reference_of_its_levels(tmp_path):
    X, y, time = rows(n_features=1)
    colour = np.array(["red", "red", "<b>blue"])[np.arange(y.size) % 3]
    frame = pd.DataFrame({"y": y, "year": time, "size": X[:, 0], "colour": colour})
    found = fit_table(Table(frame), TableSpec(target="y", time="year"), family="gaussian")
    part = read(write_report(tmp_path / "r.html", model=found)).content["model"]
    assert dict(zip(part["names"], part["references"], strict=True)) == {
        "size": None,
        "colour=<b>blue": "colour=red",
    }


def test_text_models_have_no_parts_that_are_for_features(tmp_path, text_model, model):
    content = read(write_report(tmp_path / "t.html", model=text_model)).content
    assert "fit" not in content
    assert content["model"]["unitNoun"] == ""
    fit = read(write_report(tmp_path / "m.html", model=model)).content["fit"]
    assert fit["intercept"] is not None
    assert (fit["scoreName"], fit["lossName"]) == ("R\u00b2", "mean squared error")


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


def test_numbers_json_does_not_have_do_not_break_it(tmp_path, comparison):
    X, y, time = rows()
    model = DriftRegressor().fit(X, y, time=time)
    model.coef_path_[1, 0], model.coef_path_[2, 0] = np.nan, np.inf
    content = read(write_report(tmp_path / "r.html", model=model, comparison=comparison)).content
    paths = decode(content["model"]["path"])
    assert np.isnan(paths).sum() == 1
    assert np.isinf(paths).sum() == 1
    assert np.isinf(decode(floats([np.inf, 1e300]))).tolist() == [True, False]


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
