"""A browser, and reports to open in it."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftClassifier, DriftRegressor, DriftTextModel
from driftglm.baselines import LassoAll, RidgeAll
from driftglm.evaluation import RollingOrigin, compare
from driftglm.report import write_report
from driftglm.simulate import simulate_panel, simulate_text
from driftglm.tables import TableEncoder, TableModel, TableSpec
from driftglm.tables.encoder import Column

ODD = [
    "<script>window.hacked=1</script>",
    "</script><img src=x onerror='window.hacked=2'>",
    "{{7*7}}",
    "__proto__",
    "",
    "twice",
    "twice",
    "n" * 500,
    "\u202e\u05d9\u05d7\u05e1 \u05d7\u05d5\u05d1 \u05dc\u05d4\u05d5\u05df\u202c",
    "a.b[0]['c'] \\u003cb\\u003e &lt;i&gt;",
]
ARGUMENTS = [
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    """Chromium, or a skip that says what is missing; a failure where it must be there."""
    path = os.environ.get("DRIFTGLM_CHROMIUM") or shutil.which("chromium")
    missing = [] if path else ["chromium on the path, or its place in DRIFTGLM_CHROMIUM"]
    try:
        from playwright import sync_api as driver
    except ImportError:
        missing.append("the package playwright")
    if missing:
        required = os.environ.get("DRIFTGLM_BROWSER") == "required"
        (pytest.fail if required else pytest.skip)(f"needs {' and '.join(missing)}")
    # Its sandbox cannot be made by root.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with driver.sync_playwright() as player:
        chromium = player.chromium.launch(executable_path=path, args=ARGUMENTS + root)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def artifacts():
    """Where screenshots are kept."""
    root = Path(__file__).parents[2]
    folder = Path(os.environ.get("DRIFTGLM_ARTIFACTS", root / "build" / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Visit:
    """A page, and all it asked for or complained of."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("console", self._console)
        self.page.goto(Path(path).as_uri())
        self.page.wait_for_selector("html[data-ready=yes]")

    def _console(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def see_all(self):
        """Scroll through the page until every plot is drawn."""
        for plot in self.page.query_selector_all(".plot"):
            plot.scroll_into_view_if_needed()
            self.page.wait_for_function(
                "host => host.dataset.drawn || host.querySelector('p')", arg=plot, timeout=20_000
            )
        self.page.evaluate("scrollTo({top: 0, behavior: 'instant'})")


@pytest.fixture
def visit(browser):
    """Open a report; what it asks of the network or complains of fails the test."""
    visits = []

    def start(path, **context):
        visits.append(Visit(browser, path, **context))
        return visits[-1]

    yield start
    for each in visits:
        each.context.close()
        assert each.complaints == []
        outside = [u for u in each.requests if not u.startswith(("file:", "data:", "blob:"))]
        assert outside == []


@pytest.fixture(scope="session")
def panel():
    """Rows of a drifting world with odd names among their features."""
    made = simulate_panel(
        n_timesteps=8, rows_per_step=60, n_features=40, n_active=8, random_state=1
    )
    # The odd names go to the features that matter, so that plots show them.
    size = np.abs(made.coef_path).sum(axis=0)
    names = np.array([f"feature {i:02d}" for i in range(40)], dtype=object)
    names[np.argsort(-size)[: len(ODD)]] = ODD
    return pd.DataFrame(made.X, columns=names), made.y, made.time + 2001


@pytest.fixture(scope="session")
def comparison(panel):
    X, y, time = panel
    models = {
        ODD[0]: DriftRegressor(),
        "ridge": RidgeAll(strength=1.0),
        ODD[1]: LassoAll(strength=1.0),
    }
    return compare(models, X.to_numpy(), y, time, RollingOrigin(n_test=2))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


def with_record(model, y, prediction, time):
    """The model with a record of its rows and findings, odd ones, of its own."""

    def by_step(values):
        return np.bincount(time - time.min(), values)

    error = y - prediction
    model._checks = SimpleNamespace(
        deviance=by_step(error**2),
        null_deviance=by_step((y - y.mean()) ** 2),
        rows=by_step(np.ones(y.size)),
        codes=time - time.min(),
        residual=2 * error / error.std(),  # as if intervals were half as wide as they should be
        sample=lambda: np.arange(y.size),
    )
    findings = {"check": "wild step", "finding": ODD[0], "advice": ODD[1], "severity": "major"}
    model.diagnose = lambda: pd.DataFrame([findings, findings | {"check": "tails"}])
    return model


@pytest.fixture(scope="session")
def report(folder, panel, comparison):
    """A model and a comparison, every name of theirs odd."""
    X, y, time = panel
    model = DriftRegressor().fit(X.to_numpy(), y, time=time)
    with_record(model, y, model.predict(X.to_numpy(), time=time), time)
    return write_report(
        folder / "report.html",
        model=model,
        comparison=comparison,
        feature_names=list(X.columns),
        title=ODD[1],
        sentence=ODD[0],
        settings={ODD[0]: ODD[1]},
    )


@pytest.fixture(scope="session")
def scaled_report(folder):
    """A drifting column on a large scale, one that changes sign, and levels with a reference."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(2001, 2011), 80)
    X = rng.normal(size=(time.size, 5))
    X[:, 2:4] = np.eye(3)[rng.integers(0, 3, time.size), 1:]
    drift = (time - 2001) / 9
    y = (1 + drift) * X[:, 0] + (1 - 2 * drift) * X[:, 1] + X[:, 2] - X[:, 3]
    X[:, 0] = 5000 + 1000 * X[:, 0]
    model = DriftRegressor().fit(X, 100 + y + 0.5 * rng.normal(size=y.size), time=time)
    columns = [Column("income", "number"), Column("trend", "number")]
    columns += [Column("colour", "levels", (ODD[0], "blue", "green")), Column("noise", "number")]
    encoder = TableEncoder(TableSpec(), tuple(columns))
    found = TableModel(encoder, model)
    return write_report(folder / "scaled.html", model=found, feature_names=encoder.feature_names)


@pytest.fixture(scope="session")
def text_report(folder):
    text = simulate_text(n_words=60, n_effects=3, random_state=0)
    words = [f"word {j}" for j in range(60)]
    strongest = np.argsort(-np.abs(text.coef_path).sum(axis=(0, 1)))
    odd = list(dict.fromkeys(name or "empty" for name in ODD))
    for j, name in zip(strongest, odd, strict=False):
        words[j] = name
    effects = pd.DataFrame(text.effects, columns=[ODD[0], ODD[8], "place"])
    model = DriftTextModel(vocabulary=words).fit(text.counts, effects, time=text.time)
    return write_report(folder / "text.html", model=model)


@pytest.fixture(scope="session")
def edge_reports(folder, panel):
    """Small, empty and long fits, and one of several classes under another prior."""
    X, y, time = panel[0].to_numpy(), panel[1], panel[2]
    rng = np.random.default_rng(0)
    long_time = np.repeat(np.arange(200), 3)
    noise = rng.normal(size=600)
    classes = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    models = {
        "one-step": DriftRegressor().fit(X[:60, :3], X[:60, 0] + 0.1 * y[:60]),
        "one-feature": DriftRegressor().fit(X[:, :1], y, time=time),
        "none-included": DriftRegressor().fit(X[:, :3], rng.normal(size=y.size), time=time),
        "long": DriftRegressor(tol=0.1).fit(noise[:, None], noise, time=long_time),
        "mode": DriftRegressor(prior="exact").fit(X[:, :5], y, time=time),
        "classes": DriftClassifier(tol=0.1).fit(X[:, :4], classes, time=time),
    }
    return {
        name: write_report(folder / f"{name}.html", model=model) for name, model in models.items()
    }


@pytest.fixture(scope="session")
def large_report(folder):
    """Ten thousand features over ten steps."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(2001, 2011), 4)
    X = rng.normal(size=(40, 10_000))
    model = DriftRegressor(tol=1.0).fit(X, X[:, 0] + 0.1 * rng.normal(size=40), time=time)
    names = [f"feature number {i}" for i in range(10_000)]
    return write_report(folder / "large.html", model=model, feature_names=names)
