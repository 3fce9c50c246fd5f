"""The first picture: predictions of named rows at every step, as the estimator gives them."""

import numpy as np
import pytest

from driftglm import DriftClassifier, DriftRegressor, DriftTextModel
from driftglm.exceptions import DataError
from driftglm.report import Story, write_report
from driftglm.simulate import simulate_panel, simulate_text


def decoded(text, length):
    import base64

    return np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, length)


@pytest.fixture(scope="module")
def votes():
    made = simulate_panel(
        n_timesteps=4, rows_per_step=60, n_features=3, family="binomial", random_state=0
    )
    return made, DriftClassifier().fit(made.X, made.y, time=made.time)


def of(made_of, **changes):
    names = [f"row {i}" for i in range(len(made_of))]
    given = {"title": "t", "caption": "c", "what": "share", "names": names, "rows": made_of}
    return Story(**given | changes)


def test_lines_are_the_probabilities_of_every_step(votes):
    made, model = votes
    rows = made.X[:2]
    content = of(rows, observed=np.full((2, 4), np.nan)).content(model)
    expected = [
        model.predict_proba(row[None].repeat(4, 0), time=model.timesteps_)[:, 1] for row in rows
    ]
    np.testing.assert_allclose(decoded(content["line"], 4), expected, rtol=1e-6)
    lower, upper = (decoded(content[name], 4) for name in ("lower", "upper"))
    band = model.predict_interval(rows[1][None].repeat(4, 0), time=model.timesteps_)
    np.testing.assert_allclose(np.column_stack([lower[1], upper[1]]), band, rtol=1e-6)
    assert content["share"]
    assert np.isnan(decoded(content["observed"], 4)).all()


def test_a_mode_has_no_band_and_a_regressor_shows_means():
    made = simulate_panel(n_timesteps=3, rows_per_step=40, n_features=3, random_state=0)
    model = DriftRegressor(prior="fixed").fit(made.X, made.y, time=made.time)
    content = of(made.X[:1]).content(model)
    assert content["lower"] is content["upper"] is content["observed"] is None
    assert not content["share"]
    expected = model.predict(made.X[:1].repeat(3, 0), time=model.timesteps_)
    np.testing.assert_allclose(decoded(content["line"], 3)[0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": np.ones((2, 2))}, r"shape \(2, 2\); \(2, 3\) is needed"),
        ({"observed": np.ones((2, 3))}, r"\(2, 3\); \(2, 4\) is needed"),
        ({"names": []}, "a story of 0 rows"),
        ({"marks": {99: "war"}}, "marks the step 99, which is none of those trained on"),
    ],
)
def test_what_does_not_fit_is_refused(votes, changes, message):
    made, model = votes
    with pytest.raises(DataError, match=message):
        of(made.X[:2], **changes).content(model)


def test_marks_are_at_their_steps_in_the_order_of_time(votes):
    made, model = votes
    second, last = model.timesteps_[1], model.timesteps_[-1]
    content = of(made.X[:1], marks={last: "peace", second: "war"}).content(model)
    assert content["marks"] == [{"t": 1, "text": "war"}, {"t": 3, "text": "peace"}]
    assert of(made.X[:1]).content(model)["marks"] == []


def test_a_text_model_has_no_story(tmp_path):
    text = simulate_text(n_words=20, n_effects=2, random_state=0)
    model = DriftTextModel().fit(text.counts, text.effects, time=text.time)
    with pytest.raises(DataError, match="not of text"):
        write_report(tmp_path / "r.html", model=model, story=of(np.ones((1, 2))))
