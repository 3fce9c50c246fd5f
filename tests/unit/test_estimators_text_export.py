"""What a text model gives to other tools: words, figures, labelled arrays."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftTextModel
from driftglm.exceptions import DataError
from driftglm.simulate import simulate_text

TEXT = simulate_text(n_words=30, n_effects=3, docs_per_step=15, words_per_effect=4, random_state=1)


def fitted(**params):
    return DriftTextModel(**params).fit(TEXT.counts, TEXT.effects, time=TEXT.time)


@pytest.fixture(scope="module")
def model():
    return fitted(vocabulary=[f"word{j}" for j in range(30)])


def test_top_words_and_names():
    frame = pd.DataFrame(TEXT.effects, columns=["east", "west", "north"])
    words = [f"word{j}" for j in range(30)]
    model = DriftTextModel(vocabulary=words).fit(TEXT.counts, frame, time=TEXT.time)
    table = model.top_words("west", k=3)
    assert list(table.columns) == ["word", "coef", "inclusion_probability", "share"]
    assert len(table) == 6
    assert (np.diff(table["coef"][:3]) <= 0).all()
    assert table["coef"].iloc[3] < 0
    then = model.top_words(1, time=2, k=1)
    best = int(np.argmax(model.coef_path_[2, 1]))
    assert then["word"].iloc[0] == words[best]
    assert_allclose(then["coef"].iloc[0], model.coef_path_[2, 1, best])
    with pytest.raises(DataError, match="south"):
        model.top_words("south")
    with pytest.raises(DataError, match="k=0"):
        model.top_words("west", k=0)
    with pytest.raises(DataError, match="name one"):
        model.top_words(["east", "west"])


def test_plot_words(model):
    pytest.importorskip("matplotlib")
    figure = model.plot_words(0)
    assert len(figure.axes[0].lines) == 9  # eight words and the zero line
    two = model.plot_words(0, words=["word3", "word5"])
    assert [line.get_label() for line in two.axes[0].lines[:2]] == ["word3", "word5"]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_text_has_time_effect_and_word():
    text = simulate_text(n_words=12, n_effects=2, random_state=0)
    words = [f"w{j}é" for j in range(12)]
    model = DriftTextModel(vocabulary=words, max_iter=2).fit(
        text.counts, text.effects, time=text.time
    )
    found = model.to_xarray()
    assert found["coef"].dims == ("time", "effect", "word")
    np.testing.assert_array_equal(
        found["coef"].sel(word="w3é", effect="x1"), model.coef_path_[:, 1, 3]
    )
    np.testing.assert_array_equal(found["background"], model.background_)
    assert found["inclusion_probability"].shape == (2, 12)
